#!/usr/bin/env python3
"""The sample plugin in TensorFlow itself: loaded as a pluggable device library, profiled, and read back with TensorFlow's own
XSpace; and in one process with libepprof, which must then share TensorFlow's statuses with it."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.TENSORFLOW)

COUNT = 300
PLANE = "/device:CUSTOM:ACCELERATOR:0"

# A process of its own for each way in: TensorFlow registers a plugin once and never forgets it.
PROFILE = """
import ctypes, os, sys
library, logs, way = sys.argv[1:]
if way == "environment":
    os.environ["TF_PLUGGABLE_DEVICE_LIBRARY_PATH"] = library
import tensorflow as tf
if way == "call":
    from tensorflow.python.framework.load_library import load_pluggable_device_library
    load_pluggable_device_library(library)
work = ctypes.CDLL(library).epp_sample_work
for run in range(2):
    tf.profiler.experimental.start(os.path.join(logs, str(run)))
    assert work(%d) == 0
    tf.profiler.experimental.stop()
    assert work(7) == 0
""" % COUNT

# libepprof loads the plugin that fails at its start with TF_SetStatus, in a process that holds TensorFlow.
SHARED = """
import ctypes, sys
import tensorflow as tf
epprof, plugin = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
epprof.epp_plugin_load.restype = epprof.epp_tf_shim_load.restype = ctypes.c_void_p
epprof.epp_status_message.restype = ctypes.c_char_p
epprof.epp_status_message.argtypes = [ctypes.c_void_p]
assert not epprof.epp_tf_shim_load(None)
assert "epprof_tf_shim" not in open("/proc/self/maps").read(), "the shim was loaded beside TensorFlow"
for name in sys.argv[2:]:
    status = epprof.epp_plugin_load(name.encode(), ctypes.byref(plugin))
    print(epprof.epp_status_message(status).decode() if status else "loaded")
"""


def run(script, *arguments, **environment):
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **environment})
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def spaces(logs):
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
    for index in range(2):
        files = list(Path(logs, str(index)).glob("**/*.xplane.pb"))
        assert len(files) == 1, files
        space = xplane_pb2.XSpace()
        space.ParseFromString(files[0].read_bytes())
        yield space


class Plugin(unittest.TestCase):
    def profile(self, way):
        with tempfile.TemporaryDirectory() as logs:
            run(PROFILE, interop.library("libsample_tf_ep"), logs, way)
            for space in spaces(logs):
                self.assertEqual(list(space.errors), [])
                planes = [plane for plane in space.planes if plane.name == PLANE]
                self.assertEqual(len(planes), 1)
                self.look_at(planes[0])

    def look_at(self, plane):
        names = {key: value.name for key, value in plane.event_metadata.items()}
        stats = {key: value.name for key, value in plane.stat_metadata.items()}
        events = [(line, event) for line in plane.lines for event in line.events]
        self.assertEqual(len(events), COUNT)
        self.assertEqual({names[event.metadata_id] for _, event in events}, {"relu"})
        self.assertEqual([len(line.events) for line in plane.lines if line.events], [COUNT // 2, COUNT // 2])
        correlations = {stat.uint64_value for _, event in events for stat in event.stats
                        if stats[stat.metadata_id] == "correlation_id"}
        self.assertEqual(len(correlations), COUNT)
        for line, event in events:
            # TensorFlow has taken the session's start off: what lay before it would be left as it was.
            self.assertLess(line.timestamp_ns, 60 * 10**9)
            self.assertGreaterEqual(event.offset_ps, 0)
            self.assertGreater(event.duration_ps, 0)

    def test_loaded_by_a_call(self):
        self.profile("call")

    def test_loaded_by_the_environment(self):
        self.profile("environment")

    def test_libepprof_beside_tensorflow(self):
        told = run(SHARED, interop.library("libepprof"), interop.library("libsample_tf_ep"),
                   interop.library("tests/plugins/tf_needs"), interop.library("tests/plugins/tf_fault"), TF_FAULT="init")
        self.assertEqual(told.splitlines(), [
            "loaded", "loaded", 'tf_fault.so: TF_InitProfiler: code 13: the "device" is\tgone'])


interop.main()
