/* Writes the losses and the ledger of a trace into a picture. */
#include "export/svg/svg_account.h"

#include <inttypes.h>

#include "base/status.h"
#include "export/args_text.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/svg/svg_text.h"

/* The maximum number of producers in a title; the metadata has all. */
#define NAMED_MAX 12u

static void name_losses(struct sink *sink, const epp_trace_account *account)
{
	bool any = false;

	svg_write_text(sink, account->producer, strlen(account->producer));
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (!account->lost[reason])
			continue;
		sink_format(sink, "%s%" PRIu64 " %s", any ? ", " : ": ", account->lost[reason], epp_loss_name(reason));
		any = true;
	}
	sink_text(sink, "\n");
}

epp_status *svg_write_lost(struct export_run *run)
{
	size_t count = ledger_count(run), named = 0;
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	if (total.lost)
		sink_format(run->sink, "%" PRIu64 " lost in the whole trace<title>", total.lost);
	else
		sink_text(run->sink, "none lost");
	for (size_t i = 0; i < count && total.lost; i++) {
		epp_trace_account account;
		EPP_TRY(ledger_at(run, i, &account));
		if (account.lost_total && named++ < NAMED_MAX)
			name_losses(run->sink, &account);
	}
	if (named > NAMED_MAX)
		sink_format(run->sink, "and %zu producers more\n", named - NAMED_MAX);
	sink_text(run->sink, total.lost ? "</title>" : "");
	return NULL;
}

epp_status *svg_write_account(struct export_run *run)
{
	struct args_text text = { 0 };
	epp_status *status = args_text_init(&text);

	if (!status) {
		sink_text(&text.sink, "{\"facts\":{");
		facts_write_json(run, &text.sink);
		sink_text(&text.sink, "},\"ledger\":");
		status = ledger_write(run, &text.sink);
	}
	if (!status) {
		sink_text(&text.sink, "}");
		status = args_text_take(&text);
	}
	if (!status) {
		sink_text(run->sink, "<metadata>");
		svg_write_text(run->sink, text.memory.bytes, text.memory.count);
		sink_text(run->sink, "</metadata>\n");
	}
	args_text_deinit(&text);
	return status;
}
