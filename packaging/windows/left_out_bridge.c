/* Parts of the bridge into ONNX Runtime that libepprof_ort.dll leaves out: hosted plugins, and the search for ONNX Runtime's
 * profile among the open files of the process. Without the profile, events of providers that do not push them are counted as
 * lost. */
#include <stdint.h>
#include <string.h>

#include "bridges/onnxruntime/ort_hosted.h"
#include "bridges/onnxruntime/ort_profile.h"
#include "bridges/shared/ort_slots.h"

/* ---- hosted plugins: there are none ---- */

OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries)
{
	(void)host, (void)logger;
	*libraries = NULL;
	return NULL;
}

OrtStatus *ort_libraries_set_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices, size_t count)
{
	(void)libraries, (void)devices, (void)count;
	return NULL;
}

void ort_libraries_unload(struct ort_libraries *libraries)
{
	(void)libraries;
}

OrtStatus *ort_eps_create(struct ort_libraries *libraries, const OrtSessionOptions *options, const OrtLogger *logger,
                          struct ort_eps **eps)
{
	(void)libraries, (void)options, (void)logger;
	*eps = NULL;
	return NULL;
}

void ort_eps_release(struct ort_eps *eps)
{
	(void)eps;
}

void ort_eps_report_hung(const struct ort_eps *eps, epp_session *session)
{
	(void)eps, (void)session;
}

size_t ort_eps_count(const struct ort_eps *eps)
{
	(void)eps;
	return 0;
}

const char *ort_eps_note(const struct ort_eps *eps)
{
	(void)eps;
	return "";
}

const struct ort_host *ort_eps_host(const struct ort_eps *eps)
{
	(void)eps;
	return NULL;
}

const OrtLogger *ort_eps_logger(const struct ort_eps *eps)
{
	(void)eps;
	return NULL;
}

OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made)
{
	(void)eps, (void)index;
	*made = (struct ort_eps_profiler){ 0 };
	return NULL;
}

uint64_t ort_eps_take_budget(struct ort_eps *eps)
{
	(void)eps;
	return 0;
}

void ort_slots_copy(epp_ort_slot *copy, const void *table, size_t count)
{
	memcpy(copy, table, count * sizeof(*copy));
}

/* ---- ONNX Runtime's profile: it is not found ---- */

void ort_profile_init(struct ort_profile *profile)
{
	*profile = (struct ort_profile){ 0 };
}

void ort_profile_take(struct ort_profile *profile, int64_t start_us, int64_t duration_us, int64_t unix_us)
{
	(void)profile, (void)start_us, (void)duration_us, (void)unix_us;
}

void ort_profile_open(struct ort_profile *profile)
{
	(void)profile;
}

bool ort_profile_find(const struct ort_profile *profile, char path[ORT_PROFILE_PATH_BYTES], bool *is_whole)
{
	(void)profile, (void)path, (void)is_whole;
	return false;
}

void ort_profile_settle(struct ort_profile *profile)
{
	(void)profile;
}

bool ort_profile_has_kernels(const char *path)
{
	(void)path;
	return false;
}

void ort_profile_close(struct ort_profile *profile)
{
	(void)profile;
}
