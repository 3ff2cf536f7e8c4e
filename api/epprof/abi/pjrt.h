/* epprof: the profiler extension of PJRT, which is JAX's plugin ABI.  This header declares the first members of
 * PJRT_Api, through which a host finds the extension, and the extension's function table.
 *
 * A plugin exports GetPjrtApi.  The extension chain of the returned PJRT_Api has an extension of type
 * PJRT_Extension_Type_Profiler, with a table of functions.  Each function takes one struct of arguments.  It returns
 * NULL, or an error; the plugin has functions that describe and destroy the error.  Argument structs begin with their
 * size; hosts built before July 2026 do not set it.
 *
 * Layouts, sizes and names are those of the official headers (xla/pjrt/c, xla/backends/profiler/plugin); if one of them
 * was included first, this header does not declare its names again. */
#ifndef EPPROF_ABI_PJRT_H
#define EPPROF_ABI_PJRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef XLA_BACKENDS_PROFILER_PLUGIN_PROFILER_C_API_H_

typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error; /* NULL is success */
typedef struct PLUGIN_Profiler_ConsumeResult PLUGIN_Profiler_ConsumeResult;

typedef struct PLUGIN_Profiler_Error_Destroy_Args {
	size_t struct_size;
	void *priv;
	PLUGIN_Profiler_Error *error; /* NULL does nothing */
} PLUGIN_Profiler_Error_Destroy_Args;
typedef void PLUGIN_Profiler_Error_Destroy(PLUGIN_Profiler_Error_Destroy_Args *args);

typedef struct PLUGIN_Profiler_Error_Message_Args {
	size_t struct_size;
	void *priv;
	const PLUGIN_Profiler_Error *error;
	const char *message; /* out; valid as long as the error; has no NUL at its end */
	size_t message_size; /* out */
} PLUGIN_Profiler_Error_Message_Args;
typedef void PLUGIN_Profiler_Error_Message(PLUGIN_Profiler_Error_Message_Args *args);

typedef struct PLUGIN_Profiler_Error_GetCode_Args {
	size_t struct_size;
	void *priv;
	const PLUGIN_Profiler_Error *error;
	int code; /* out: a value of TF_Code */
} PLUGIN_Profiler_Error_GetCode_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Error_GetCode(PLUGIN_Profiler_Error_GetCode_Args *args);

typedef struct PLUGIN_Profiler_Create_Args {
	size_t struct_size;
	const char *options; /* a serialised ProfileOptions, borrowed for the call */
	size_t options_size;
	PLUGIN_Profiler *profiler; /* out */
} PLUGIN_Profiler_Create_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Create(PLUGIN_Profiler_Create_Args *args);

typedef struct PLUGIN_Profiler_Destroy_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Destroy_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Destroy(PLUGIN_Profiler_Destroy_Args *args);

typedef struct PLUGIN_Profiler_Start_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Start_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Start(PLUGIN_Profiler_Start_Args *args);

typedef struct PLUGIN_Profiler_Stop_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Stop_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Stop(PLUGIN_Profiler_Stop_Args *args);

/* Returns a serialised XSpace.  If `buffer` is NULL on entry, a plugin may do one of two things.  It may return the
 * size only; the host then calls again with a buffer of that size.  Or it sets `buffer` to memory of its own, as XLA's
 * own plugins do; this memory is valid until the profiler is destroyed or collect_data is called again.  JAX supports
 * only the second way. */
typedef struct PLUGIN_Profiler_CollectData_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
	uint8_t *buffer;             /* in: NULL or the host's buffer; out: the plugin's buffer */
	size_t buffer_size_in_bytes; /* out */
} PLUGIN_Profiler_CollectData_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_CollectData(PLUGIN_Profiler_CollectData_Args *args);

typedef struct PLUGIN_Profiler_Consume_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
	PLUGIN_Profiler_ConsumeResult *result; /* out */
} PLUGIN_Profiler_Consume_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Consume(PLUGIN_Profiler_Consume_Args *args);

typedef struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
	size_t struct_size;
	PLUGIN_Profiler_ConsumeResult *consume_result;
} PLUGIN_Profiler_ConsumeResult_Destroy_Args;
typedef void PLUGIN_Profiler_ConsumeResult_Destroy(PLUGIN_Profiler_ConsumeResult_Destroy_Args *args);

typedef struct PLUGIN_Profiler_Serialize_Args {
	size_t struct_size;
	PLUGIN_Profiler *profiler;
	PLUGIN_Profiler_ConsumeResult *consume_result;
	const uint8_t *serialized_bytes; /* out; valid as long as the result */
	size_t serialized_size;          /* out */
} PLUGIN_Profiler_Serialize_Args;
typedef PLUGIN_Profiler_Error *PLUGIN_Profiler_Serialize(PLUGIN_Profiler_Serialize_Args *args);

