"""One framework with plugins of which some hang: hanging_host.py HOST.

The plugin that works is given COUNT units of work while a profile is on, twice.  Prints JSON for each of the two profiles:
{"start_s", "stop_s", "units"}, how long the framework's calls took and how many units its own output has.
"""
import ctypes
import json
import os
import sys
import time
from pathlib import Path

import interop

COUNT = 300
OUT = Path(os.environ.get("HANGING_OUT", "."))


def give_work():
    assert ctypes.CDLL(interop.library("libsample_pu1_ep")).epp_sample_work(COUNT) == 0


def timed(call, *args):
    before = time.monotonic()
    result = call(*args)
    return time.monotonic() - before, result


def run_onnxruntime():
    import numpy
    from onnx import helper
    import ort
    model = ort.model_of([helper.make_node("Neg", ["x"], ["y"], name="pu1")], {"x": (1,)}, {"y": (1,)})
    with ort.Library("libepprof_ort", "epprof") as collector, ort.Library("tests/plugins/work_ep", "WorkEP") as work:
        for number in range(2):
            start_s, session = timed(lambda: ort.session(model, work, collector, profiled=True, prefix=OUT / f"run{number}"))
            session.run(None, {"x": numpy.ones((1,), "f4")})
            stop_s, path = timed(session.end_profiling)
            del session
            with open(path, encoding="utf-8") as file:
                yield start_s, stop_s, sum(event["name"] == "relu" for event in json.load(file))


def run_tensorflow():
    import tensorflow
    from tensorflow.python.framework.load_library import load_pluggable_device_library
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
    load_pluggable_device_library(interop.library("libepprof_tf"))
    for number in range(2):
        start_s, _ = timed(tensorflow.profiler.experimental.start, str(OUT / f"run{number}"))
        give_work()
        stop_s, _ = timed(tensorflow.profiler.experimental.stop)
        space = xplane_pb2.XSpace()
        (path,) = (OUT / f"run{number}").glob("**/*.xplane.pb")
        space.ParseFromString(path.read_bytes())
        yield start_s, stop_s, sum(plane.event_metadata[event.metadata_id].name == "relu" for plane in space.planes
                                   if plane.name.startswith("/device:") for line in plane.lines for event in line.events)


def run_jax():
    import jax
    jax.devices()  # it looks for plugins, and finds the bridge's package
    for number in range(2):
        start_s, _ = timed(jax.profiler.start_trace, str(OUT / f"run{number}"))
        give_work()
        stop_s, _ = timed(jax.profiler.stop_trace)
        (path,) = (OUT / f"run{number}").glob("**/*.xplane.pb")
        profile = jax.profiler.ProfileData.from_serialized_xspace(path.read_bytes())
        yield start_s, stop_s, sum(event.name == "relu" for plane in profile.planes if plane.name.startswith("/device:")
                                   for line in plane.lines for event in line.events)


def run_pytorch():
    import torch
    from torch.profiler import ProfilerActivity, profile
    import torch_bridge
    torch_bridge.make()
    torch.utils.rename_privateuse1_backend("sample")
    # What torch's profiler does at its first start takes seconds, and is not the bridge's.
    with profile(activities=[ProfilerActivity.CPU]):
        pass
    torch.ops.load_library(torch_bridge.PATH)
    for number in range(2):
        profiled = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
        start_s, _ = timed(profiled.__enter__)
        give_work()
        stop_s, _ = timed(profiled.__exit__, None, None, None)
        path = OUT / f"run{number}.json"
        profiled.export_chrome_trace(str(path))
        with open(path, encoding="utf-8") as file:
            yield start_s, stop_s, sum(event["name"] == "relu" for event in json.load(file)["traceEvents"])


RUNS = {"onnxruntime": run_onnxruntime, "tensorflow": run_tensorflow, "pytorch": run_pytorch, "jax": run_jax}

if __name__ == "__main__":
    print(json.dumps([{"start_s": start_s, "stop_s": stop_s, "units": units}
                      for start_s, stop_s, units in RUNS[sys.argv[1]]()]))
