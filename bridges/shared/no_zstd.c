/* Stubs of zstd for the reader library that is linked into bridges: decompression always fails.
 *
 * Only packed traces (`epprof pack`) have compressed planes, and a bridge reads only the session that it records into,
 * which is never packed.  This keeps libzstd out of a framework's process.  A packed trace would be rejected with an
 * out-of-memory error. */
#include <stddef.h>

struct ZSTD_DCtx_s;
struct ZSTD_DCtx_s *ZSTD_createDCtx(void);
size_t ZSTD_freeDCtx(struct ZSTD_DCtx_s *context);
size_t ZSTD_decompressDCtx(struct ZSTD_DCtx_s *context, void *to, size_t room, const void *bytes, size_t count);

struct ZSTD_DCtx_s *ZSTD_createDCtx(void)
{
	return NULL;
}

size_t ZSTD_freeDCtx(struct ZSTD_DCtx_s *context)
{
	(void)context;
	return 0;
}

size_t ZSTD_decompressDCtx(struct ZSTD_DCtx_s *context, void *to, size_t room, const void *bytes, size_t count)
{
	(void)context, (void)to, (void)room, (void)bytes, (void)count;
	return (size_t)-1;
}
