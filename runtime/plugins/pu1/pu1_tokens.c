/* Implements pu1_tokens.h.  A token is an increasing number; its entry is in a ring.  The thread that pushes writes an
 * entry, and the thread that reads records reads it: The token is 0 during a change; if the reader finds a different
 * token than it looks for, it returns no result.
 *
 * Each thread allocates its own stacks, which are freed when the thread exits. */
#include "plugins/pu1/pu1_tokens.h"

#include <stdlib.h>

#include "base/os/os.h"

/* The upper bits of tokens, which distinguish them from ids that other libraries push. */
#define TOKEN_BASE UINT64_C(0x5055310000000000)
#define TOKEN_MASK UINT64_C(0xffffff0000000000)

struct entry {
	_Atomic uint64_t token;
	_Atomic uint64_t id;
	_Atomic uint64_t below; /* the token below this one on the stack; 0: none */
	_Atomic uint64_t owner; /* run of the event: place << 32 | run */
};

struct pu1_tokens {
	_Atomic uint64_t next;
	_Atomic uint32_t runs[PU1_PROFILERS_MAX]; /* by place: the run; 0: no run uses the place */
	uint32_t last_run;
	struct entry *ring;
};

struct open {
	uint64_t token;
	uint64_t id;
	struct pu1_owner owner;
	bool ended;
};

struct stack {
	uint32_t depth;
	struct open open[PU1_OPEN_MAX];
};

struct thread {
	struct stack *stacks[PU1_LIBRARIES_MAX];
};

static __thread struct thread *this_thread __attribute__((tls_model("initial-exec")));
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void thread_exit(void *argument)
{
	struct thread *thread = argument;
	this_thread = NULL;
	for (unsigned i = 0; i < PU1_LIBRARIES_MAX; i++)
		free(thread->stacks[i]);
	free(thread);
}

static void exit_setup(void)
{
	if (pthread_key_create(&exit_key, thread_exit))
		exit_key = (pthread_key_t)-1;
}

static struct stack *stack_of(const struct pu1_library *library, bool make)
{
	struct thread *thread = this_thread;
	if (!thread && make) {
		pthread_once(&exit_once, exit_setup);
		thread = exit_key != (pthread_key_t)-1 ? calloc(1, sizeof(*thread)) : NULL;
		if (!thread || pthread_setspecific(exit_key, thread)) {
			free(thread);
			return NULL;
		}
		this_thread = thread;
	}
	if (!thread)
		return NULL;
	struct stack **stack = &thread->stacks[library->number];
	if (!*stack && make)
		*stack = calloc(1, sizeof(**stack));
	return *stack;
}

/* ---- runs ---- */

struct pu1_tokens *pu1_tokens_create(void)
{
	struct pu1_tokens *tokens = calloc(1, sizeof(*tokens));
	if (!tokens)
		return NULL;
	/* The kernel allocates pages when tokens are used, so a short session uses one page. */
	tokens->ring = os_memory_map(PU1_TOKENS_COUNT * sizeof(struct entry));
	if (tokens->ring)
		return tokens;
	free(tokens);
	return NULL;
}

bool pu1_tokens_begin(struct pu1_tokens *tokens, struct pu1_owner *owner)
{
	for (uint32_t i = 0; i < PU1_PROFILERS_MAX; i++) {
		if (atomic_load_explicit(&tokens->runs[i], memory_order_relaxed))
			continue;
		if (++tokens->last_run == 0)
			tokens->last_run = 1;
		*owner = (struct pu1_owner){ i, tokens->last_run };
		atomic_store_explicit(&tokens->runs[i], owner->run, memory_order_release);
		return true;
	}
	return false;
}

static bool is_run_active(struct pu1_tokens *tokens, struct pu1_owner owner)
{
	return atomic_load_explicit(&tokens->runs[owner.place], memory_order_relaxed) == owner.run;
}

void pu1_tokens_end(struct pu1_tokens *tokens, const struct pu1_owner *owner)
{
	if (is_run_active(tokens, *owner))
		atomic_store_explicit(&tokens->runs[owner->place], 0, memory_order_relaxed);
}

