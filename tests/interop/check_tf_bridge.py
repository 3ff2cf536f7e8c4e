#!/usr/bin/env python3
"""libepprof_tf.so in TensorFlow itself: loaded as a pluggable device library it carries plugins of every kind into TensorFlow's
profiler; read back with TensorFlow's own XSpace."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import environment
import interop

interop.in_each_environment(interop.TENSORFLOW)
import host_operations
from host_operations import Traced, WORK

COUNT = 300

# A process of its own for each way in: TensorFlow registers a library once and never forgets it.
PROFILE = """
import ctypes, os, sys
library, logs, way, sessions, count = sys.argv[1:]
if way == "environment":
    os.environ["TF_PLUGGABLE_DEVICE_LIBRARY_PATH"] = library
import tensorflow as tf
if way != "environment":
    from tensorflow.python.framework.load_library import load_pluggable_device_library
    load_pluggable_device_library(library)
    if way == "twice":
        load_pluggable_device_library(library)
plugins = [ctypes.CDLL(path) for path in os.environ.get("SAMPLES", "").split(":") if path]
for run in range(int(sessions)):
    tf.profiler.experimental.start(os.path.join(logs, str(run)))
    for plugin in plugins:
        assert plugin.epp_sample_work(int(count)) == 0
    tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
    tf.profiler.experimental.stop(save=run != 1)  # what is thrown away must not come back
    for plugin in plugins:
        assert plugin.epp_sample_work(7) == 0
