/* The parts of epprof run for Windows: ONNX Runtime's library, the collector, and the folder for profiles. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"
#include "cli/run/run.h"

/* Makes the path of a file in the folder of epprof.exe. Returns false if there is no memory. */
static bool find_beside(const char *name, char **path)
{
	static const char own = 0;
	Dl_info where;

	*path = NULL;
	if (!dladdr(&own, &where))
		return false;
	int folder_bytes = (int)(os_path_name(where.dli_fname) - where.dli_fname);
	return asprintf(path, "%.*s%s", folder_bytes, where.dli_fname, name) >= 0;
}

/* Does not search the folders of Windows, because these may have an older version, which is a part of Windows. */
bool ort_search(struct ort *ort, char reasons[ORT_REASONS_BYTES])
{
	char *path;
	bool is_open = find_beside("onnxruntime.dll", &path) && ort_try_library(ort, path, reasons);

	free(path);
	return is_open;
}

/* ONNX Runtime passes the path of a library to LoadLibraryExW, which needs backslashes. */
void *ort_path(const char *path)
{
	wchar_t *wide = windows_wide(path);

	for (wchar_t *at = wide; at && *at; at++)
		*at = *at == L'/' ? L'\\' : *at;
	return wide;
}

/* ---- the collector ---- */

epp_status *cli_bridge_find(const char *name, char **path)
{
	char *beside;

	*path = NULL;
	if (strcmp(name, "ort") != 0)
		return epp_status_create(EPP_INVALID_ARGUMENT, "bridge '%s': not available on Windows", name);
	if (!find_beside("libepprof_ort.dll", &beside))
		return epp_status_no_memory();
	*path = realpath(beside, NULL);
	epp_status *status = *path ? NULL : epp_status_errno(errno, "%s", beside);
	free(beside);
	return status;
}

int cli_bridge(const char *name)
{
	char *path;

	if (!name || strcmp(name, "ort") != 0)
		return cli_misuse(NULL, "--bridge: only 'ort' is available on Windows");
	epp_status *status = cli_bridge_find(name, &path);
	if (status)
		return cli_failure(status);
	puts(path);
	free(path);
	return CLI_OK;
}

/* ---- the folder ---- */

/* Folders that killed runs have left stay. */
epp_status *run_folder_make(struct run_folder *folder)
{
	snprintf(folder->path, sizeof(folder->path), "%s/epprof-run-XXXXXX", secure_getenv("TMPDIR"));
	if (mkdtemp(folder->path))
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", folder->path);
	folder->path[0] = '\0';
	return status;
}

void run_folder_remove(struct run_folder *folder)
{
	if (folder->path[0])
		os_file_remove_all(folder->path);
}
