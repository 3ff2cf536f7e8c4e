/* Reads waivers, and the results of an earlier run.  A conform.json must have one result a line, as conform_output.c
 * prints it; JSON in another layout is not understood. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "conform.h"

static bool names_add(struct conform_names *names, const char *name, const char *text)
{
	struct conform_name *at = reallocarray(names->at, names->count + 1, sizeof(*at));

	if (!at)
		return false;
	names->at = at;
	at += names->count;
	*at = (struct conform_name){ strdup(name), text ? strdup(text) : NULL };
	names->count++;
	return at->name && (!text || at->text);
}

/* Calls `take` for each line of a file, without its newline, until `take` returns false, which means that there is no
 * memory.  Returns false after an error was reported. */
static bool read_lines(const char *path, bool (*take)(char *line, struct conform_names *names), struct conform_names *names)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	bool is_taken = true;

	if (!file) {
		cli_failure(epp_status_errno(errno, "%s", path));
		return false;
	}
	while (is_taken && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		is_taken = take(line, names);
	}
	if (!is_taken)
		cli_failure(epp_status_no_memory());
	else if (!feof(file)) /* also if there was no memory for a line */
		cli_failure(epp_status_errno(errno, "%s", path));
	is_taken = is_taken && feof(file);
	free(line);
	fclose(file);
	return is_taken;
}

static bool take_waiver(char *line, struct conform_names *waivers)
{
	char *rest = line + strspn(line, " \t"), *name = strsep(&rest, " \t");

	if (!*name || *name == '#')
		return true;
	if (rest)
		rest += strspn(rest, " \t");
	return names_add(waivers, name, rest && *rest ? rest : "no reason is given");
}

bool conform_waivers_read(const char *path, struct conform_names *waivers)
{
	if (!read_lines(path, take_waiver, waivers))
		return false;
	for (size_t i = 0; i < waivers->count; i++) {
		size_t at = 0;
		while (at < conform_cases_count && strcmp(conform_cases[at].name, waivers->at[i].name) != 0)
			at++;
		if (at < conform_cases_count)
			continue;
		cli_failure(epp_status_create(EPP_NOT_FOUND, "%s: no case is called '%s'", path, waivers->at[i].name));
		return false;
	}
	return true;
}

static bool take_failed(char *line, struct conform_names *failed)
{
	static const char before[] = "{\"case\": \"", after[] = "\", \"verdict\": \"";
	char *name = strstr(line, before), *end = name ? strstr(name, after) : NULL;

	if (!end)
		return true;
	*end = '\0';
	const char *verdict = end + strlen(after);
	bool is_pass = strncmp(verdict, "pass\"", 5) == 0 || strncmp(verdict, "skip\"", 5) == 0;
	return is_pass || names_add(failed, name + strlen(before), NULL);
}

bool conform_failed_read(const char *path, struct conform_names *failed)
{
	return read_lines(path, take_failed, failed);
}

const struct conform_name *conform_names_find(const struct conform_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strcmp(names->at[i].name, name) == 0)
			return &names->at[i];
	}
	return NULL;
}

void conform_names_free(struct conform_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->at[i].name);
		free(names->at[i].text);
	}
	free(names->at);
	*names = (struct conform_names){ 0 };
}
