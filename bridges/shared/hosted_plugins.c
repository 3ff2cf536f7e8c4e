/* Loads the plugins that a bridge hosts. */
#include "hosted_plugins.h"

#include <stdio.h>
#include <string.h>

#include "epprof/profiler.h"

#define HUNG_MAX 32u /* maximum number of profilers in a session's ledger */

const char epprof_bridge_variables[] = "EPPROF_PROFILERS:KINETO_PLUGIN_PATH";

/* The libraries whose load has not returned: their file names and notes for the ledger.  Never freed, like the
 * plugins. */
static struct {
	size_t count;
	struct {
		char label[64], note[80];
	} all[HUNG_MAX];
} hung;

struct loading {
	epp_plugin_found_fn found;
	void *user;
};

static void remember_hung(const char *path, const char *note)
{
	const char *slash = strrchr(path, '/');
	if (hung.count == HUNG_MAX)
		return;
	/* snprintf and not strlcpy, because users of a wheel compile this file without libbsd. */
	snprintf(hung.all[hung.count].label, sizeof(hung.all[0].label), "%s", slash ? slash + 1 : path);
	snprintf(hung.all[hung.count++].note, sizeof(hung.all[0].note), "%s", note);
}

static epp_status *load(const char *path, epp_plugin **plugin)
{
	epp_status *status = epp_plugin_load(path, plugin);
	if (epp_status_code(status) == EPP_TIMEOUT)
		remember_hung(path, epp_status_message(status));
	if (status || !epp_plugin_symbol(*plugin, BRIDGE_SYMBOL))
		return status;
	epp_status_destroy(epp_plugin_unload(*plugin));
	*plugin = NULL;
	return epp_status_create(EPP_INVALID_ARGUMENT, "%s: is a bridge itself", path);
}

static void load_named(void *user, const char *place, const char *path)
{
	const struct loading *loading = user;
	epp_plugin *plugin;
	epp_status *status = epp_status_prefix(load(path, &plugin), "%s", place);
	loading->found(loading->user, path, plugin, status);
	epp_status_destroy(status);
}

void hosted_plugin_begin_trial(void *user, const char *place, const char *path)
{
	(void)user, (void)place;
	epp_plugin_trial_begin(path);
}

void hosted_plugins_load(epp_plugin_found_fn found, void *user)
{
	struct loading loading = { found, user };
	epp_plugin_find_hosted(hosted_plugin_begin_trial, NULL);
	epp_plugin_find_hosted(load_named, &loading);
}

void hosted_plugins_report_hung(epp_session *session)
{
	for (size_t i = 0; i < hung.count; i++)
		epp_session_report_hang(session, hung.all[i].label, hung.all[i].note);
}
