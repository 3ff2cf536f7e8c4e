/* Functions of parts that the library for Windows leaves out: they do nothing. */
#include "control/server.h"
#include "epprof/plugin.h"
#include "plugins/elf.h"
#include "storage/window/window.h"

void control_start(void)
{
}

void control_end(void)
{
}

void control_fork_child(void)
{
}

void window_shrink(struct window *window, bool durable)
{
	(void)window, (void)durable;
}

/* Windows checks a DLL itself when it loads it. */
epp_status *elf_check(int fd, uint64_t bytes)
{
	(void)fd, (void)bytes;
	return NULL;
}

/* The rights of files are not read. */
epp_status *epp_path_check(const char *path)
{
	if (!path || !*path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_path_check: path is NULL or empty");
	return NULL;
}

/* There are no trials: a library whose DllMain does not return ends the command. */
void epp_plugin_trial_begin(const char *path)
{
	(void)path;
}

epp_status *epp_plugin_trial_await(const char *path)
{
	(void)path;
	return NULL;
}

epp_status *epp_tf_shim_load(const char *path)
{
	(void)path;
	return epp_status_create(EPP_UNAVAILABLE, "the shim for TensorFlow: not available on Windows");
}
