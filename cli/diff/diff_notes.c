/* Notes about differences that make traces hard to compare: the same trace twice, other devices, other machines,
 * coarser clocks. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

struct trace_facts {
	const char *path;
	unsigned set;
	char file_id[33];
	char *host;
	char *devices;         /* names of the devices in the trace, as one text in alphabetical order */
	int64_t resolution_ns; /* resolution of the coarsest clock in the trace */
};

struct diff_facts {
	size_t count;
	struct trace_facts traces[];
};

struct diff_facts *diff_facts_create(size_t count)
{
	return calloc(1, sizeof(struct diff_facts) + count * sizeof(struct trace_facts));
}

void diff_facts_destroy(struct diff_facts *facts)
{
	for (size_t i = 0; facts && i < facts->count; i++) {
		free(facts->traces[i].host);
		free(facts->traces[i].devices);
	}
	free(facts);
}

/* ---- one trace ---- */

static int alphabetical(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a text with all names, each once.  The names are sorted.  NULL: no memory. */
static char *join_names(const char *const *names, size_t count)
{
	char *list = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&list, &bytes);

	if (!file)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!i || strcmp(names[i - 1], names[i]) != 0)
			fprintf(file, "%s%s", i ? ", " : "", names[i]);
	if (fclose(file) == 0)
		return list;
	free(list);
	return NULL;
}

/* Returns a text with the names of the trace's devices.  NULL: no memory. */
static char *devices_of(const epp_trace *trace, size_t tracks_count)
{
	const char **names = calloc(tracks_count + 1, sizeof *names);
	const epp_trace_track *track;
	size_t count = 0;

	if (!names)
		return NULL;
	for (size_t i = 0; i < tracks_count && (track = epp_trace_track_at(trace, i)); i++)
		if (track->kind == EPP_TRACK_DEVICE)
			names[count++] = track->group;
	if (count)
		qsort(names, count, sizeof *names, alphabetical);
	char *list = join_names(names, count);
	free(names);
	return list;
}

static int64_t resolution_of(const epp_trace *trace)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	uint64_t slowest = info->ticks_per_second;
	const epp_trace_track *track;

	for (size_t i = 0; (track = epp_trace_track_at(trace, i)); i++)
		if (track->kind == EPP_TRACK_DEVICE && track->ticks_per_second && track->ticks_per_second < slowest)
			slowest = track->ticks_per_second;
	return slowest ? 1000000000 / (int64_t)slowest : 0;
}

void diff_facts_take(struct diff_facts *facts, const char *path, unsigned set, const epp_trace *trace)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	struct trace_facts *taken = &facts->traces[facts->count++];

	*taken = (struct trace_facts){ .path = path,
		                       .set = set,
		                       .host = strdup(info->hostname ? info->hostname : ""),
		                       .devices = devices_of(trace, info->tracks_count),
		                       .resolution_ns = resolution_of(trace) };
	memcpy(taken->file_id, info->file_id, sizeof taken->file_id);
	if (!taken->host || !taken->devices)
		cli_no_memory();
}

/* ---- notes ---- */

static void add_note(struct diff_notes *notes, const char *format, ...) EPP_FORMAT(2, 3);
static void add_note(struct diff_notes *notes, const char *format, ...)
{
	char **grown = realloc(notes->texts, (notes->count + 1) * sizeof *grown), *text;
	va_list args;

	if (grown)
		notes->texts = grown;
	va_start(args, format);
	int bytes = grown ? vasprintf(&text, format, args) : -1;
	va_end(args);
	if (bytes < 0) {
		cli_no_memory();
		return;
	}
	cli_message(text, "");
	notes->texts[notes->count++] = text;
}

static bool is_same_trace(const struct trace_facts *a, const struct trace_facts *b)
{
	return memcmp(a->file_id, b->file_id, sizeof a->file_id) == 0 || cli_is_same_file(a->path, b->path);
}

static void note_duplicates(const struct diff_facts *facts, struct diff_notes *notes)
{
	for (size_t i = 1; i < facts->count; i++) {
		for (size_t earlier = 0; earlier < i; earlier++) {
			const struct trace_facts *a = &facts->traces[earlier], *b = &facts->traces[i];
			if (!is_same_trace(a, b))
				continue;
			add_note(notes, "%s is the same trace as %s%s: the noise between runs is underestimated",
			         b->path, a->path, a->set != b->set ? ", which is in the other set" : "");
			break;
		}
	}
}

void diff_facts_note(const struct diff_facts *facts, struct diff_notes *notes)
{
	const struct trace_facts *first = &facts->traces[0], *coarsest = first, *finest = first;
	const struct trace_facts *other_device = NULL, *other_host = NULL;

	note_duplicates(facts, notes);
	for (size_t i = 1; i < facts->count; i++) {
		const struct trace_facts *trace = &facts->traces[i];
		if (!other_device && first->devices && trace->devices && strcmp(first->devices, trace->devices) != 0)
			other_device = trace;
		if (!other_host && first->host && trace->host && strcmp(first->host, trace->host) != 0)
			other_host = trace;
		coarsest = trace->resolution_ns > coarsest->resolution_ns ? trace : coarsest;
		finest = trace->resolution_ns < finest->resolution_ns ? trace : finest;
	}
	if (other_device)
		add_note(notes, "the traces have different devices: %s: %s; %s: %s", first->path,
		         *first->devices ? first->devices : "none", other_device->path,
		         *other_device->devices ? other_device->devices : "none");
	if (other_host)
		add_note(notes, "the traces are from different machines: %s: %s; %s: %s", first->path, first->host,
		         other_host->path, other_host->host);
	if (coarsest->resolution_ns >= 10 * (finest->resolution_ns + 1))
		add_note(notes,
		         "the clocks have different resolutions: %s: %" PRId64 " ns; %s: %" PRId64
		         " ns; changes of short events may come from that",
		         coarsest->path, coarsest->resolution_ns, finest->path, finest->resolution_ns);
}
