/* Prints the results of a run: latencies, the assignment of nodes to providers, and the summary of the trace. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/summary/summary.h"
#include "run.h"

#define LINES_MAX 20

/* Returns the quantile `part` (0 to 1) of the latencies. */
static double quantile(const struct run_latencies *latencies, double part)
{
	size_t rank = (size_t)ceil(part * (double)latencies->count);

	return (double)latencies->ns[rank ? rank - 1 : 0];
}

static void add_latencies(struct cli_table *table, const char *what, const struct run_latencies *latencies)
{
	static const double parts[] = { 0.5, 0.9, 0.99, 1 };
	double total = 0;

	if (!latencies->count)
		return;
	for (size_t i = 0; i < latencies->count; i++)
		total += (double)latencies->ns[i];
	cli_table_count(table, latencies->count);
	cli_table_duration(table, total);
	cli_table_duration(table, total / (double)latencies->count);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		cli_table_duration(table, quantile(latencies, parts[i]));
	cli_table_cell(table, what);
}

static void print_head(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
                       const struct run_results *results, unsigned kernels)
{
	static const char *const sources[] = {
		[RUN_KERNELS_NONE] = "none; no provider gave events",
		[RUN_KERNELS_PUSHED] = "from the providers",
		[RUN_KERNELS_IMPORTED] = "from ONNX Runtime's own profile, in its microseconds",
		[RUN_KERNELS_PUSHED |
		    RUN_KERNELS_IMPORTED] = "from the providers, and others' from ONNX Runtime's own profile, in its microseconds",
	};
	char number[CLI_NUMBER_BYTES], wanted[CLI_NUMBER_BYTES];

	printf("%s on ONNX Runtime %s (%s)\n\n", options->model, ort->version, ort->path);
	printf("  runs    %s of %s", cli_count(results->runs.count, number), cli_count(options->runs_count, wanted));
	printf(" on %zu thread%s", options->threads_count, options->threads_count == 1 ? "" : "s");
	if (results->runs.count && results->wall_ns > 0) {
		double per_second = (double)results->runs.count / ((double)results->wall_ns / 1e9);
		if (per_second < 100)
			printf(", %.3g a second", per_second);
		else
			printf(", %s a second", cli_count((uint64_t)per_second, number));
	}
	if (cli_signal)
		printf("; ended by %s", strsignal(cli_signal));
	printf("\n");
	if (!eps->nodes_known)
		return;
	printf("  nodes   ");
	for (size_t i = 1; i < eps->count; i++)
		printf("%zu on %s, ", eps->eps[i].nodes_count, eps->eps[i].name);
	printf("%zu on ONNX Runtime's own\n  kernels %s\n", eps->other_nodes_count,
	       kernels == RUN_KERNELS_TOO_OLD ? "none of the runs that --max-bytes keeps"
	                                      : sources[kernels & (RUN_KERNELS_PUSHED | RUN_KERNELS_IMPORTED)]);
}

/* Prints the few operator types, at most 8, that together take 80 % of the nodes' time.  If the trace has no operator
 * types, prints nodes instead. */
static void print_most(const struct summary *summary)
{
	enum { NAMES_MAX = 8 };
	unsigned kind = summary->tables[EPP_BY_OP_TYPE].count ? EPP_BY_OP_TYPE : EPP_BY_OP;
	const epp_summary_line *nodes[NAMES_MAX], **lines = summary->tables[kind].lines;
	size_t count = 0, taken = 0;
	int64_t all_ns = 0, taken_ns = 0;

	for (size_t i = 0; i < summary->tables[kind].count; i++) {
		if (kind == EPP_BY_OP && lines[i]->category != EPP_NODE)
			continue;
		all_ns += lines[i]->self_ns;
		count++;
	}
	if (all_ns <= 0)
		return;
	/* Each step takes the line with the largest own time (self_ns) that is left.  Lines are sorted by total time,
	 * which may be another order. */
	while (taken < NAMES_MAX && taken_ns * 5 < all_ns * 4) {
		const epp_summary_line *next = NULL;
		for (size_t i = 0; i < summary->tables[kind].count; i++) {
			bool is_taken = kind == EPP_BY_OP && lines[i]->category != EPP_NODE;
			for (size_t j = 0; j < taken; j++)
				is_taken |= nodes[j] == lines[i];
			if (!is_taken && (!next || lines[i]->self_ns > next->self_ns))
				next = lines[i];
		}
		if (!next)
			break;
		nodes[taken++] = next;
		taken_ns += next->self_ns;
	}
	printf("\n%.0f %% of the nodes' time: ", 100 * (double)taken_ns / (double)all_ns);
	for (size_t i = 0; i < taken; i++) {
		fputs(i ? ", " : "", stdout);
		cli_print_clean(stdout, nodes[i]->name, nodes[i]->name_bytes);
		if (taken > 1)
			printf(" %.0f %%", 100 * (double)nodes[i]->self_ns / (double)all_ns);
	}
	printf(" (%zu of %zu %s%s)\n", taken, count, kind == EPP_BY_OP ? "node" : "operator type", count == 1 ? "" : "s");
}

int run_report(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
               const struct run_results *results, unsigned kernels)
{
	struct summary summary;

	print_head(options, ort, eps, results, kernels);
	cli_print_heading("Latency");
	struct cli_table *table = cli_table_create("count|total|mean|p50|p90|p99|max|<");
	add_latencies(table, "warm-up", &results->warmup);
	add_latencies(table, "runs", &results->runs);
	cli_table_print(table);
	printf("\n");
	int code = summary_open(&summary, options->output, 0, 0, NULL, NULL);
	if (code != CLI_OK)
		return code;
	summary.top = LINES_MAX;
	summary.shown[EPP_BY_OP_TYPE] = summary.shown[EPP_BY_OP] = summary.shown[EPP_BY_KERNEL] = true;
	summary_print_text(&summary);
	print_most(&summary);
	summary_close(&summary);
	return CLI_OK;
}
