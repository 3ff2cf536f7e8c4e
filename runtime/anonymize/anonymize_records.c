/* Anonymises records: names become words, args are kept if the allow-list has their key, and times start near 0.
 *
 * The word for a name begins with the kind of its event, and with the terms by which readers classify a name (a copy,
 * an allocation, a wait), so that a summary and advice treat the event as before.  With `keep_ops` the word of a node
 * begins with its operator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymize/anonymize.h"
#include "anonymize/shapes.h"
#include "base/weight.h"
#include "containers/array.h"
#include "timeline/events/name_words.h"
#include "timeline/events/readable_name.h"
#include "timeline/events/work_kind.h"

/* The maximum size of a block's records in memory. */
#define BLOCK_BYTES (128u << 10)
/* Upper limit for the slots of one record.  A text may end in a partly filled slot, so there may be twice as many slots
 * as args. */
#define SLOTS_MAX (2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)
/* The maximum number of slots for a number that is an arg, also if it is written as a text. */
#define NUMBER_SLOTS 3u
/* The clock of a device may count from any date.  In the output, its first time is at most this. */
#define BASE_SECONDS 60u
/* The bits of a double that is NaN. */
#define NOT_A_NUMBER UINT64_C(0x7ff8000000000000)

_Static_assert(CODEC_BOUND(BLOCK_BYTES) + 10 * EPF_OPEN_MAX <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");
_Static_assert(EPF_RECORD_BYTES * 2 + SLOTS_MAX * 16 <= BLOCK_BYTES, "a record and a switch fit");

epp_status *anonymize_records_init(struct anonymize *a)
{
	a->old_names = a->reader->names;
	a->old_names_count = a->reader->names_count;
	a->keys = calloc(a->old_names_count + 1, sizeof(*a->keys));
	a->keys_known = calloc(a->old_names_count + 1, sizeof(*a->keys_known));
	a->keys_dropped = calloc(a->old_names_count + 1, sizeof(*a->keys_dropped));
	a->key_numbers = calloc(a->old_names_count + 1, sizeof(*a->key_numbers));
	a->block = malloc(sizeof(*a->block) + TRACE_WRITER_PAYLOAD_MAX);
	a->slots = reallocarray(NULL, SLOTS_MAX + 1, sizeof(*a->slots));
	return a->keys && a->keys_known && a->keys_dropped && a->key_numbers && a->block && a->slots
	           ? NULL
	           : epp_status_no_memory();
}

void anonymize_records_deinit(struct anonymize *a)
{
	for (size_t i = 0; i < ANONYMIZE_KINDS; i++)
		free(a->names[i]);
	for (size_t i = 0; i < ALLOWED_USE_COUNT; i++) {
		string_table_deinit(&a->values[i].from);
		free(a->values[i].to);
	}
	string_table_deinit(&a->new_names);
	string_table_deinit(&a->dropped);
	hash_map_deinit(&a->clocks);
	hash_map_deinit(&a->ids_from);
	hash_map_deinit(&a->made);
	free(a->keys);
	free(a->keys_known);
	free(a->keys_dropped);
	free(a->key_numbers);
	free(a->block);
	free(a->slots);
}

/* ---- names ---- */

static epp_status *add_name(struct anonymize *a, const char *text, size_t bytes, uint32_t *number)
{
	if (!string_table_add(&a->new_names, text, bytes, number))
		return epp_status_no_memory();
	*number += EPF_NAME_FIRST_FREE;
	return NULL;
}

/* Returns true for a reserved name, which has the same text in every trace. */
static bool is_reserved(const struct reader_name *name, uint32_t number)
{
	static const char *const texts[] = EPF_NAME_TEXTS;

	return number && number < sizeof(texts) / sizeof(*texts) && name->bytes == strlen(texts[number]) &&
	       memcmp(name->text, texts[number], name->bytes) == 0;
}

/* Returns the standard operator of a node, which is one of its args; NULL: there is none, or it is no standard
 * operator. */
static const char *operator_of(const struct anonymize *a, const struct codec_record *record)
{
	uint32_t at = record->args_offset;
	struct codec_arg arg;

	for (uint32_t i = 0; i < record->args_count; i++) {
		at = codec_arg(a->from->args, a->from->args_bytes, at, &arg);
		if (!at)
			return NULL;
		const struct reader_name *key = arg.key < a->old_names_count ? &a->old_names[arg.key] : NULL;
		const struct allowed *allowed = key && key->text ? allowed_key(key->text, key->bytes) : NULL;
		if (allowed && allowed->use == ALLOWED_OPERATOR && arg.type == EPP_ARG_TEXT)
			return allowed_operator((const char *)arg.text, arg.text_bytes);
	}
	return NULL;
}

#define PREFIX_BYTES 96u

static void make_prefix(const struct anonymize *a, unsigned kind, const struct reader_name *name,
                        const struct codec_record *record, char prefix[PREFIX_BYTES])
{
	static const char *const categories[] = { "session", "node", "kernel", "call" };
	static const char *const works[WORK_COUNT] = {
		[WORK_COPY_IN] = "copyin", [WORK_COPY_OUT] = "copyout", [WORK_COPY] = "transfer", [WORK_FILL] = "memset"
	};
	const char *first = kind == ANONYMIZE_COUNTER ? "counter" : kind <= EPP_API ? categories[kind] : "event";
	const char *work = kind == ANONYMIZE_COUNTER ? NULL : works[work_of_name(name->text, name->bytes)];
	const char *kept = a->options.keep_ops && kind == EPP_NODE && record ? operator_of(a, record) : NULL;

	if (kept)
		first = kept;
	snprintf(prefix, PREFIX_BYTES, "%s%s%s%s%s", work && kind == EPP_KERNEL ? "" : first,
	         work && kind != EPP_KERNEL ? "_" : "", work ? work : "",
	         name_is_allocation(name->text) ? "_alloc" : "", name_is_wait(name->text) ? "_wait" : "");
}

/* Makes the number of the word that replaces a name.  If several names of the input have the same text, they get one
 * word, even if their events have different operators. */
static epp_status *replace_name(struct anonymize *a, unsigned kind, const struct reader_name *name,
                                const struct codec_record *record, uint32_t *number)
{
	size_t bytes = readable_name_bytes(name->text, name->bytes, kind);
	struct anonymize_value word;
	char prefix[PREFIX_BYTES];
	uint64_t key;
	const uint64_t *known;

	make_prefix(a, kind, name, record, prefix);
	EPP_TRY(anonymize_word(a, prefix, name->text, bytes, name->text + bytes, &word));
	key = (uint64_t)string_table_find(&a->words.texts, name->text, bytes) << 6 | kind << 1 | (bytes < name->bytes);
	known = hash_map_find(&a->made, key);
	if (known) {
		*number = (uint32_t)*known;
		return NULL;
	}
	EPP_TRY(add_name(a, word.text, word.bytes, number));
	return hash_map_add(&a->made, key, *number) ? NULL : epp_status_no_memory();
}

/* Sets *number to the number that a name of the input has in the output, for events of a kind.  `record` is an event
 * with this name, or NULL. */
static epp_status *make_name(struct anonymize *a, unsigned kind, uint32_t old, const struct codec_record *record,
                             uint32_t *number)
{
	const struct reader_name *name = old < a->old_names_count ? &a->old_names[old] : NULL;

	if (!a->names[kind]) {
		a->names[kind] = calloc(a->old_names_count + 1, sizeof(**a->names));
		if (!a->names[kind])
			return epp_status_no_memory();
	}
	if (!name || !name->text) {
		*number = old ? EPF_NAME_LOST : EPF_NAME_PENDING;
		return NULL;
	}
	if (is_reserved(name, old)) {
		*number = old;
	} else if (!name->bytes) {
		*number = EPF_NAME_NONE;
	} else if (allowed_find(ALLOWED_NAME, name->text, name->bytes)) {
		EPP_TRY(anonymize_keep(a, name->text, name->bytes));
		EPP_TRY(add_name(a, name->text, name->bytes, number));
	} else {
		EPP_TRY(replace_name(a, kind, name, record, number));
	}
	a->names[kind][old] = *number;
	return NULL;
}

static epp_status *name_of(struct anonymize *a, unsigned kind, uint32_t old, const struct codec_record *record,
                           uint32_t *number)
{
	const uint32_t *names = a->names[kind];

	*number = names && old < a->old_names_count ? names[old] : 0;
	return *number ? NULL : make_name(a, kind, old, record, number);
}

/* ---- args ---- */

/* Looks up a key in the allow-list. */
static epp_status *look_up_key(struct anonymize *a, uint32_t key)
{
	const struct reader_name *name = &a->old_names[key];

	a->keys[key] = name->text ? allowed_key(name->text, name->bytes) : NULL;
	if (a->keys[key]) {
		EPP_TRY(anonymize_keep(a, name->text, name->bytes));
		EPP_TRY(add_name(a, name->text, name->bytes, &a->key_numbers[key]));
	}
	a->keys_known[key] = true;
	return NULL;
}

static epp_status *replace_work(struct anonymize *a, const char *text, size_t bytes, struct anonymize_value *to)
{
	static const char driver[] = "_driver", other[] = "other_driver";
	const struct allowed *allowed = allowed_find(ALLOWED_WORK_NAME, text, bytes);
	bool is_driver = bytes >= strlen(driver) && memcmp(text + bytes - strlen(driver), driver, strlen(driver)) == 0;

	if (!allowed && !is_driver)
		return NULL;
	to->text = allowed ? allowed->text : other;
	to->bytes = (uint32_t)strlen(to->text);
	return anonymize_keep(a, to->text, to->bytes);
}

static epp_status *keep_step(struct anonymize *a, const char *text, size_t bytes, struct anonymize_value *to)
{
	const struct allowed *allowed = allowed_find(ALLOWED_STEP_NAME, text, bytes);

	if (!allowed)
		return NULL;
	*to = (struct anonymize_value){ allowed->text, (uint32_t)bytes };
	return anonymize_keep(a, text, bytes);
}

static epp_status *replace_operator(struct anonymize *a, const char *text, size_t bytes, struct anonymize_value *to)
{
	const char *standard = a->options.keep_ops ? allowed_operator(text, bytes) : NULL;

	if (!standard)
		return anonymize_word(a, "op", text, bytes, "", to);
	*to = (struct anonymize_value){ standard, (uint32_t)bytes };
	return anonymize_keep(a, standard, bytes);
}

static epp_status *replace_shapes(struct anonymize *a, const char *text, size_t bytes, struct anonymize_value *to)
{
	char *output = malloc(SHAPES_ROOM(bytes));

	if (!output)
		return epp_status_no_memory();
	size_t used = shapes_take(text, bytes, a->options.round_shapes, output);
	epp_status *status = NULL;
	if (used && used <= EPF_ARG_TEXT_MAX) {
		to->text = reader_text(reader_impl(a->reader), output, used);
		to->bytes = (uint32_t)used;
		status = to->text ? anonymize_keep(a, output, used) : epp_status_no_memory();
	}
	free(output);
	return status;
}

static epp_status *make_value(struct anonymize *a, enum allowed_use use, const char *text, size_t bytes,
                              struct anonymize_value *to)
{
	*to = (struct anonymize_value){ .text = bytes ? NULL : "" };
	if (!bytes)
		return NULL;
	switch (use) {
	case ALLOWED_OPERATOR:
		return replace_operator(a, text, bytes, to);
	case ALLOWED_PROVIDER:
		return anonymize_provider(a, text, bytes, to);
	case ALLOWED_WORK:
		return replace_work(a, text, bytes, to);
	case ALLOWED_STEP:
		return keep_step(a, text, bytes, to);
	case ALLOWED_SHAPES:
		return replace_shapes(a, text, bytes, to);
	default:
		return NULL;
	}
}

/* Returns the replacement for a text, which is made at the first use. */
static epp_status *value_of(struct anonymize *a, enum allowed_use use, const char *text, size_t bytes,
                            struct anonymize_value *to)
{
	struct anonymize_values *values = &a->values[use];
	uint32_t number = string_table_find(&values->from, text, bytes);

	if (number != STRING_TABLE_NONE) {
		*to = values->to[number];
		return NULL;
	}
	*to = (struct anonymize_value){ 0 };
	if (values->from.count >= ANONYMIZE_VALUES_MAX || values->from.bytes_count + bytes > ANONYMIZE_VALUES_BYTES_MAX)
		return NULL;
	EPP_TRY(make_value(a, use, text, bytes, to));
	if (!array_reserve(&values->to, &values->to_room, values->from.count + (size_t)1, sizeof(*values->to)) ||
	    !string_table_add(&values->from, text, bytes, &number))
		return epp_status_no_memory();
	values->to[number] = *to;
	return NULL;
}

/* Reads a number that is written as a text, as ONNX Runtime does.  Returns false if the text is no number. */
static bool is_number(const char *text, size_t bytes, int64_t *number)
{
	char digits[24], *end;

	if (!bytes || bytes >= sizeof(digits))
		return false;
	*(char *)mempcpy(digits, text, bytes) = 0;
	*number = strtoll(digits, &end, 10);
	return strspn(digits, "-0123456789") == bytes && !*end;
}

static epp_status *drop_arg(struct anonymize *a, const struct codec_arg *arg)
{
	uint32_t number;

	a->counts.args_dropped++;
	if (arg->key < a->old_names_count && !a->keys_dropped[arg->key]) {
		a->keys_dropped[arg->key] = true;
		a->counts.keys_dropped++;
	}
	if (arg->type != EPP_ARG_TEXT || a->dropped.bytes_count + arg->text_bytes > ANONYMIZE_DROPPED_BYTES_MAX)
		return NULL;
	return string_table_add(&a->dropped, arg->text, arg->text_bytes, &number) ? NULL : epp_status_no_memory();
}

static void put_text(struct anonymize *a, uint32_t key, const struct anonymize_value *value, uint32_t *used)
{
	uint32_t slots = (value->bytes + 15) / 16;

	a->slots[*used] = (struct epf_arg){ .key = key, .type_and_bytes = EPP_ARG_TEXT | value->bytes << 8 };
	if (slots) {
		a->slots[*used + slots] = (struct epf_arg){ 0 };
		memcpy(&a->slots[*used + 1], value->text, value->bytes);
	}
	*used += 1 + slots;
}

static void put_number(struct anonymize *a, uint32_t key, uint32_t type, uint64_t value, uint32_t *used)
{
	a->slots[(*used)++] = (struct epf_arg){ .key = key, .type_and_bytes = type, .value = value };
}

static uint64_t round_value(uint32_t type, uint64_t value)
{
	double real;

	if (type != EPP_ARG_F64)
		return type == EPP_ARG_I64 && (int64_t)value < 0 ? value : shapes_round(value);
	memcpy(&real, &value, sizeof(real));
	real = real >= 0 && real < 0x1p63 ? (double)shapes_round((uint64_t)real) : 0;
	memcpy(&value, &real, sizeof(value));
	return value;
}

/* Returns the replacement for a number that joins events.  Small numbers are counted by the program and kept; larger
 * ones may be addresses or times. */
static uint64_t replace_joining_id(const struct anonymize *a, uint64_t value)
{
	uint64_t made;

	if (value <= UINT32_MAX)
		return value;
	words_hash_id(&a->words, &value, sizeof(value), (uint8_t *)&made, sizeof(made));
	return made;
}

/* Returns the replacement for a number whose key is on the allow-list. */
static uint64_t number_of(const struct anonymize *a, enum allowed_use use, uint32_t type, uint64_t value)
{
	if (use == ALLOWED_JOIN)
		return replace_joining_id(a, value);
	return use == ALLOWED_SIZE && a->options.round_shapes ? round_value(type, value) : value;
}

/* Returns true if the record is an instant with this name. */
static bool is_instant(const struct anonymize *a, const struct codec_record *record, const char *text)
{
	const struct reader_name *name = record->name < a->old_names_count ? &a->old_names[record->name] : NULL;

	return EPF_BITS_KIND(record->bits) == EPF_INSTANT && name && name->text && name->bytes == strlen(text) &&
	       memcmp(name->text, text, name->bytes) == 0;
}

/* Writes an arg whose key is on the allow-list into the slots.  *is_kept is false if its value has a type that the list
 * does not allow. */
static epp_status *replace_known_arg(struct anonymize *a, const struct codec_record *record,
                                     const struct codec_arg *arg, uint32_t *used, bool *is_kept)
{
	enum allowed_use use = a->keys[arg->key]->use;
	uint32_t key = a->key_numbers[arg->key];
	struct anonymize_value value = { 0 };
	bool is_text = arg->type == EPP_ARG_TEXT;
	int64_t number;

	bool is_weight = is_instant(a, record, WEIGHT_SET), is_step = is_instant(a, record, BUDGET_STEP);

	*is_kept = (use != ALLOWED_ID || (!is_text && is_weight)) && (use != ALLOWED_STEP || (is_text && is_step));
	if (use == ALLOWED_BUDGET) {
		*is_kept = !is_text && (is_weight || is_step);
		if (*is_kept)
			put_number(a, key, arg->type, arg->value, used);
		return NULL;
	}
	if (use == ALLOWED_ID) {
		uint64_t id = arg->value;
		if (!*is_kept)
			return NULL;
		EPP_TRY(anonymize_id(a, a->from->header.source, &id));
		put_number(a, key, arg->type, id, used);
		return NULL;
	}
	if (use == ALLOWED_NUMBER || use == ALLOWED_JOIN || use == ALLOWED_SIZE) {
		if (!is_text) {
			put_number(a, key, arg->type, number_of(a, use, arg->type, arg->value), used);
			return NULL;
		}
		*is_kept = is_number((const char *)arg->text, arg->text_bytes, &number);
		char digits[24];
		if (*is_kept)
			number = (int64_t)number_of(a, use, EPP_ARG_I64, (uint64_t)number);
		value.text = digits;
		value.bytes = *is_kept ? (uint32_t)snprintf(digits, sizeof(digits), "%lld", (long long)number) : 0;
		if (*is_kept)
			put_text(a, key, &value, used);
		return NULL;
	}
	if (is_text && *is_kept)
		EPP_TRY(value_of(a, use, (const char *)arg->text, arg->text_bytes, &value));
	*is_kept = value.text && (value.bytes + 15) / 16 < SLOTS_MAX - *used;
	if (*is_kept)
		put_text(a, key, &value, used);
	return NULL;
}

/* The recorder makes ids from the time of day at which the process was started (record/recorder.c).  Only the order and
 * the differences of ids are kept. */
epp_status *anonymize_id(struct anonymize *a, uint32_t source, uint64_t *id)
{
	const uint64_t *known = hash_map_find(&a->ids_from, source);
	uint64_t from = UINT64_MAX;

	if (!*id || *id == UINT64_MAX)
		return NULL;
	for (size_t i = 0; i < a->reader->runs_count && !known; i++) {
		const struct epf_run *run = &a->reader->runs[i];
		if (run->source == source && run->first_id && run->first_id < from)
			from = run->first_id;
	}
	/* Without a run, the first id of the process is not known. */
	if (!known)
		from = from != UINT64_MAX ? from - 1 : *id > UINT32_MAX ? *id - UINT32_MAX : 0;
	else
		from = *known;
	*id -= from;
	return known || hash_map_add(&a->ids_from, source, from) ? NULL : epp_status_no_memory();
}

/* Replaces an arg that epprof writes itself: a parent, the times of a launch, and the value of a counter, whose key is
 * the counter's name. */
static epp_status *replace_own_arg(struct anonymize *a, const struct codec_record *record, const struct codec_arg *arg,
                                   uint32_t *used, bool *is_kept)
{
	bool is_value = EPF_BITS_KIND(record->bits) == EPF_COUNTER && arg->key == record->name;

	*is_kept = arg->type != EPP_ARG_TEXT;
	if (!*is_kept)
		return NULL;
	if (is_value) {
		uint32_t key;
		EPP_TRY(name_of(a, ANONYMIZE_COUNTER, arg->key, NULL, &key));
		put_number(a, key, arg->type, arg->value, used);
	} else {
		uint64_t value = arg->value;
		if (arg->key == EPF_NAME_SUBMIT)
			value = anonymize_ticks(a, value);
		if (arg->key == EPF_NAME_PARENT)
			EPP_TRY(anonymize_id(a, a->from->header.source, &value));
		put_number(a, arg->key, arg->type, value, used);
	}
	return NULL;
}

/* Returns true for the args that epprof writes itself.  Reserved keys are identified by their number, whatever text the
 * file gives them; the output has the usual texts. */
static bool is_own(const struct codec_record *record, uint32_t key)
{
	return key == EPF_NAME_PARENT || key == EPF_NAME_SUBMIT || key == EPF_NAME_QUEUE || key == EPF_NAME_VALUE ||
	       (EPF_BITS_KIND(record->bits) == EPF_COUNTER && key == record->name);
}

static epp_status *replace_args(struct anonymize *a, const struct codec_record *record, uint32_t *used)
{
	uint32_t at = record->args_offset;
	struct codec_arg arg;

	for (uint32_t i = 0; i < record->args_count; i++) {
		bool is_kept = false;
		at = codec_arg(a->from->args, a->from->args_bytes, at, &arg);
		if (!at)
			return NULL;
		if (arg.key < a->old_names_count && *used + NUMBER_SLOTS < SLOTS_MAX) {
			if (!a->keys_known[arg.key])
				EPP_TRY(look_up_key(a, arg.key));
			if (is_own(record, arg.key))
				EPP_TRY(replace_own_arg(a, record, &arg, used, &is_kept));
			else if (a->keys[arg.key])
				EPP_TRY(replace_known_arg(a, record, &arg, used, &is_kept));
		}
		if (is_kept)
			a->counts.args_kept++;
		else
			EPP_TRY(drop_arg(a, &arg));
	}
	return NULL;
}

/* ---- times ---- */

/* Determines the number that is subtracted from the ticks of a track's clock.  Readers only use differences of these
 * ticks, but the ticks themselves may reveal a date, or when the device was started. */
static epp_status *find_clock_base(struct anonymize *a, const struct epf_track *track, uint64_t first_ticks, uint64_t *base)
{
	uint64_t key = track->clock ? (uint64_t)track->source << 32 | track->clock : UINT64_C(1) << 63 | track->track;
	const uint64_t *known = hash_map_find(&a->clocks, key);
	uint64_t margin = BASE_SECONDS * (track->ticks_per_second ? track->ticks_per_second : 1000000000);

	*base = known ? *known : first_ticks > margin ? first_ticks - margin : 0;
	return known || hash_map_add(&a->clocks, key, *base) ? NULL : epp_status_no_memory();
}

static epp_status *device_ticks(struct anonymize *a, uint64_t *ticks)
{
	const struct epf_track *track = a->definition;
	uint64_t mask = track->clock_bits && track->clock_bits < 64 ? (UINT64_C(1) << track->clock_bits) - 1 : UINT64_MAX;

	if (*ticks > mask)
		return NULL;
	if (a->track_base == UINT64_MAX)
		EPP_TRY(find_clock_base(a, track, *ticks, &a->track_base));
	*ticks = (*ticks - a->track_base) & mask;
	return NULL;
}

static epp_status *replace_times(struct anonymize *a, unsigned kind, struct epf_record *record)
{
	unsigned clock = a->definition ? a->definition->clock_kind : EPF_TRACK_CLOCK_HOST;

	if (kind == EPF_CLOCK_PAIR)
		record->duration_ticks = anonymize_ticks(a, record->duration_ticks);
	if ((kind != EPF_COMPLETE && kind != EPF_CLOCK_PAIR) || clock == EPF_TRACK_CLOCK_HOST)
		record->start_ticks = anonymize_ticks(a, record->start_ticks);
	else if (clock != EPF_TRACK_CLOCK_OFFSET_US)
		return device_ticks(a, &record->start_ticks);
	return NULL;
}

/* ---- blocks ---- */

static void on_track(struct anonymize *a, uint32_t track)
{
	a->track = track;
	a->definition = reader_track_definition(a->reader, track);
	a->track_base = UINT64_MAX;
}

static void begin_block(struct anonymize *a, uint32_t open_count)
{
	codec_begin(&a->codec, (uint8_t *)(a->block + 1), a->open_ids, open_count);
	a->bytes = 0;
}

static epp_status *end_block(struct anonymize *a)
{
	const struct epf_block *from = &a->from->header;
	uint64_t first_id = from->first_id;

	if (!a->codec.state.record_count)
		return NULL;
	EPP_TRY(anonymize_id(a, from->source, &first_id));
	*a->block = (struct epf_block){
		.type = EPF_BLOCK_RECORDS, .run = from->run, .source = from->source, .track = from->track, .first_id = first_id
	};
	codec_finish(&a->codec, a->block);
	a->counts.records += a->block->record_count;
	return trace_writer_append(a->writer, a->block);
}

static void append_record(struct anonymize *a, const struct epf_record *record)
{
	codec_append(&a->codec, record, a->slots);
	a->bytes += EPF_RECORD_BYTES + record->arg_slots * 16u;
}

/* Begins a new block if the record does not fit.  A block begins on the track in its header, so if the record is on
 * another track, a track switch is added first. */
static epp_status *make_room(struct anonymize *a, const struct epf_record *record)
{
	if (a->bytes + EPF_RECORD_BYTES + record->arg_slots * 16u <= BLOCK_BYTES &&
	    a->codec.state.record_count < CODEC_RECORDS_MAX - 1)
		return NULL;
	EPP_TRY(end_block(a));
	begin_block(a, 0);
	if (a->track != a->from->header.track)
		append_record(a, &(struct epf_record){ .start_ticks = record->start_ticks,
		                                       .id = a->track,
		                                       .name = EPF_NAME_TRACK_SWITCH,
		                                       .bits = EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0) });
	return NULL;
}

