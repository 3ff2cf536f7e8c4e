/* What one operation costs in the bridge into PyTorch: its callback, and begin and end of the event, which a second
 * callback calls as PyTorch's profiler would.  The same callbacks with nothing in them are taken off.  Prints
 * nanoseconds, the least of several rounds; check_kineto.py builds and runs it. */
#include <ATen/record_function.h>

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "bridges/pytorch/kineto_ops.h"

static constexpr int OPS = 20000;
static constexpr int ROUNDS = 50;

static epp_session *session;

static std::unique_ptr<at::ObserverContext> nothing(const at::RecordFunction &)
{
	return nullptr;
}

static void nothing_ends(const at::RecordFunction &, at::ObserverContext *)
{
}

static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &)
{
	kineto_ops::begin(session, EPP_NODE, 17);
	return nullptr;
}

static void end(const at::RecordFunction &, at::ObserverContext *)
{
	kineto_ops::end(session);
}

static double round_ns()
{
	static const char *const names[] = { "aten::relu", "aten::mm", "aten::add_", "aten::linear" };
	auto from = std::chrono::steady_clock::now();
	for (int i = 0; i < OPS; i++) {
		at::RecordFunction guard(at::RecordScope::FUNCTION);
		if (guard.isActive())
			guard.before(std::string_view(names[i % 4]), i);
	}
	return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count() / OPS;
}

int main()
{
	double none = 1e9, ours = 1e9;
	epp_session_options options = {};
	options.struct_size = sizeof(options);
	if (epp_session_create(&options, &session) || epp_session_start(session))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		auto first = at::addGlobalCallback(at::RecordFunctionCallback(nothing));
		auto second = at::addGlobalCallback(at::RecordFunctionCallback(nothing, nothing_ends));
		none = std::min(none, round_ns());
		at::removeCallback(first);
		at::removeCallback(second);
		kineto_ops::attach();
		second = at::addGlobalCallback(at::RecordFunctionCallback(begin, end));
		ours = std::min(ours, round_ns());
		at::removeCallback(second);
		kineto_ops::detach();
		usleep(2000); /* for the helper, which else would be too slow on a busy machine */
	}
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT; reason++)
		if (epp_session_lost(session, (epp_loss)reason)) {
			fprintf(stderr, "events were lost\n");
			return 1;
		}
	printf("%.0f\n", ours - none);
	return 0;
}
