/* zstd for the reading half that is linked into bridges: there is none.
 *
 * Only packed traces have compressed planes (`epprof pack`), and a bridge reads nothing but the session that it records into,
 * which is never packed.  So a framework's process does not get libzstd for it.  A packed trace would be refused, as
 * without memory.
 */
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
