/* What was lost, over all producers of a trace. */
#include "accounts.h"

#include <stdio.h>
#include <string.h>

epp_status *accounts_add_up(struct accounts *accounts, epp_trace *trace)
{
	size_t count = epp_trace_accounts_count(trace);

	memset(accounts, 0, sizeof *accounts);
	accounts->balanced = true;
	for (size_t i = 0; i < count; i++) {
		epp_trace_account account;
		epp_status *status = epp_trace_account_at(trace, i, &account);
		if (status)
			return status;
		accounts->balanced = accounts->balanced && account.balanced;
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++) {
			if (account.is_plugin && (reason == EPP_LOSS_DISK || reason == EPP_LOSS_POLICY))
				continue;
			accounts->lost[reason] += account.lost[reason];
			if (reason != EPP_LOSS_TOO_LARGE && reason != EPP_LOSS_RESTART_GAP)
				accounts->lost_total += account.lost[reason];
		}
	}
	accounts->damage_count = epp_trace_get_info(trace)->damage_count;
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

static void warn(const struct accounts *accounts, FILE *to, const char *before)
{
	if (!accounts->balanced)
		fprintf(to, "%sWARNING: the accounts do not balance; see 'epprof info' and 'epprof validate'\n", before);
	if (accounts->damage_count)
		fprintf(to,
		        "%sWARNING: the file is damaged or was cut, and what that cost is not known; see 'epprof validate'\n",
		        before);
}

void accounts_print_warnings(const struct accounts *accounts, const char *indent)
{
	warn(accounts, stdout, indent);
}

int accounts_warn(epp_trace *trace)
{
	struct accounts accounts;
	epp_status *status = accounts_add_up(&accounts, trace);

	if (status)
		return cli_unreadable(status);
	warn(&accounts, stderr, "epprof: ");
	return CLI_OK;
}

int accounts_strict(const struct accounts *accounts)
{
	if (!accounts->lost_total && accounts->balanced && !accounts->damage_count)
		return CLI_OK;
	if (accounts->lost_total)
		fprintf(stderr, "epprof: %llu events were lost\n", (unsigned long long)accounts->lost_total);
	if (!accounts->balanced)
		fprintf(stderr, "epprof: the accounts do not balance\n");
	if (accounts->damage_count)
		fprintf(stderr, "epprof: the file is damaged or was cut\n");
	return CLI_INVALID;
}
