/* Interns a list of args that many events share. The list is stored with the names (base/name.h), in the same layout as
 * the args behind a record. */
#include "record/args.h"
#include "base/name.h"

_Static_assert((int)EPP_ARGS_KEY == (int)EPF_NAME_ARGS, "the key is the format's");

static bool can_be_interned(const epp_arg *args, size_t args_count, const struct args_size *size)
{
	for (size_t i = 0; i < args_count; i++)
		if (args[i].key == EPF_NAME_ARGS || args[i].type > EPP_ARG_TEXT ||
		    (args[i].type == EPP_ARG_TEXT && !args[i].value.text))
			return false;
	return !size->cut && size->slots <= EPF_DEFINED_SLOTS_MAX;
}

epp_name epp_args_intern(const epp_arg *args, size_t args_count)
{
	struct args_size size = args_measure(args, args_count, EPF_DEFINED_SLOTS_MAX);
	struct epf_arg slots[EPF_DEFINED_SLOTS_MAX] = { 0 };
	if (!args_count || !can_be_interned(args, args_count, &size))
		return 0;
	args_fill(slots, args, &size);
	return name_intern_args(slots, size.slots * sizeof(*slots));
}
