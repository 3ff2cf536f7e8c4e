#!/usr/bin/env python3
"""What the collector adds to a profiled run in ONNX Runtime: bench_onnxruntime.py BUILD

A model of 2,000 tiny nodes runs by turns in profiled sessions that differ in their profiler: none, one that does nothing, one
that asks for every arg there is, and the collector.  A figure is the median, over the turns, of what one took more than the one
without, in processor time of its thread, since others may use the machine; the middle half of the turns stands behind it.  Past
its bound it is marked SHORT.

The bound is on what a profiled run is to whoever asks for one: it runs, and its profile is there, which ONNX Runtime writes as
text in the end.  Without that a profile is of no use, and whatever is beside the collector pays for it, too.  What the collector
adds to the runs alone, until then, is a part of the same nanoseconds in less time; it is shown without a bound, as are the time
on the wall, what epprof's thread does meanwhile, and what of it all is ONNX Runtime's own: that it calls a profiler and answers.
Exit status: 1 if SHORT, else 0.
"""
import os
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

NODES = 2000
TURNS = 40
WARM_UP = 2
RUNS = 3
# A profiled run of 1.29 or older takes half the time: its events have fewer args.
BOUND_PERCENT = 8.0 if tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 30) else 12.0
PROFILERS = {"epprof": "libepprof_ort.so", "null": "tests/plugins/null_ep.so", "asking": "tests/plugins/asking_ep.so"}


def chain():
    nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(NODES)]
    ends = [[helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [4])] for i in (0, NODES)]
    model = helper.make_model(helper.make_graph(nodes, "chain", *ends), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def session(model, directory, devices=()):
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f"{directory}/profile"
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    if devices:
        options.add_provider_for_devices(devices, {})
    return onnxruntime.InferenceSession(model, options)


def timed(work):
    """What work returns, and seconds of this thread, of the other ones and on the wall."""
    wall, thread, process = time.perf_counter(), time.thread_time(), time.process_time()
    result = work()
    thread, process = time.thread_time() - thread, time.process_time() - process
    return result, (thread, process - thread, time.perf_counter() - wall)


def turn(model, feeds, directory, devices):
    """A session's runs, and the same runs with the profile written, as timed has them.  One session at a time: several that keep
    their profiles meanwhile have a page fault for every other node, where this one has the memory that the last gave back."""
    each = session(model, directory, devices)
    _, runs = timed(lambda: [each.run(None, feeds) for _ in range(RUNS)])
    profile, writing = timed(each.end_profiling)
    os.remove(profile)
    return runs, tuple(map(sum, zip(runs, writing)))


def turns(take_turn, devices):
    """{name: [the runs of each turn]}, {name: [the same with the profile]}; every other turn goes backwards."""
    took = {name: [] for name in devices}
    for number in range(WARM_UP + TURNS):
        for name in list(devices)[::-1 if number % 2 else 1]:
            took[name].append(take_turn(devices[name]))
    return ({name: [each[part] for each in all[WARM_UP:]] for name, all in took.items()} for part in (0, 1))


def more(took, name, what=0):
    """What one of this name took more than one without a profiler: seconds, and the quartiles in percent."""
    pairs = [(alone[what], beside[what]) for alone, beside in zip(took["none"], took[name])]
    quartiles = statistics.quantiles([(beside / alone - 1) * 100 for alone, beside in pairs])
    return statistics.median(beside - alone for alone, beside in pairs), quartiles


def row(case, seconds, nodes, quartiles=None, note=""):
    percent = f"{quartiles[1]:8.1f}%  {f'{quartiles[0]:.1f} to {quartiles[2]:.1f}':14}" if quartiles else ""
    print(f"{case:52} {seconds / nodes * 1e9:6.0f} ns {percent} {note}".rstrip())


def main(build):
    with tempfile.TemporaryDirectory(prefix="epprof-bench-") as directory:
        os.environ["EPPROF_OUTPUT"] = f"{directory}/bench.epp"
        onnxruntime.set_default_logger_severity(3)
        for name, library in PROFILERS.items():
            onnxruntime.register_execution_provider_library(name, os.path.abspath(f"{build}/{library}"))
        devices = {"none": [], **{name: [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
                                  for name in ("null", "asking", "epprof")}}
        model, feeds = chain(), {"v0": numpy.ones(4, "f4")}
        runs, wholes = turns(lambda of: turn(model, feeds, directory, of), devices)
    added, quartiles = more(wholes, "epprof")
    verdict = "ok" if quartiles[1] <= BOUND_PERCENT else "SHORT"
    nodes = RUNS * NODES
    print(f"{f'ONNX Runtime {onnxruntime.__version__}, {NODES:,} nodes':52} {'a node':>9} {'adds':>9}  {'half of them':14} bound")
    row("a profiled run, its profile written", statistics.median(thread for thread, _, _ in wholes["none"]), nodes)
    row("the collector", added, nodes, quartiles, f"{BOUND_PERCENT:.1f}%  {verdict}")
    row("... by the clock on the wall", more(wholes, "epprof", 2)[0], nodes, more(wholes, "epprof", 2)[1])
    row("... meanwhile, on epprof's own thread", statistics.mean(others for _, others, _ in wholes["epprof"]), nodes)
    row("of it the run alone", statistics.median(thread for thread, _, _ in runs["none"]), nodes)
    for case, name, what in (("the collector", "epprof", 0), ("... by the clock on the wall", "epprof", 2),
                             ("ONNX Runtime's own: a profiler that does nothing", "null", 0),
                             ("... that asks for every arg, and keeps none", "asking", 0)):
        row(case, more(runs, name, what)[0], nodes, more(runs, name, what)[1])
    return 0 if quartiles[1] <= BOUND_PERCENT else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    sys.exit(main(sys.argv[1]))
