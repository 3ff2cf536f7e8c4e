"""One host of the matrix, with all plugins at once: matrix_host.py HOST.

Each plugin in turn is given work inside an event of the host's that is named after it.  What the host's own output has of that
is printed, as JSON: {"version": ..., "cells": {plugin: {"span": [start_ns, end_ns], "units": [unit, ...]}}}.  A unit is one
kernel: {"start_ns", "duration_ns", "error_ns", "stream", "host", "call", "number"}, of which the last three say what the file
joins it to: an event of the host's, a call of the plugin's, and the number that the plugin gave it.
"""
import contextlib
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import interop
import matrix

UNIT, CALL = "relu", "sampleLaunch"
OUT = Path(os.environ["MATRIX_OUT"])


def give_work(plugin):
    assert ctypes.CDLL(matrix.library(plugin)).epp_sample_work(matrix.COUNT) == 0


def cells(spans, units):
    """Units by the plugin in whose span they begin; the spans are apart from each other."""
    return {plugin: {"span": span, "units": [unit for unit in units if span[0] - unit["error_ns"] <= unit["start_ns"] <=
                                             span[1] + unit["error_ns"]]} for plugin, span in spans.items()}


def unit_of(start_ns, duration_ns, stream, error_ns=0, host=None, call=None, number=None):
    return {"start_ns": start_ns, "duration_ns": duration_ns, "error_ns": error_ns, "stream": stream, "host": host,
            "call": call, "number": number}


# ---- a host of epprof's ----


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("defaults", ctypes.c_uint64 * 8)]


