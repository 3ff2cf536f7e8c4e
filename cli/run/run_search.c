/* Searches ONNX Runtime's library on this machine, and has what ONNX Runtime's functions need of the system. */
#include <bsd/string.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* Runs Python to find its package onnxruntime, and tries the library in it.  The Python of VIRTUAL_ENV, which need not
 * be in PATH, is tried first.  Python also searches its working directory, so this is set to /: a package that happens
 * to be in the user's working directory must not be loaded. */
static bool try_python(struct ort *ort, char reasons[ORT_REASONS_BYTES])
{
	static const char command[] = "cd / && for python in \"${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/}python3\" python3; do"
				      " \"$python\" -c '\n"
				      "import glob, importlib.util, os\n"
				      "package = importlib.util.find_spec(\"onnxruntime\")\n"
				      "for where in package.submodule_search_locations:\n"
				      "    for path in sorted(glob.glob(os.path.join(glob.escape(where), \"capi\", \"libonnxruntime.so*\")))[:1]:\n"
				      "        print(path)' 2>/dev/null; done";
	FILE *output = popen(command, "re");
	bool opened = false, any = false;
	char *line = NULL;
	size_t room = 0;

	while (output && !opened && getline(&line, &room, output) > 0) {
		line[strcspn(line, "\n")] = '\0';
		any = true;
		opened = ort_try_library(ort, line, reasons);
	}
	free(line);
	if (output)
		pclose(output);
	if (!opened && !any)
		strlcat(reasons, "\n  python3: no package 'onnxruntime'", ORT_REASONS_BYTES);
	return opened;
}

/* Tries the library that `make run HOST=onnxruntime` has downloaded, if the command runs from its build folder. */
static bool try_deps(struct ort *ort, char reasons[ORT_REASONS_BYTES])
{
	static const char *const places[] = { "deps", "../build/deps" };
	char *program = realpath("/proc/self/exe", NULL), *slash = program ? strrchr(program, '/') : NULL;
	bool opened = false;

	for (size_t i = 0; slash && !opened && i < sizeof places / sizeof *places; i++) {
		char pattern[4096];
		glob_t found;
		snprintf(pattern, sizeof pattern,
		         "%.*s/%s/*/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*",
		         (int)(slash - program), program, places[i]);
		if (glob(pattern, 0, NULL, &found) == 0) {
			/* Paths are sorted, so the newest version is last. */
			for (size_t j = found.gl_pathc; j-- > 0 && !opened;)
				opened = ort_try_library(ort, found.gl_pathv[j], reasons);
			globfree(&found);
		}
	}
	free(program);
	return opened;
}

bool ort_search(struct ort *ort, char reasons[ORT_REASONS_BYTES])
{
	static const char *const names[] = { "libonnxruntime.so.1", "libonnxruntime.so" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (ort_try_library(ort, names[i], reasons))
			return true;
	}
	return try_python(ort, reasons) || try_deps(ort, reasons);
}

void *ort_path(const char *path)
{
	return strdup(path);
}