"""

FIT = """
import sys
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = tf.random.normal((64, 4)), tf.random.normal((64, 1))
tf.profiler.experimental.start(sys.argv[1])
model.fit(x, y, epochs=1, verbose=0)
tf.profiler.experimental.stop()
"""

# A model with a layer whose operation gives the sample work, fitted in two batches.
KERAS = """
import epprof_tensorflow
import tensorflow as tf
class Work(tf.keras.layers.Layer):
    def call(self, x):
        y = tf.numpy_function(host, [x], tf.float32)
        y.set_shape(x.shape)
        return x + 0 * tf.stop_gradient(y)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), Work(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = tf.random.normal((64, 4)), tf.random.normal((64, 1))
for run in range(int(sys.argv[2])):
    tf.profiler.experimental.start(os.path.join(sys.argv[1], str(run)))
    model.fit(x, y, epochs=1, verbose=0)
    tf.profiler.experimental.stop()
"""


def run(way, sessions, plugins, samples=None, count=COUNT, library=interop.library("libepprof_tf"), **environment):
    """Returns what TensorFlow wrote for each session, and what it logged."""
    with tempfile.TemporaryDirectory() as logs:
        given = {**os.environ, "EPPROF_PROFILERS": ":".join(plugins), "SAMPLES": ":".join(samples or plugins), **environment}
        done = subprocess.run(
            [sys.executable, "-c", PROFILE, library, logs, way, str(sessions), str(count)],
            capture_output=True, text=True, errors="replace", check=False, env=given)
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return [space_of(Path(logs, str(index))) for index in range(sessions)], done.stderr


def space_of(logs):
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
    space = xplane_pb2.XSpace()
    for file in logs.glob("**/*.xplane.pb"):
        space.ParseFromString(file.read_bytes())
    return space


def sample(kind):
    return interop.library(f"libsample_{kind}_ep")


def events_of(space, name):
    """The events of this name on planes of devices."""
    found = []
    for plane in space.planes:
        numbers = {key for key, value in plane.event_metadata.items() if value.name == name}
        if plane.name.startswith("/device:"):
            found += [(plane, line, event) for line in plane.lines for event in line.events if event.metadata_id in numbers]
    return found


class Bridge(unittest.TestCase):
    def look_at(self, space, count=COUNT):
        events = events_of(space, "relu")
        self.assertEqual(len(events), count)
        for plane, _, _ in events:
            self.assertRegex(plane.name, r"^/device:CUSTOM:(sample_pu1_ep device 0|ACCELERATOR:0( \([\w.]+\))?)$")
        # Beside TensorFlow's own.
        hosts = [plane for plane in space.planes if plane.name == "/host:CPU"]
        self.assertEqual(len(hosts), 1)
        self.assertTrue(any("MatMul" in value.name for value in hosts[0].event_metadata.values()))
        for _, line, event in events:
            # TensorFlow has taken the session's start off: what lay before it would be left as it was.
            self.assertLess(line.timestamp_ns, 60 * 10**9)
            self.assertGreaterEqual(line.timestamp_ns, 0)
            self.assertGreater(event.duration_ps, 0)
        starts = {line.timestamp_ns * 1000 + event.offset_ps for _, line, event in events}
        self.assertGreater(len(starts), count // 2)

    def profile(self, kind, way="call"):
        spaces, log = run(way, 4, [sample(kind)])
        self.assertNotIn("EPPROF_PROFILERS", log)
        for index in 0, 2, 3:
            self.look_at(spaces[index])
        self.assertEqual(len(spaces[1].planes), 0)

    def test_pu1(self):
        self.profile("pu1")

    def test_pjrt(self):
        self.profile("pjrt")

    def test_tf(self):
        self.profile("tf")

    def test_loaded_by_the_environment(self):
        self.profile("pu1", "environment")

    def test_registered_twice_counts_once(self):
        self.profile("pu1", "twice")

    def test_all_together(self):
        # One for ONNX Runtime records the work of events that it is shown; here there are none.
        spaces, _ = run("call", 3, [sample(kind) for kind in ("ort", "pu1", "pjrt", "tf")],
                        [sample(kind) for kind in ("pu1", "pjrt", "tf")])
        for index in 0, 2:
            self.look_at(spaces[index], 3 * COUNT)

    def test_one_that_cannot_be_loaded_costs_only_itself(self):
        spaces, log = run("call", 1, ["/nowhere/libnone.so", interop.library("libepprof_tf"), sample("pu1")],
                          [sample("pu1")])
        self.look_at(spaces[0])
        self.assertIn("/nowhere/libnone.so", log)
        self.assertIn("is a bridge itself", log)

    def test_without_plugins_it_says_so_once(self):
        with tempfile.TemporaryDirectory() as folder:
            spaces, log = run("call", 3, [], EPPROF_OUTPUT=os.path.join(folder, "run.epp"))
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(log.count("EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin"), 1)
        self.assertEqual([plane.name for plane in spaces[2].planes if plane.name.startswith("/device:")], [])

    def test_with_an_output_it_is_in_both(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "run.epp")
            spaces, _ = run("call", 4, [sample("pu1"), sample("tf")], EPPROF_OUTPUT=output)
            for index in 0, 2, 3:
                self.look_at(spaces[index], 2 * COUNT)
            told = subprocess.run([str(interop.BUILD / "epprof"), "summary", "--by", "kernel", output], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(f"{4 * 2 * COUNT:,}".replace(",", ""), told.stdout.replace(",", ""))
            told = subprocess.run([str(interop.BUILD / "epprof"), "info", "--format", "json", output], capture_output=True, text=True,
                                  check=True)
            self.assertEqual(len(json.loads(told.stdout)["runs"]), 4)

    def test_a_copy_alone_in_a_folder(self):
        (space,), log = run("environment", 1, [sample("pu1")], library=interop.moved(interop.library("libepprof_tf")))
        self.look_at(space)
        self.assertNotIn("EPPROF", log)

    def test_devices_as_gpus_have_kernel_statistics(self):
        """In XProf, which knows kernels of GPUs alone."""
        (space,), _ = run("call", 1, [sample("pu1"), sample("tf")], EPPROF_DEVICE_PLANES="gpu")
        planes = {plane.name for plane, _, _ in events_of(space, "relu")}
        self.assertEqual(planes, {"/device:GPU:0", "/device:GPU:1"})
        rows = self.kernel_statistics(space.SerializeToString())
        self.assertEqual(rows["relu"]["occurrences"], 2 * COUNT)

    def kernel_statistics(self, space):
        """XProf's, by kernel."""
        try:
            python = environment.python_with(["xprof"])
        except environment.Unavailable as error:
            self.skipTest(str(error))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "host.xplane.pb")
            path.write_bytes(space)
            done = subprocess.run([python, interop.ROOT / "tests" / "interop" / "xprof_tool.py", path, "kernel_stats"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        answer = json.loads(done.stdout)
        columns = [column["id"] for column in answer["cols"]]
        return {row["kernel_name"]: row for row in (dict(zip(columns, (cell["v"] for cell in row["c"])))
                                                    for row in answer["rows"])}

    def test_a_gpu_that_a_plugin_reports_stays_one(self):
        """With what its plane states, in TensorFlow's profile and in what is made of the trace."""
        plugin = str(interop.BUILD / "tests" / "plugins" / "tf_calls.so")
        with tempfile.TemporaryDirectory() as folder:
            trace, again = Path(folder, "run.epp"), Path(folder, "again.xplane.pb")
            (space,), _ = run("call", 1, [plugin], [""], EPPROF_OUTPUT=str(trace))
            (gpu,) = [plane for plane in space.planes if plane.name == "/device:GPU:0"]
            names = {key: value.name for key, value in gpu.stat_metadata.items()}
            stats = {names[stat.metadata_id]: stat.str_value or stat.int64_value for stat in gpu.stats}
            self.assertEqual((stats["device_vendor"], stats["core_count"]), ("Nvidia", 108))
            subprocess.run([interop.BUILD / "epprof", "convert", "-t", "xspace", "-o", again, trace], check=True,
                           stderr=subprocess.DEVNULL)
            for written in space.SerializeToString(), again.read_bytes():
                rows = self.kernel_statistics(written)
                self.assertEqual(set(rows), {"gemm", "relu", "softmax", "nobody's"})
                self.assertEqual(rows["gemm"]["block_dim"], "64,1,1")

    def test_its_profile_is_imported_as_it_is(self):
        with tempfile.TemporaryDirectory() as logs:
            done = subprocess.run([sys.executable, "-c", FIT, logs], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            (file,) = Path(logs).glob("**/*.xplane.pb")
            events = interop.imported(file)
            space = space_of(Path(logs))
        expected = collections.Counter()
        for plane in space.planes:
            for line in plane.lines:
                for event in line.events:
                    start_ps = line.timestamp_ns * 1000 + event.offset_ps
                    start_ns, end_ns = start_ps // 1000, (start_ps + event.duration_ps) // 1000
                    entry = plane.event_metadata[event.metadata_id]
                    stats_count = len(event.stats) + len(entry.stats) + bool(entry.display_name)
                    expected[line.name, entry.display_name or entry.name, start_ns, end_ns - start_ns, stats_count] += 1
        found = collections.Counter((event["track_name"], event["name"], event["start_ns"], event["duration_ns"],
                                     len(event.get("args", {}))) for event in events if event["kind"] in ("slice", "instant"))
        self.assertGreater(sum(expected.values()), 100)
        self.assertEqual(found, expected)
        self.assertTrue(any(event["kind"] == "flow" for event in events))

    def test_what_the_page_shows(self):
        folder, log = interop.do_as_page(
            "docs/tensorflow.md", plugin=("/opt/vendor/libvendor_profiler.so", sample("pu1")),
            package=("/usr/local/lib/epprof/python", str(interop.BUILD / "python")),
            work=('start("logs")\n', 'start("logs")\nimport ctypes\n'
                  f"assert ctypes.CDLL({sample('pu1')!r}).epp_sample_work({COUNT}) == 0\n"),
            operations=('start("operations")\n', 'start("operations")\nimport ctypes\n'
                        'with tf.profiler.experimental.Trace("layer"):\n'
                        f"    assert ctypes.CDLL({sample('pu1')!r}).epp_sample_work({COUNT}) == 0\n"))
        self.assertNotIn("EPPROF", log)
        self.look_at(space_of(folder / "logs"))
        self.assertRegex(log, r"joined +[\d,]+ device events to the host event that caused them\n")
        for operation in "layer", "EagerLocalExecute: MatMul":
            self.assertRegex(log, rf" Node +{operation}\n")


def operations_of(folder):
    """TensorFlow's own of a session, but for what it got from the bridge."""
    space, found = space_of(folder), []
    (about,) = [plane for plane in space.planes if plane.name == "Task Environment"]
    (start_ns,) = [stat.uint64_value or stat.int64_value for stat in about.stats
                   if about.stat_metadata[stat.metadata_id].name == "profile_start_time"]
    for plane in space.planes:
        for line in plane.lines if plane.name == "/host:CPU" else []:
            for event in line.events if ": calls of " not in line.name else []:
                entry = plane.event_metadata[event.metadata_id]
                start_ps = line.timestamp_ns * 1000 + event.offset_ps
                found.append((line.name, entry.display_name or entry.name, start_ns + start_ps // 1000,
                              (start_ps + event.duration_ps) // 1000 - start_ps // 1000))
    return found


class HostOperations(unittest.TestCase):
    def test_each_session_has_its_own(self):
        traced = Traced(KERAS, "2")
        self.assertEqual(traced.log, [])
        together = collections.Counter()
        for run_ in 1, 2:
            expected = operations_of(traced.folder / str(run_ - 1))
            traced.look_at(self, expected, run_)
            together.update(name for _, name, _, _ in expected)
            self.assertEqual(len([kernel for kernel in traced.kernels(run_) if kernel["name"] == "relu"]), 2 * WORK)
        self.assertEqual(traced.names_in_summary(), together)

    def test_each_kernel_is_below_the_operation_that_launched_it(self):
        # The library may be there already, or a copy of it somewhere else.
        for way in {}, {"TF_PLUGGABLE_DEVICE_LIBRARY_PATH": interop.moved(interop.library("libepprof_tf"))}:
            traced = Traced(KERAS, "1", **way)
            self.assertEqual(len(traced.kernels()), 2 * (WORK + 3))
            for kernel in traced.kernels():
                self.assertEqual(traced.around(kernel)[0], "PyFunc")
                self.assertNotIn("flags", kernel)

    def test_threads_that_have_ended(self):
        traced = Traced(KERAS + """
import threading
def in_thread():
    with tf.profiler.experimental.Trace("in_thread"):
        host(x)
tf.profiler.experimental.start(os.path.join(sys.argv[1], "threads"))
for _ in range(3):
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
tf.profiler.experimental.stop()
""", "0")
        self.assertEqual([traced.around(kernel) for kernel in traced.kernels()], [["in_thread"]] * 3 * (WORK + 3))

    def test_a_context(self):
        traced = Traced(KERAS + """
with tf.profiler.experimental.Profile(os.path.join(sys.argv[1], "context")):
    model.fit(x, y, epochs=1, verbose=0)
""", "0")
        self.assertEqual(traced.log, [])
        traced.look_at(self, operations_of(traced.folder / "context"))
        self.assertEqual({traced.around(kernel)[0] for kernel in traced.kernels()}, {"PyFunc"})

    def test_what_is_thrown_away_has_none(self):
        traced = Traced(KERAS + """
tf.profiler.experimental.start("")
host(x)
tf.profiler.experimental.stop(save=False)
tf.profiler.experimental.start(os.path.join(sys.argv[1], "last"))
host(x)
tf.linalg.matmul(x, x, transpose_a=True)
tf.profiler.experimental.stop()
""", "1")
        self.assertEqual(traced.log, [])
        self.assertEqual([bool(traced.operations(run_)) for run_ in (1, 2, 3)], [True, False, True])
        self.assertEqual([bool(traced.kernels(run_)) for run_ in (1, 2, 3)], [True, True, True])

    def test_switched_off(self):
        traced = Traced(KERAS, "1", EPPROF_HOST_OPERATIONS="0")
        self.assertEqual((traced.log, traced.operations()), ([], []))
        self.assertEqual(len(traced.kernels()), 2 * (WORK + 3))

    def test_a_profile_that_cannot_be_read_costs_only_operations(self):
        traced = Traced(host_operations.DAMAGE + KERAS, "2")
        self.assertEqual(traced.operations(), [])
        self.assertEqual(len(traced.kernels(2)), 2 * (WORK + 3))
        self.assertEqual(len(traced.log), 2)
        for line in traced.log:
            self.assertIn("run.epp has no operations of the host", line)
            self.assertRegex(line, r"`epprof import -o operations.epp .*\.xplane\.pb`")


interop.main()
