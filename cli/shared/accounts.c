/* Adds up the losses in a trace's ledger, and prints them. */
#include "accounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace)
{
	const epp_trace_info *info = epp_trace_get_info(trace);
	size_t count = epp_trace_ledger_count(trace);
	/* number of emitted events that are neither written, lost nor open: [0]: in the entries of threads, [1]: in
	 * those of plugins; an event may be counted in both */
	uint64_t missing[2] = { 0 };

	memset(accounts, 0, sizeof *accounts);
	accounts->balanced = true;
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(trace, i, &account);
		if (status)
			return status;
		accounts->balanced = accounts->balanced && account.balanced;
		uint64_t known = account.written + account.lost_total + account.open;
		missing[account.is_plugin != 0] += account.emitted > known ? account.emitted - known : 0;
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++) {
			if (account.is_plugin && (reason == EPP_LOSS_DISK || reason == EPP_LOSS_POLICY))
				continue;
			accounts->lost[reason] += account.lost[reason];
			if (reason != EPP_LOSS_TOO_LARGE && reason != EPP_LOSS_RESTART_GAP)
				accounts->lost_total += account.lost[reason];
		}
	}
	accounts->damage_count = info->damage_count;
	accounts->truncated = info->is_truncated;
	accounts->file_bytes = info->file_bytes;
	accounts->missing_bytes = info->missing_bytes;
	accounts->missing_events = info->is_truncated ? missing[missing[1] > missing[0]] : 0;
	return NULL;
}

void accounts_reasons(const uint64_t lost[EPP_LOSS_ENTRY_COUNT], char *text, size_t bytes)
{
	char number[CLI_NUMBER_BYTES];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (!lost[reason] || used >= bytes)
			continue;
		used += (size_t)snprintf(text + used, bytes - used, "%s%s %s", used ? ", " : "",
		                         cli_count(lost[reason], number), epp_loss_name(reason));
	}
}

const char *accounts_missing(const struct accounts *accounts, char text[ACCOUNTS_MISSING_BYTES])
{
	char left[CLI_NUMBER_BYTES], of[CLI_NUMBER_BYTES], events[CLI_COUNTED_BYTES];
	size_t used = 0;

	if (accounts->missing_bytes)
		used = (size_t)snprintf(text, ACCOUNTS_MISSING_BYTES, "%s of %s are left",
		                        cli_bytes(accounts->file_bytes, left),
		                        cli_bytes(accounts->file_bytes + accounts->missing_bytes, of));
	else
		used = (size_t)snprintf(text, ACCOUNTS_MISSING_BYTES, "%s are left",
		                        cli_bytes(accounts->file_bytes, left));
	if (accounts->missing_events)
		snprintf(text + used, ACCOUNTS_MISSING_BYTES - used, ", at least %s %s missing",
		         cli_counted(accounts->missing_events, "event", events),
		         accounts->missing_events == 1 ? "is" : "are");
	return text;
}

static void print_known(const char *key, uint64_t number, bool known)
{
	printf("\"%s\": ", key);
	printf(known ? "%" PRIu64 ", " : "null, ", number);
}

void accounts_print_missing_json(const struct accounts *accounts)
{
	bool whole = !accounts->truncated;

	printf("\"truncated\": %s, ", whole ? "false" : "true");
	print_known("missing_bytes", accounts->missing_bytes, whole || accounts->missing_bytes);
	print_known("missing_events", accounts->missing_events, whole || accounts->missing_events);
}

#define UNBALANCED "the counts of events do not add up (emitted is not written + lost + open)"

static void warn(const struct accounts *accounts, FILE *to, const char *before)
{
	char text[ACCOUNTS_MISSING_BYTES];

	if (accounts->truncated) {
		fprintf(to, "%sWARNING: the file is truncated: %s\n", before, accounts_missing(accounts, text));
		return;
	}
	if (!accounts->balanced)
		fprintf(to, "%sWARNING: " UNBALANCED "; see 'epprof info' and 'epprof validate'\n", before);
	if (accounts->damage_count)
		fprintf(to,
		        "%sWARNING: the file is damaged or truncated, the number of lost events is unknown; see 'epprof validate'\n",
		        before);
}

/* Returns the text that accounts_warn prints; NULL: no memory.  Ownership: the caller frees it. */
static char *warning(const struct accounts *accounts)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	warn(accounts, to, "");
	return fclose(to) == 0 ? text : NULL;
}

void accounts_print_warnings(const struct accounts *accounts, const char *indent)
{
	char *text = warning(accounts), *rest = text, *line;

	if (!text)
		cli_no_memory();
	while ((line = strsep(&rest, "\n")) && *line)
		cli_print("%s%s\n", indent, line);
	free(text);
}

void accounts_warn(const struct accounts *accounts)
{
	warn(accounts, stderr, "epprof: ");
}

void accounts_warn_all(const struct accounts *accounts, epp_trace *const *traces, size_t count)
{
	char **texts = calloc(count, sizeof *texts);

	for (size_t i = 0; texts && i < count; i++)
		texts[i] = warning(&accounts[i]);
	for (size_t i = 0; i < count; i++) {
		size_t others = 0;
		if (!texts || !texts[i]) {
			accounts_warn(&accounts[i]);
			continue;
		}
		for (size_t j = i + 1; j < count; j++) {
			if (texts[j] && strcmp(texts[i], texts[j]) == 0) {
				others++;
				texts[j][0] = '\0';
			}
		}
		/* Each line of a text is a sentence. */
		for (char *rest = texts[i], *line; (line = strsep(&rest, "\n")) && *line;) {
			fprintf(stderr, "epprof: %s", epp_trace_get_info(traces[i])->path);
			if (others)
				fprintf(stderr, " and %zu more", others);
			fprintf(stderr, ": %s\n", line);
		}
	}
	for (size_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
}

int accounts_strict(const struct accounts *accounts)
{
	if (!accounts->lost_total && accounts->balanced && !accounts->damage_count && !accounts->truncated)
		return CLI_OK;
	if (accounts->lost_total)
		fprintf(stderr, "epprof: %llu events were lost\n", (unsigned long long)accounts->lost_total);
	if (accounts->truncated)
		fprintf(stderr, "epprof: the file is truncated\n");
	else if (!accounts->balanced)
		fprintf(stderr, "epprof: " UNBALANCED "; run 'epprof validate'\n");
	if (accounts->damage_count && !accounts->truncated)
		fprintf(stderr, "epprof: the file is damaged or truncated\n");
	return CLI_INVALID;
}
