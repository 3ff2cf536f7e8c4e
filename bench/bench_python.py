#!/usr/bin/env python3
"""What an event costs a Python program: bench_python.py BUILD

Prints nanoseconds for each event, begin and end, without the loop; the least of many short turns, because other programs
disturb the rest.  Beside it are viztracer's and PyTorch's ways to record an event of one's own, where these are installed.
"nothing records" is the least that a `with` of an object made in C costs.  An event past the bound is marked SHORT.  Exit
status: 1 if SHORT, else 0.
"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(sys.argv[1], "python"))
import epprof

EVENTS = 5000
TURNS = 200
BOUND_NS = 250


def cost_ns(function):
    """The nanoseconds of one event of a function that is given a range to iterate over."""
    def least(called):
        times = []
        for _ in range(TURNS):
            start = time.perf_counter_ns()
            called(range(EVENTS))
            times.append(time.perf_counter_ns() - start)
        return min(times)
    return (least(function) - least(empty)) / EVENTS


def empty(turns):
    for _ in turns:
        pass


def with_event(turns):
    event = epprof.event
    for _ in turns:
        with event("tokenize"):
            pass


def with_arg(turns):
    event = epprof.event
    for _ in turns:
        with event("tokenize", batch=8):
            pass


def with_args(turns):
    event = epprof.event
    for _ in turns:
        with event("tokenize", batch=8, rows=16, text="abc"):
            pass


def begin_and_end(turns):
    begin, end = epprof.event_begin, epprof.event_end
    for _ in turns:
        end(begin("tokenize"))


def viztracer_ns():
    import viztracer
    tracer = viztracer.VizTracer(log_sparse=True, verbose=0)

    def events(turns):
        log = tracer.log_event
        for _ in turns:
            with log("tokenize"):
                pass
        tracer.clear()
    tracer.enable = True
    return cost_ns(events)


def torch_ns():
    import torch

    def events(turns):
        record = torch.profiler.record_function
        for _ in turns:
            with record("tokenize"):
                pass
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return cost_ns(events)


def main():
    rows = [("event, nothing records", cost_ns(with_event))]
    with tempfile.TemporaryDirectory() as folder, epprof.session(folder + "/bench.epp", buffer_bytes=256 << 20) as session:
        bounded = [("event", cost_ns(with_event)), ("event with an arg", cost_ns(with_arg)), ("event with 3 args", cost_ns(with_args)),
                   ("event_begin and event_end", cost_ns(begin_and_end))]
        lost = session.lost()
    rows += bounded
    for name, function in ("viztracer log_event", viztracer_ns), ("torch.profiler.record_function", torch_ns):
        try:
            rows.append((name, function()))
        except ImportError:
            pass
    for name, value in rows:
        short = (name, value) in bounded and value > BOUND_NS
        print(f"{name:32} {value:8.0f} ns{f'   SHORT of {BOUND_NS}' if short else ''}")
    print(f"{'events lost':32} {lost:8}")
    sys.exit(1 if any(value > BOUND_NS for _, value in bounded) else 0)


if __name__ == "__main__":
    main()
