/* Stubs of yajl for the reader library that is linked into bridges: parsing always fails.
 *
 * This keeps libyajl out of a framework's process.  A bridge only imports ONNX Runtime's profile, whose records can be
 * read without a JSON parser (runtime/import/onnxruntime/repair.c).  Any other JSON would be rejected as invalid. */
#include <stddef.h>
#include <yajl/yajl_parse.h>

yajl_handle yajl_alloc(const yajl_callbacks *callbacks, yajl_alloc_funcs *functions, void *user)
{
	(void)callbacks, (void)functions, (void)user;
	return NULL;
}

int yajl_config(yajl_handle handle, yajl_option option, ...)
{
	(void)handle, (void)option;
	return 1;
}

yajl_status yajl_parse(yajl_handle handle, const unsigned char *text, size_t bytes)
{
	(void)handle, (void)text, (void)bytes;
	return yajl_status_error;
}

yajl_status yajl_complete_parse(yajl_handle handle)
{
	(void)handle;
	return yajl_status_error;
}

unsigned char *yajl_get_error(yajl_handle handle, int verbose, const unsigned char *text, size_t bytes)
{
	(void)handle, (void)verbose, (void)text, (void)bytes;
	static unsigned char message[] = "JSON is not read here";
	return message;
}

size_t yajl_get_bytes_consumed(yajl_handle handle)
{
	(void)handle;
	return 0;
}
