#!/usr/bin/env python3
"""What the collector adds to a profiled run in ONNX Runtime: bench_onnxruntime.py libepprof_ort.so

A model of 2,000 tiny nodes runs in two profiled sessions by turns, one of them with the collector.  The figure is the median of
what a run took longer than the one before it, and is marked SHORT past its bound.  Exit status: 1 then, else 0.
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
PAIRS = 100
WARM_UP = 5
BOUND_PERCENT = 5.0


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


def timed(each, feeds):
    began = time.perf_counter()
    each.run(None, feeds)
    return time.perf_counter() - began


def main(library):
    with tempfile.TemporaryDirectory(prefix="epprof-bench-") as directory:
        os.environ["EPPROF_OUTPUT"] = f"{directory}/bench.epp"
        onnxruntime.set_default_logger_severity(3)
        onnxruntime.register_execution_provider_library("epprof", os.path.abspath(library))
        collector = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "epprof"]
        model, feeds = chain(), {"v0": numpy.ones(4, "f4")}
        without, beside = session(model, directory), session(model, directory, collector)
        pairs = [(timed(without, feeds), timed(beside, feeds)) for _ in range(PAIRS + WARM_UP)][WARM_UP:]
        without.end_profiling()
        beside.end_profiling()
    alone_us = statistics.median(alone for alone, _ in pairs) / NODES * 1e6
    percent = (statistics.median(both / alone for alone, both in pairs) - 1) * 100
    verdict = "ok" if percent <= BOUND_PERCENT else "SHORT"
    print(f"{'case':44} {'median':>9} {'bound':>9}")
    print(f"{f'collector in ONNX Runtime {onnxruntime.__version__}':44} {percent:8.1f}% {BOUND_PERCENT:8.1f}%  {verdict}"
          f"  (a profiled node without it: {alone_us:.2f} us)")
    return 0 if percent <= BOUND_PERCENT else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    sys.exit(main(sys.argv[1]))