static epp_status *replace_record(struct anonymize *a, const struct codec_record *from)
{
	unsigned kind = EPF_BITS_KIND(from->bits);
	struct epf_record record = { .start_ticks = from->start_ticks,
		                     .duration_ticks = from->duration_ticks,
		                     .id = from->id,
		                     .bits = from->bits };
	uint32_t slots = 0, name;

	EPP_TRY(name_of(a, kind == EPF_COUNTER ? ANONYMIZE_COUNTER : EPF_BITS_CATEGORY(from->bits), from->name, from,
	                &name));
	record.name = name;
	if (from->args_count)
		EPP_TRY(replace_args(a, from, &slots));
	/* If the counter's value was no number, it was left out.  A counter must have a value to be valid. */
	if (kind == EPF_COUNTER && !slots)
		put_number(a, name, EPP_ARG_F64, NOT_A_NUMBER, &slots);
	record.arg_slots = (uint16_t)slots;
	EPP_TRY(replace_times(a, kind, &record));
	/* In the records of these kinds, `id` is a track, or the half width of a clock pair. */
	if (kind != EPF_TRACK_SWITCH && kind != EPF_CLOCK_PAIR)
		EPP_TRY(anonymize_id(a, a->from->header.source, &record.id));
	EPP_TRY(make_room(a, &record));
	append_record(a, &record);
	if (kind == EPF_TRACK_SWITCH)
		on_track(a, from->id ? (uint32_t)from->id : a->from->header.track);
	return NULL;
}

