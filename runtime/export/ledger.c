/* Reads the ledger of the trace and writes it as JSON.  Losses that are 0 are omitted. */
#include "export/ledger.h"

#include <inttypes.h>

#include "base/status.h"

size_t ledger_count(const struct export_run *run)
{
	return epp_trace_ledger_count(run->trace) + (run->filtered > 0);
}

epp_status *ledger_at(const struct export_run *run, size_t index, epp_trace_ledger_entry *account)
{
	if (index < epp_trace_ledger_count(run->trace))
		return epp_trace_ledger_at(run->trace, index, account);
	*account = ledger_of_filters(run->filtered);
	return NULL;
}

epp_trace_ledger_entry ledger_of_filters(uint64_t filtered)
{
	return (epp_trace_ledger_entry){ .producer = "filters of this export",
		                         .emitted = filtered,
		                         .lost_total = filtered,
		                         .lost[EPP_LOSS_FILTER] = filtered,
		                         .balanced = 1,
		                         .source = LEDGER_NO_SOURCE };
}

epp_status *ledger_add_up(struct export_run *run, struct ledger_total *total)
{
	size_t count = epp_trace_ledger_count(run->trace);

	memset(total, 0, sizeof *total);
	total->balanced = true;
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		total->lost += account.lost_total;
		if (account.is_plugin)
			total->lost -= account.lost[EPP_LOSS_DISK] + account.lost[EPP_LOSS_POLICY];
		total->balanced = total->balanced && account.balanced;
	}
	return NULL;
}

void ledger_write_account(struct sink *sink, const epp_trace_ledger_entry *account)
{
	bool any = false;

	sink_text(sink, "{\"producer\":");
	sink_json_string(sink, account->producer);
	sink_format(sink, ",\"emitted\":%" PRIu64 ",\"written\":%" PRIu64 ",\"open\":%" PRIu64 ",\"lost\":{",
	            account->emitted, account->written, account->open);
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (!account->lost[reason])
			continue;
		sink_format(sink, "%s\"%s\":%" PRIu64, any ? "," : "", epp_loss_name(reason), account->lost[reason]);
		any = true;
	}
	sink_format(sink, "},\"errors\":%" PRIu64 ",\"balanced\":%s", account->errors,
	            account->balanced ? "true" : "false");
	if (account->source != LEDGER_NO_SOURCE)
		sink_format(sink, ",\"source\":%" PRIu32, account->source);
	sink_text(sink, "}");
}

epp_status *ledger_write(const struct export_run *run, struct sink *sink)
{
	size_t count = ledger_count(run);

	sink_text(sink, "[");
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		if (i)
			sink_text(sink, ",");
		ledger_write_account(sink, &account);
	}
	sink_text(sink, "]");
	return NULL;
}

size_t ledger_entries(const epp_trace_ledger_entry *account, struct ledger_entry entries[LEDGER_ENTRIES_MAX])
{
	size_t count = 0;

	entries[count++] = (struct ledger_entry){ "emitted", NULL, account->emitted };
	entries[count++] = (struct ledger_entry){ "written", NULL, account->written };
	entries[count++] = (struct ledger_entry){ "open", NULL, account->open };
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (account->lost[reason])
			entries[count++] = (struct ledger_entry){ "lost", epp_loss_name(reason), account->lost[reason] };
	}
	entries[count++] = (struct ledger_entry){ "errors", NULL, account->errors };
	entries[count++] = (struct ledger_entry){ "balanced", NULL, account->balanced };
	return count;
}