void pu1_tokens_forget(struct pu1_tokens *tokens)
{
	for (uint32_t i = 0; i < PU1_PROFILERS_MAX; i++)
		atomic_store_explicit(&tokens->runs[i], 0, memory_order_relaxed);
}

/* ---- stacks ---- */

/* Pops the tokens at the top of the stack whose events have ended. */
static pu1Result trim(struct pu1_library *library, struct stack *stack)
{
	pu1Result result = PU1_SUCCESS;
	while (stack->depth) {
		const struct open *top = &stack->open[stack->depth - 1];
		if (!top->ended && is_run_active(library->tokens, top->owner))
			break;
		uint64_t popped = top->token;
		pu1Result answer = library->calls.pop(&popped);
		if (answer != PU1_SUCCESS)
			result = answer;
		else if (popped != top->token)
			result = PU1_INVALID_OPERATION;
		stack->depth--;
	}
	return result;
}

pu1Result pu1_tokens_push(struct pu1_library *library, struct pu1_owner owner, uint64_t id)
{
	struct pu1_tokens *tokens = library->tokens;
	struct stack *stack = stack_of(library, true);
	if (!stack)
		return PU1_OUT_OF_MEMORY;
	pu1Result result = trim(library, stack);
	if (stack->depth == PU1_OPEN_MAX)
		return result;
	uint64_t number = atomic_fetch_add_explicit(&tokens->next, 1, memory_order_relaxed);
	uint64_t token = TOKEN_BASE | (number & ~TOKEN_MASK);
	struct entry *entry = &tokens->ring[number % PU1_TOKENS_COUNT];
	/* A seqlock: the first store precedes all others, and the last one follows all others.  Readers load in the
	 * same order. */
	atomic_store_explicit(&entry->token, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->id, id, memory_order_release);
	atomic_store_explicit(&entry->below, stack->depth ? stack->open[stack->depth - 1].token : 0, memory_order_release);
	atomic_store_explicit(&entry->owner, (uint64_t)owner.place << 32 | owner.run, memory_order_release);
	atomic_store_explicit(&entry->token, token, memory_order_release);
	pu1Result pushed = library->calls.push(token);
	if (pushed != PU1_SUCCESS)
		return pushed;
	stack->open[stack->depth++] = (struct open){ .token = token, .id = id, .owner = owner };
	return result;
}

pu1Result pu1_tokens_pop(struct pu1_library *library, struct pu1_owner owner, uint64_t id)
{
	struct stack *stack = stack_of(library, false);
	uint32_t at = stack ? stack->depth : 0;
	while (at && !(stack->open[at - 1].id == id && stack->open[at - 1].owner.place == owner.place &&
	               stack->open[at - 1].owner.run == owner.run))
		at--;
	/* The event has no token, because its thread's stack was full or because it began on another thread. */
	if (!at)
		return PU1_SUCCESS;
	for (uint32_t i = at - 1; i < stack->depth; i++) {
		struct open *open = &stack->open[i];
		open->ended |= open->owner.place == owner.place && open->owner.run == owner.run;
	}
	return trim(library, stack);
}

/* ---- looking up ---- */

bool pu1_tokens_is_own(uint64_t external_id)
{
	return (external_id & TOKEN_MASK) == TOKEN_BASE;
}

uint64_t pu1_tokens_find(struct pu1_tokens *tokens, uint64_t external_id, struct pu1_owner owner, bool *inferred)
{
	*inferred = false;
	uint64_t token = external_id;
	for (uint32_t i = 0; i < PU1_OPEN_MAX && pu1_tokens_is_own(token); i++) {
		struct entry *entry = &tokens->ring[(token & ~TOKEN_MASK) % PU1_TOKENS_COUNT];
		if (atomic_load_explicit(&entry->token, memory_order_acquire) != token)
			return 0;
		uint64_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
		uint64_t below = atomic_load_explicit(&entry->below, memory_order_acquire);
		uint64_t whose = atomic_load_explicit(&entry->owner, memory_order_acquire);
		if (atomic_load_explicit(&entry->token, memory_order_relaxed) != token)
			return 0;
		if (whose == ((uint64_t)owner.place << 32 | owner.run))
			return id;
		*inferred = true;
		token = below;
	}
	return 0;
}