epp_status *anonymize_block(void *user, struct epp_trace_writer *writer, const struct reader_decoded *decoded)
{
	struct anonymize *a = user;
	const volatile int *cancel = a->options.cancel;

	if (cancel && *cancel)
		return epp_status_create(EPP_CANCELLED, "cancelled");
	a->writer = writer;
	a->from = decoded;
	on_track(a, decoded->header.track);
	for (uint32_t i = 0; i < decoded->header.open_count; i++) {
		a->open_ids[i] = decoded->open_ids[i];
		EPP_TRY(anonymize_id(a, decoded->header.source, &a->open_ids[i]));
	}
	begin_block(a, decoded->header.open_count);
	for (uint32_t i = 0; i < decoded->count; i++)
		EPP_TRY(replace_record(a, &decoded->records[i]));
	return end_block(a);
}

epp_status *anonymize_open_events(struct anonymize *a)
{
	for (size_t i = 0; i < a->reader->open_count; i++) {
		struct epf_open *open = &a->reader->open[i].open;
		uint32_t name;
		EPP_TRY(name_of(a, EPF_BITS_CATEGORY(open->bits), open->name, NULL, &name));
		open->name = name;
		EPP_TRY(anonymize_id(a, 0, &open->id));
		open->start_ticks = anonymize_ticks(a, open->start_ticks);
	}
	a->counts.records += a->reader->open_count;
	return NULL;
}
