/* Prints an event as a list of its properties, and the events around it as a table with an indented column. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"

static const char *kind_text(const epp_event *event)
{
	static const char *const names[] = {
		[EPP_EVENT_INSTANT] = "instant", [EPP_EVENT_COUNTER] = "counter", [EPP_EVENT_ASYNC] = "async"
	};

	return event->kind < sizeof names / sizeof *names && names[event->kind] ? names[event->kind] : "slice";
}

static bool has_duration(const epp_event *event)
{
	return event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;
}

static void print_text(const char *text)
{
	cli_print_bytes(text, strlen(text));
}

/* ---- the event ---- */

static void print_track(const struct show_tree *tree, const epp_trace_track *track)
{
	const epp_trace_track *thread = track->thread ? track->thread : track;
	epp_trace_source source = { .struct_size = sizeof(source) };

	if (track->kind == EPP_TRACK_DEVICE) {
		cli_print("  stream    ");
		print_text(track->name);
		cli_print(" of ");
		print_text(track->group);
		if (track->device >= 0)
			cli_print(", device %" PRId32, track->device);
		cli_print(", stream %" PRId64 "\n", track->stream);
	} else {
		cli_print("  thread    ");
		print_text(thread->name);
		cli_print(thread->thread_id ? " (%" PRIu32 ")\n" : "\n", thread->thread_id);
	}
	if (epp_trace_source_at(tree->trace, track->source, &source)) {
		cli_print("  process   ");
		print_text(source.program);
		cli_print(" (%" PRIu32 ") on ", source.pid);
		print_text(source.hostname);
		cli_print("\n");
	}
}

static void print_flags(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} notes[] = { { EPP_FLAG_OPEN, "still open when the trace ended" },
		      { EPP_FLAG_UNENDED, "no end was recorded; the duration is a lower bound" },
		      { EPP_FLAG_ARGS_CUT, "some args were cut off" },
		      { EPP_FLAG_ENDED_ON_OTHER_THREAD, "ended on another thread" },
		      { EPP_FLAG_UNCORRELATED, "no host event is known to have caused it" },
		      { EPP_FLAG_OUTSIDE_PARENT, "outside the time range that its cause and its wait allow" } };

	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		if (flags & notes[i].flag)
			cli_print("  note      %s\n", notes[i].text);
}

static void print_launch(const struct show_tree *tree)
{
	const struct show_node *target = tree->target, *parent = target->parent;
	char number[CLI_NUMBER_BYTES];

	if (target->event.track->kind != EPP_TRACK_DEVICE || target->event.launch_ns == INT64_MIN)
		return;
	cli_print("  launched  %.9f s", (double)target->event.launch_ns / 1e9);
	if (parent) {
		cli_print(" by ");
		print_text(parent->event.name);
		cli_print(" (%" PRIu64 ")", parent->event.id);
	}
	cli_print("\n  queued    %s\n", cli_duration((double)(target->event.start_ns - target->event.launch_ns), number));
}

static void print_event(const struct show_tree *tree)
{
	const epp_event *event = &tree->target->event;
	int64_t error_ns = event->start_error_ns > event->end_error_ns ? event->start_error_ns : event->end_error_ns;
	char number[CLI_NUMBER_BYTES];

	cli_print_bytes(event->name, event->name_bytes);
	cli_print("\n\n  id        %" PRIu64 "\n  kind      %s, category %s\n", event->id, kind_text(event),
	          cli_category(event->category));
	print_track(tree, event->track);
	cli_print("  start     %.9f s\n", (double)event->start_ns / 1e9);
	if (has_duration(event))
		cli_print("  duration  %s\n", cli_duration((double)event->duration_ns, number));
	if (has_duration(event) && event->duration_ns >= 1000)
		cli_print("            %" PRId64 " ns\n", event->duration_ns);
	print_launch(tree);
	if (event->placement != EPP_PLACED_MEASURED || error_ns)
		cli_print("  placed    %s, within %s\n", epp_placement_name(event->placement),
		          cli_duration((double)error_ns, number));
	print_flags(event->flags);
	for (size_t i = 0; i < tree->args_count; i += 2) {
		cli_print("%s%s = %s\n", i ? "            " : "  args      ", tree->args[i] ? tree->args[i] : "?",
		          tree->args[i + 1] ? tree->args[i + 1] : "?");
	}
}

/* ---- the tree ---- */

/* Adds the last cell of a row: a text, indented by two spaces for each level.  If `marked` is set, it begins with '>',
 * for the selected event. */
static void tree_cell(struct cli_table *table, unsigned level, bool marked, const char *text, size_t bytes)
{
	char *cell;

	if (asprintf(&cell, "%*s%s%.*s", (int)level * 2, "", marked ? "> " : "  ", (int)bytes, text) < 0) {
		cli_no_memory();
		cell = NULL;
	}
	cli_table_cell(table, cell ? cell : "");
	free(cell);
}

static void add_node(struct cli_table *table, const struct show_tree *tree, const struct show_node *node, unsigned level)
{
	const epp_event *event = &node->event;
	char start[CLI_NUMBER_BYTES], left_out[CLI_COUNTED_BYTES];
	uint64_t kept = 0;

	snprintf(start, sizeof start, "%.9f", (double)event->start_ns / 1e9);
	cli_table_cell(table, start);
	if (has_duration(event))
		cli_table_duration(table, (double)event->duration_ns);
	else
		cli_table_cell(table, kind_text(event));
	if (event->track->kind == EPP_TRACK_DEVICE && event->launch_ns != INT64_MIN)
		cli_table_duration(table, (double)(event->start_ns - event->launch_ns));
	else
		cli_table_cell(table, "");
	cli_table_cell(table, event->track->name);
	tree_cell(table, level, node == tree->target, event->name, event->name_bytes);
	for (const struct show_node *child = node->first; child; child = child->next, kept++)
		add_node(table, tree, child, level + 1);
	if (node->children_count <= kept)
		return;
	for (unsigned column = 0; column < 4; column++)
		cli_table_cell(table, "");
	cli_counted(node->children_count - kept, kept ? "more event" : "event", left_out);
	tree_cell(table, level + 1, false, left_out, strlen(left_out));
}

void show_print(const struct show_tree *tree)
{
	char events[CLI_COUNTED_BYTES], number[CLI_NUMBER_BYTES];

	print_event(tree);
	cli_print("\n");
	struct cli_table *table = cli_table_create("start|duration|?queued|?<on|<event");
	if (table)
		add_node(table, tree, tree->root, 0);
	cli_table_print(table);
	if (tree->device_count)
		cli_print("\n  on devices  %s, %s in all\n", cli_counted(tree->device_count, "event", events),
		          cli_duration((double)tree->device_ns, number));
}
