#!/usr/bin/env python3
"""What the collector adds to a profiled run in ONNX Runtime: bench_onnxruntime.py BUILD

A model of 2,000 tiny nodes runs by turns in profiled sessions that differ in their profiler: none, one that does nothing, one
that asks for the args that the collector keeps, and the collector.  So the first rows are ONNX Runtime's own part.  A figure is
the median, over the turns, of what a run took more than the one without, in processor time of its thread, since others may use
the machine.  Past its bound it is marked SHORT.

The bound is on the runs alone.  A row of its own counts what ends them, too: ONNX Runtime writes its profile.  What epprof's
thread does meanwhile, and what the runs took by the clock on the wall, are rows without a bound.  Exit status: 1 if SHORT, else 0.
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
TURNS = 60
WARM_UP = 5
WHOLE_TURNS = 15
WHOLE_RUNS = 3
BOUND_PERCENT = 5.0
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
    """Seconds of this thread, of the other ones and on the wall."""
    wall, thread, process = time.perf_counter(), time.thread_time(), time.process_time()
    work()
    thread, process = time.thread_time() - thread, time.process_time() - process
    return thread, process - thread, time.perf_counter() - wall


def turns(works, count, warm_up):
    """{name: [what each turn took]}"""
    took = [{name: timed(work) for name, work in works.items()} for _ in range(warm_up + count)][warm_up:]
    return {name: [turn[name] for turn in took] for name in works}


def more(took, name, what=0):
    """What a run of this name took more than one without a profiler: seconds, and percent."""
    pairs = [(alone[what], beside[what]) for alone, beside in zip(took["none"], took[name])]
    return (statistics.median(beside - alone for alone, beside in pairs),
            (statistics.median(beside / alone for alone, beside in pairs) - 1) * 100)


def row(case, seconds, nodes, percent=None, note=""):
    print(f"{case:52} {seconds / nodes * 1e9:6.0f} ns {'' if percent is None else f'{percent:8.1f}%':9} {note}".rstrip())


def whole(model, feeds, directory, devices):
    """A session's runs up to the profile, as something to time."""
    each = session(model, directory, devices)
    each.run(None, feeds)

    def work():
        for _ in range(WHOLE_RUNS):
            each.run(None, feeds)
        os.remove(each.end_profiling())
    return work


def main(build):
    with tempfile.TemporaryDirectory(prefix="epprof-bench-") as directory:
        os.environ["EPPROF_OUTPUT"] = f"{directory}/bench.epp"
        onnxruntime.set_default_logger_severity(3)
        for name, library in PROFILERS.items():
            onnxruntime.register_execution_provider_library(name, os.path.abspath(f"{build}/{library}"))
        devices = {"none": [], **{name: [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
                                  for name in ("null", "asking", "epprof")}}
        model, feeds = chain(), {"v0": numpy.ones(4, "f4")}
        sessions = {name: session(model, directory, of) for name, of in devices.items()}
        runs = turns({name: lambda each=each: each.run(None, feeds) for name, each in sessions.items()}, TURNS, WARM_UP)
        for each in sessions.values():
            os.remove(each.end_profiling())
        wholes = {"none": [], "epprof": []}
        for _ in range(WHOLE_TURNS):
            for name, took in wholes.items():
                took.append(timed(whole(model, feeds, directory, devices[name])))
    percent = more(runs, "epprof")[1]
    verdict = "ok" if percent <= BOUND_PERCENT else "SHORT"
    print(f"{f'ONNX Runtime {onnxruntime.__version__}, {NODES:,} nodes':52} {'a node':>9} {'adds':>9}  bound")
    row("a profiled run", statistics.median(thread for thread, _, _ in runs["none"]), NODES)
    row("ONNX Runtime's own: a profiler that does nothing", *(more(runs, "null")[0], NODES, more(runs, "null")[1]))
    row("... that asks for the args, and keeps none", more(runs, "asking")[0], NODES, more(runs, "asking")[1])
    row("the collector", more(runs, "epprof")[0], NODES, percent, f" {BOUND_PERCENT:.1f}%  {verdict}")
    row("... by the clock on the wall", more(runs, "epprof", 2)[0], NODES, more(runs, "epprof", 2)[1])
    row("... with the profile that ONNX Runtime writes", more(wholes, "epprof")[0], WHOLE_RUNS * NODES, more(wholes, "epprof")[1])
    row("... meanwhile, on epprof's own thread", statistics.mean(others for _, others, _ in wholes["epprof"]), WHOLE_RUNS * NODES)
    return 0 if percent <= BOUND_PERCENT else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    sys.exit(main(sys.argv[1]))