typedef struct PLUGIN_Profiler_Api {
	size_t struct_size;
	void *priv;
	PLUGIN_Profiler_Error_Destroy *error_destroy;
	PLUGIN_Profiler_Error_Message *error_message;
	PLUGIN_Profiler_Error_GetCode *error_get_code;
	PLUGIN_Profiler_Create *create;
	PLUGIN_Profiler_Destroy *destroy;
	PLUGIN_Profiler_Start *start;
	PLUGIN_Profiler_Stop *stop;
	PLUGIN_Profiler_CollectData *collect_data;
	/* Since July 2026.  A plugin that does not have these entries sets struct_size to 80, because earlier hosts
	 * accept no other size. */
	PLUGIN_Profiler_Consume *consume;
	PLUGIN_Profiler_ConsumeResult_Destroy *consume_result_destroy;
	PLUGIN_Profiler_Serialize *serialize;
} PLUGIN_Profiler_Api;

#endif

#ifndef XLA_PJRT_C_PJRT_C_API_H_

typedef enum { PJRT_Extension_Type_Profiler = 1 } PJRT_Extension_Type;

typedef struct PJRT_Extension_Base {
	size_t struct_size;
	PJRT_Extension_Type type;
	struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;

/* The first members of PJRT_Api, the same in all versions.  epprof does not use the other members. */
typedef struct PJRT_Api {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
} PJRT_Api;

/* The plugin's entry point.  Ownership: the returned table is static. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const PJRT_Api *
GetPjrtApi(void);

#endif

#ifndef XLA_PJRT_C_PJRT_C_API_PROFILER_EXTENSION_H_

typedef struct PJRT_Profiler_Extension {
	PJRT_Extension_Base base;
	PLUGIN_Profiler_Api *profiler_api;
	int64_t traceme_context_id; /* epprof only copies it into the arguments of calls */
} PJRT_Profiler_Extension;

#endif

/* The PJRT_Api of a plugin that has only a profiler and is no PJRT device.  Hosts read entries far beyond the first two
 * members; `entries` makes them NULL. */
typedef struct EpprofPjrtApi {
	PJRT_Api api; /* struct_size: the size of this whole struct */
	void *entries[254];
} EpprofPjrtApi;

/* The sizes of a function table that ends with collect_data, and of one that ends with serialize. */
#define EPPROF_PJRT_TABLE_BYTES (offsetof(PLUGIN_Profiler_Api, collect_data) + sizeof(void *))
#define EPPROF_PJRT_CONSUME_TABLE_BYTES (offsetof(PLUGIN_Profiler_Api, serialize) + sizeof(void *))

#ifdef __cplusplus
}
#define EPP_PJRT_ASSERT(condition, text) static_assert(condition, text)
#else
#define EPP_PJRT_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#if UINTPTR_MAX == UINT64_MAX
EPP_PJRT_ASSERT(EPPROF_PJRT_TABLE_BYTES == 80, "PLUGIN_Profiler_Api up to collect_data");
EPP_PJRT_ASSERT(EPPROF_PJRT_CONSUME_TABLE_BYTES == 104, "PLUGIN_Profiler_Api");
EPP_PJRT_ASSERT(offsetof(PLUGIN_Profiler_Api, create) == 40, "PLUGIN_Profiler_Api");
EPP_PJRT_ASSERT(sizeof(PLUGIN_Profiler_Error_Message_Args) == 40, "PLUGIN_Profiler_Error_Message_Args");
EPP_PJRT_ASSERT(sizeof(PLUGIN_Profiler_Create_Args) == 32, "PLUGIN_Profiler_Create_Args");
EPP_PJRT_ASSERT(sizeof(PLUGIN_Profiler_CollectData_Args) == 32, "PLUGIN_Profiler_CollectData_Args");
EPP_PJRT_ASSERT(sizeof(PLUGIN_Profiler_Consume_Args) == 24, "PLUGIN_Profiler_Consume_Args");
EPP_PJRT_ASSERT(sizeof(PLUGIN_Profiler_Serialize_Args) == 40, "PLUGIN_Profiler_Serialize_Args");
EPP_PJRT_ASSERT(offsetof(PJRT_Api, extension_start) == 8, "PJRT_Api");
EPP_PJRT_ASSERT(sizeof(PJRT_Extension_Base) == 24, "PJRT_Extension_Base");
EPP_PJRT_ASSERT(offsetof(PJRT_Profiler_Extension, profiler_api) == 24, "PJRT_Profiler_Extension");
EPP_PJRT_ASSERT(sizeof(PJRT_Profiler_Extension) == 40, "PJRT_Profiler_Extension");
#endif
#undef EPP_PJRT_ASSERT

#endif