def run_epprof():
    epprof = ctypes.CDLL(interop.library("libepprof"))
    path = OUT / "epprof.epp"
    session, plugin, profiler = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for name in ("epp_session_create", "epp_plugin_load", "epp_plugin_profiler_create", "epp_session_attach",
                 "epp_session_start", "epp_session_end", "epp_session_wait"):
        getattr(epprof, name).restype = ctypes.c_void_p  # a status; none is wanted
    epprof.epp_event_begin.restype = ctypes.c_uint64
    options = SessionOptions(ctypes.sizeof(SessionOptions), str(path).encode())
    assert not epprof.epp_session_create(ctypes.byref(options), ctypes.byref(session))
    for kind in matrix.PLUGINS:
        assert not epprof.epp_plugin_load(matrix.library(kind).encode(), ctypes.byref(plugin))
        assert not epprof.epp_plugin_profiler_create(plugin, ctypes.byref(profiler))
        assert not epprof.epp_session_attach(session, profiler, kind.encode())
    assert not epprof.epp_session_start(session)
    for kind in matrix.PLUGINS:
        event = epprof.epp_event_begin(session, 1, epprof.epp_name_intern(kind.encode()))
        give_work(kind)
        epprof.epp_event_end(session, ctypes.c_uint64(event), None, ctypes.c_size_t(0))
    assert not epprof.epp_session_end(session)
    epprof.epp_session_destroy(session)
    text = subprocess.run([interop.BUILD / "epprof", "convert", "-t", "ndjson", "-o", "-", path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    events = [event for event in map(json.loads, text.splitlines()) if event["kind"] == "slice"]
    calls = {event["args"]["correlation"]: event["name"] for event in events if event["name"] == CALL}
    hosts = {event["id"]: event["name"] for event in events if event["name"] in matrix.PLUGINS}
    spans = {event["name"]: (event["start_ns"], event["start_ns"] + event["duration_ns"]) for event in events
             if event["name"] in matrix.PLUGINS}
    units = [unit_of(event["start_ns"], event["duration_ns"], event["stream"], event["start_error_ns"],
                     hosts.get(event.get("parent")), calls.get(event["args"].get("correlation")),
                     event["args"].get("correlation", event["args"].get("correlation_id")))
             for event in events if event["name"] == UNIT]
    version = subprocess.run([interop.BUILD / "epprof", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return version.split()[-1], cells(spans, units)


# ---- ONNX Runtime ----


def run_onnxruntime():
    import numpy
    import onnxruntime
    from onnx import helper
    import ort
    nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name=kind) for i, kind in enumerate(matrix.PLUGINS)]
    model = ort.model_of(nodes, {"v0": (1,)}, {f"v{len(nodes)}": (1,)})
    with ort.Library("libepprof_ort", "epprof") as collector, ort.Library("tests/plugins/work_ep", "WorkEP") as work:
        session = ort.session(model, work, collector, profiled=True, prefix=OUT / "onnxruntime")
        session.run(None, {"v0": numpy.ones((1,), "f4")})
        path = session.end_profiling()
        del session
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    # They are fused to nodes with names of ONNX Runtime's making, which run in their order.
    ran = sorted((event for event in events if event["cat"] == "Node"), key=lambda event: event["ts"])
    spans = {kind: (event["ts"] * 1000, (event["ts"] + event["dur"] + 1) * 1000)
             for kind, event in zip(matrix.PLUGINS, ran, strict=True)}
    calls = {event["args"]["correlation"]: event["name"] for event in events if event["name"] == CALL}
    # ONNX Runtime's ids are the microseconds of the start, since the epoch; its times count from the profile's.
    ids = {int(event["args"]["ort_correlation_id"]) for event in events if "ort_correlation_id" in event["args"]}
    first = min(ids, default=0)
    known = {first + event["ts"] - ran[0]["ts"]: kind for kind, event in zip(matrix.PLUGINS, ran)}
    units = [unit_of(event["ts"] * 1000, event["dur"] * 1000, int(event["args"]["stream"]),
                     int(event["args"].get("error_ns", 0)) + 1000,
                     known.get(int(event["args"].get("ort_correlation_id", -1))),
                     calls.get(event["args"].get("correlation")),
                     event["args"].get("correlation", event["args"].get("correlation_id")))
             for event in events if event["name"] == UNIT]
    return onnxruntime.__version__, cells(spans, units)


# ---- TensorFlow and JAX, whose files are of one kind ----


def cells_of_xspace(events):
    """Events are (plane, name, start_ns, duration_ns, stats)."""
    hosts = [event for event in events if event[0] == "/host:CPU"]
    spans = {name: (start, start + duration) for _, name, start, duration, _ in hosts if name in matrix.PLUGINS}
    joined = {stats["correlation_id"]: name for _, name, _, _, stats in hosts if "correlation_id" in stats}
    units = []
    for plane, name, start, duration, stats in events:
        if name != UNIT or not plane.startswith("/device:"):
            continue
        number = stats.get("correlation_id")
        cause = joined.get(number)
        units.append(unit_of(start, duration, stats["stream"], stats["start_error_ns"],
                             cause if cause != CALL else None, cause if cause == CALL else None, number))
    return cells(spans, units)


def run_tensorflow():
    import tensorflow
    from tensorflow.python.framework.load_library import load_pluggable_device_library
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
    load_pluggable_device_library(interop.library("libepprof_tf"))
    tensorflow.profiler.experimental.start(str(OUT / "tensorflow"))
    for kind in matrix.PLUGINS:
        with tensorflow.profiler.experimental.Trace(kind):
            give_work(kind)
    tensorflow.profiler.experimental.stop()
    space = xplane_pb2.XSpace()
    (path,) = (OUT / "tensorflow").glob("**/*.xplane.pb")
    space.ParseFromString(path.read_bytes())
    assert not space.errors, space.errors
    events = []
    for plane in space.planes:
        names = {key: value.name for key, value in plane.event_metadata.items()}
        keys = {key: value.name for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                stats = {keys[stat.metadata_id]: getattr(stat, stat.WhichOneof("value")) for stat in event.stats}
                events.append((plane.name, names[event.metadata_id], line.timestamp_ns + event.offset_ps // 1000,
                               event.duration_ps // 1000, stats))
    return tensorflow.__version__, cells_of_xspace(events)


def run_jax():
    import jax
    jax.devices()  # it looks for plugins, and finds the bridge's package
    with jax.profiler.trace(str(OUT / "jax")):
        for kind in matrix.PLUGINS:
            with jax.profiler.TraceAnnotation(kind):
                give_work(kind)
    (path,) = (OUT / "jax").glob("**/*.xplane.pb")
    profile = jax.profiler.ProfileData.from_serialized_xspace(path.read_bytes())
    events = [(plane.name, event.name, round(event.start_ns), round(event.duration_ns), dict(event.stats))
              for plane in profile.planes for line in plane.lines for event in line.events]
    return jax.__version__, cells_of_xspace(events)


# ---- PyTorch ----


def run_pytorch():
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
    import torch_bridge
    torch_bridge.make()
    torch.utils.rename_privateuse1_backend("sample")
    torch.ops.load_library(torch_bridge.PATH)

    @torch.library.custom_op("sample::work", mutates_args=())
    def work(x: torch.Tensor, kind: str) -> torch.Tensor:
        give_work(kind)
        return x.clone()

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
        for kind in matrix.PLUGINS:
            with record_function(kind):
                torch.ops.sample.work(torch.ones(1), kind)
    path = OUT / "pytorch.json"
    profiled.export_chrome_trace(str(path))
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans, ops = {}, {}
    for event in sorted((event for event in events if event.get("cat") in ("user_annotation", "cpu_op")),
                        key=lambda event: event["ts"]):
        if event["name"] in matrix.PLUGINS:
            spans[event["name"]] = (round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000))
            inside = event["name"]
        elif event["name"] == "sample::work":
            ops[event["args"]["External id"]] = inside
    arrows = {phase: {event["id"] for event in events if event["ph"] == phase and event.get("cat") == "ac2g"}
              for phase in "sf"}
    calls = {event["args"]["correlation"]: event["name"] for event in events if event["name"] == CALL}
    units = []
    for event in events:
        if event.get("cat") != "kernel" or event["name"] != UNIT:
            continue
        args = event["args"]
        units.append(unit_of(round(event["ts"] * 1000), round(event["dur"] * 1000), args["stream"],
                             args["error (ns)"] + 1, ops.get(args.get("External id")),
                             calls.get(args.get("correlation")), args.get("correlation", args.get("correlation_id"))))
    assert arrows["s"] == arrows["f"], "arrows that lead nowhere"
    averages = {average.key: average.self_device_time_total for average in profiled.key_averages()}
    return torch.__version__, cells(spans, units), averages["sample::work"]


HOSTS = {"epprof": run_epprof, "onnxruntime": run_onnxruntime, "tensorflow": run_tensorflow, "pytorch": run_pytorch,
         "jax": run_jax}


def main(host):
    with contextlib.redirect_stdout(sys.stderr):
        version, found, *more = HOSTS[host]()
    json.dump({"version": version, "cells": found, "more": more}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
