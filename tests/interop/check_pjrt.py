#!/usr/bin/env python3
"""libepprof_pjrt.so in JAX itself, which finds it by the package jax_plugins: it carries plugins of every kind into JAX's
profiler, and what goes wrong costs no profile; read back with JAX's own reader.  The sample plugin for JAX, too."""
import collections
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.JAX)
import host_operations
from host_operations import Traced, WORK

COUNT = 300

# A process of its own for each way in: JAX looks for plugins once.
PROFILE = """
import ctypes, os, sys, time
way, logs, sessions, count = sys.argv[1:]
import jax
import jax.numpy as jnp
if way != "package":
    from jax._src.lib import _profiler, xla_client
    jax.devices()
    for index, library in enumerate(way.split(":")):
        _profiler.register_plugin_profiler(xla_client.load_pjrt_plugin_dynamically(f"plugin_{index}", library))
plugins = [ctypes.CDLL(path) for path in os.environ.get("SAMPLES", "").split(":") if path]
print("JAX is", jax.__version__)
for run in range(int(sessions)):
    with jax.profiler.trace(os.path.join(logs, str(run))):
        for plugin in plugins:
            assert plugin.epp_sample_work(int(count)) == 0
        with jax.profiler.TraceAnnotation("a_host_event"):
            jnp.dot(jnp.ones((8, 8)), jnp.ones((8, 8))).block_until_ready()
    for plugin in plugins:
        assert plugin.epp_sample_work(7) == 0
"""

GRADIENT = """
import sys
import jax
import jax.numpy as jnp
gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2)))
w = x = jnp.ones((16, 16))
with jax.profiler.trace(sys.argv[1]):
    for step in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w = w - 0.1 * gradient(w, x)
    w.block_until_ready()
"""

# A gradient whose forward and backward pass give the sample work, each in an operation of its own.
LAUNCHES = """
import jax
import jax.numpy as jnp
@jax.custom_vjp
def work(x):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
work.defvjp(lambda x: (work(x), None), lambda _, g: (work(g),))
gradient = jax.jit(jax.grad(lambda w, x: jnp.sum(jnp.tanh(work(x @ w)) ** 2)))
w = x = jnp.ones((16, 16))
gradient(w, x).block_until_ready()
options = jax.profiler.ProfileOptions()
options.python_tracer_level = int(sys.argv[2])
for run in range(int(sys.argv[3])):
    with jax.profiler.trace(os.path.join(sys.argv[1], str(run)), profiler_options=options):
        for step in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                w = w - 0.1 * gradient(w, x)
        w.block_until_ready()
"""


def sample(kind):
    return interop.library(f"libsample_{kind}_ep")


BRIDGE = interop.library("libepprof_pjrt")


def run(sessions, plugins, samples=None, way="package", count=COUNT, **environment):
    """Returns what JAX wrote for each session, and what it logged."""
    from jax.profiler import ProfileData
    with tempfile.TemporaryDirectory() as logs:
        given = {**os.environ, "EPPROF_PROFILERS": ":".join(plugins), "SAMPLES": ":".join(plugins if samples is None else samples),
                 "PYTHONPATH": str(interop.BUILD / "python"), **environment}
        done = subprocess.run([sys.executable, "-c", PROFILE, way, logs, str(sessions), str(count)], capture_output=True,
                              text=True, errors="replace", check=False, env=given)
        if done.returncode != 0 or "JAX is" not in done.stdout:
            raise AssertionError(f"exit status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        files = [list(Path(logs, str(index)).glob("**/*.xplane.pb")) for index in range(sessions)]
        return [ProfileData.from_serialized_xspace(file.read_bytes()) for (file,) in files], done.stderr


def events_of(profile, name):
    """The events of this name on planes of devices."""
    return [(plane, line, event) for plane in profile.planes if plane.name.startswith("/device:") for line in plane.lines
            for event in line.events if event.name == name]


class Jax(unittest.TestCase):
    def look_at(self, profile, count=COUNT, plane_pattern=r"^/device:CUSTOM:(sample_pu1_ep device 0|ACCELERATOR:0( \([\w.]+\))?)$"):
        events = events_of(profile, "relu")
        self.assertEqual(len(events), count)
        for plane, line, event in events:
            self.assertRegex(plane.name, plane_pattern)
            self.assertRegex(line.name, "^stream [01]$")
            self.assertGreater(event.duration_ns, 0)
        # Beside JAX's own, and in its time: all of it lies in the session.
        (host,) = [event for plane in profile.planes if plane.name == "/host:CPU" for line in plane.lines
                   for event in line.events if event.name == "a_host_event"]
        for _, _, event in events:
            self.assertGreaterEqual(event.start_ns, 0)
            self.assertLess(event.start_ns, host.start_ns)
        self.assertGreater(len({event.start_ns for _, _, event in events}), count // 2)

    def hosted(self, kind):
        profiles, log = run(3, [sample(kind)])
        self.assertNotIn("epprof", log.lower())
        for profile in profiles:
            self.look_at(profile)

    def test_pu1(self):
        self.hosted("pu1")

    def test_pjrt(self):
        self.hosted("pjrt")

    def test_tf(self):
        self.hosted("tf")

    def test_tf_first(self):
        self.hosted("tf_first")

    def test_all_together(self):
        # One for ONNX Runtime records the work of events that it is shown; here there are none.
        profiles, _ = run(2, [sample(kind) for kind in ("ort", "pu1", "pjrt", "tf")],
                          [sample(kind) for kind in ("pu1", "pjrt", "tf")])
        for profile in profiles:
            self.look_at(profile, 3 * COUNT)

    def test_where_the_library_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            named = Path(folder, "bridge.so")
            named.symlink_to(BRIDGE)
            profiles, _ = run(1, [sample("pu1")], EPPROF_PJRT_LIBRARY=str(named))
            self.look_at(profiles[0])

    def test_devices_are_gpus_on_request(self):
        (profile,), _ = run(1, [sample("pu1"), sample("tf")], EPPROF_DEVICE_PLANES="gpu")
        self.look_at(profile, 2 * COUNT, "^/device:GPU:[01]$")

    def test_registered_twice_counts_once(self):
        profiles, log = run(2, [sample("pu1")], way=BRIDGE)
        for profile in profiles:
            self.look_at(profile)
        self.assertEqual(log.count("another profile of this process is active and receives all events"), 2)

    def test_without_plugins_it_says_so_once(self):
        profiles, log = run(3, [])
        self.assertEqual(log.count("EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin, nothing is profiled"), 1)
        self.assertEqual([plane.name for plane in profiles[2].planes if plane.name.startswith("/device:")], [])

    def test_without_the_library_jax_goes_on(self):
        profiles, log = run(1, [sample("pu1")], EPPROF_PJRT_LIBRARY="/nowhere/lib.so")
        self.assertIn("JAX goes on without epprof", log)
        self.assertEqual(events_of(profiles[0], "relu"), [])

    def test_what_cannot_be_hosted_costs_only_itself(self):
        fault = str(interop.BUILD / "tests" / "plugins" / "pjrt_fault.so")
        for step in "create", "start", "stop", "collect":
            profiles, log = run(2, ["/nowhere/libnone.so", BRIDGE, fault, sample("pu1")], [sample("pu1")], PJRT_FAULT=step)
            for profile in profiles:
                self.look_at(profile)
            self.assertEqual(log.count("/nowhere/libnone.so"), 1)
            self.assertEqual(log.count("is a bridge itself"), 1)
            self.assertEqual(log.count('code 13: no "device"'), 2, log)

    def test_with_an_output_it_is_in_both(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "run.epp")
            profiles, _ = run(3, [sample("pu1"), sample("tf")], EPPROF_OUTPUT=output)
            for profile in profiles:
                self.look_at(profile, 2 * COUNT)
            told = subprocess.run([str(interop.BUILD / "epprof"), "summary", "--by", "kernel", "--format", "csv", output],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(told.returncode, 0, told.stderr)
            (row,) = [line for line in told.stdout.splitlines() if "relu" in line]
            self.assertIn(str(3 * 2 * COUNT), row)

    def test_an_output_that_cannot_be_written_costs_no_profile(self):
        profiles, log = run(1, [sample("pu1")], EPPROF_OUTPUT="/nowhere/run.epp")
        self.look_at(profiles[0])
        self.assertIn("/nowhere/run.epp", log)

    def test_a_copy_alone_in_a_folder(self):
        (profile,), _ = run(1, [sample("pu1")], EPPROF_PJRT_LIBRARY=interop.moved(BRIDGE))
        self.look_at(profile)

    def test_the_sample_itself(self):
        profiles, _ = run(3, [], [sample("pjrt")], way=sample("pjrt"))
        for profile in profiles:
            self.look_at(profile, plane_pattern="^/device:CUSTOM:ACCELERATOR:0$")

    def test_its_profile_is_imported_as_it_is(self):
        from jax.profiler import ProfileData
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", GRADIENT, folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            (file,) = Path(folder).glob("**/*.xplane.pb")
            profile = ProfileData.from_file(str(file))
            expected = collections.Counter(
                (line.name, event.name, int(event.start_ns), int(event.start_ns + event.duration_ns) - int(event.start_ns))
                for plane in profile.planes for line in plane.lines for event in line.events)
            events = interop.imported(file)
        found = collections.Counter((event["track_name"], event["name"], event["start_ns"], event["duration_ns"])
                                    for event in events if event["kind"] in ("slice", "instant"))
        self.assertGreater(sum(expected.values()), 100)
        self.assertEqual(found, expected)
        self.assertTrue(any(event["kind"] == "flow" for event in events))

    def test_what_the_page_shows(self):
        from jax.profiler import ProfileData
        folder, log = interop.do_as_page(
            "docs/jax.md", package=("/usr/local/lib/epprof/python", str(interop.BUILD / "python")),
            plugin=("/opt/vendor/libvendor_profiler.so", sample("pu1")),
            work=("import jax\n", f"import ctypes\nimport jax\nsample = ctypes.CDLL({sample('pu1')!r})\n"),
            trace=('trace("logs"):\n', f'trace("logs"):\n    assert sample.epp_sample_work({COUNT}) == 0\n'))
        self.assertNotIn("epprof", log)
        (file,) = folder.glob("logs/**/*.xplane.pb")
        self.assertEqual(len(events_of(ProfileData.from_file(str(file)), "relu")), COUNT)


def operations_of(folder):
    """JAX's own of a session, but for what it got from the bridge."""
    from jax.profiler import ProfileData
    (file,) = folder.glob("**/*.xplane.pb")
    profile = ProfileData.from_file(str(file))
    (start_ns,) = [dict(plane.stats)["profile_start_time"] for plane in profile.planes if plane.name == "Task Environment"]
    return [(line.name, event.name, start_ns + int(event.start_ns), int(event.start_ns + event.duration_ns) - int(event.start_ns))
            for plane in profile.planes if plane.name == "/host:CPU" for line in plane.lines
            if ": calls of " not in line.name for event in line.events]


class HostOperations(unittest.TestCase):
    def test_each_session_has_its_own(self):
        traced = Traced(LAUNCHES, "0", "2")
        self.assertEqual(traced.log, [])
        together = collections.Counter()
        for run in 1, 2:
            expected = operations_of(traced.folder / str(run - 1))
            traced.look_at(self, expected, run)
            together.update(name for _, name, _, _ in expected)
            self.assertEqual(len([kernel for kernel in traced.kernels(run) if kernel["name"] == "relu"]), 3 * 2 * WORK)
        self.assertEqual(traced.names_in_summary(), together)

    def test_each_kernel_is_below_the_operation_that_launched_it(self):
        traced = Traced(LAUNCHES, "0", "1")
        below = collections.Counter()
        for kernel in traced.kernels():
            names = traced.around(kernel)
            self.assertRegex(names[0], r"^pure_callback")
            self.assertIn("PjitFunction(<lambda>)", names)
            self.assertEqual(names[-1], "train")
            self.assertNotIn("flags", kernel)
            below[names[0]] += kernel["name"] == "relu"
        self.assertEqual(sorted(below.values()), [3 * WORK, 3 * WORK])

    def test_threads_that_have_ended(self):
        traced = Traced(LAUNCHES + """
import threading
def in_thread():
    with jax.profiler.TraceAnnotation("in_thread"):
        host(x)
with jax.profiler.trace(os.path.join(sys.argv[1], "threads"), profiler_options=options):
    for _ in range(3):
        thread = threading.Thread(target=in_thread)
        thread.start()
        thread.join()
""", "0", "0")
        self.assertEqual([traced.around(kernel) for kernel in traced.kernels()], [["in_thread"]] * 3 * (WORK + 3))

    def test_functions_of_python_too(self):
        traced = Traced(LAUNCHES, "1", "1")
        traced.look_at(self, operations_of(traced.folder / "0"))
        for kernel in traced.kernels():
            self.assertRegex(traced.around(kernel)[0], r"^\$<string>:\d+ host$")

    def test_the_report_and_the_flame_graph_show_them(self):
        traced = Traced(LAUNCHES, "0", "1")
        flame = traced.folder / "flame.svg"
        traced.command("flame", "-o", flame)
        self.assertIn("pure_callback", flame.read_text(encoding="utf-8"))

    def test_a_profile_that_goes_to_no_file(self):
        traced = Traced(LAUNCHES + """
from jax._src.lib import _profiler
session = _profiler.ProfilerSession(options)
gradient(w, x).block_until_ready()
print(len(session.stop()))
""", "0", "0")
        self.assertEqual(traced.log, [])
        self.assertGreater(len(traced.operations()), 10)
        for kernel in traced.kernels():
            self.assertRegex(traced.around(kernel)[0], r"^pure_callback")

    def test_switched_off(self):
        traced = Traced(LAUNCHES, "0", "1", EPPROF_HOST_OPERATIONS="0")
        self.assertEqual((traced.log, traced.operations()), ([], []))
        self.assertEqual(len(traced.kernels()), 3 * 2 * (WORK + 3))

    def test_a_profile_that_cannot_be_read_costs_only_operations(self):
        traced = Traced("import jax_plugins.epprof\n" + host_operations.DAMAGE + LAUNCHES, "0", "2")
        self.assertEqual(traced.operations(), [])
        self.assertEqual(len(traced.kernels(2)), 3 * 2 * (WORK + 3))
        self.assertEqual(len(traced.log), 2)
        for line in traced.log:
            self.assertIn("run.epp has no operations of the host", line)
            self.assertRegex(line, r"`epprof import -o operations.epp .*\.xplane\.pb`")

    def test_a_session_that_fails_costs_nothing(self):
        traced = Traced(LAUNCHES + """
jax.profiler.start_trace("/dev/null/nowhere", profiler_options=options)
gradient(w, x).block_until_ready()
try:
    jax.profiler.stop_trace()
except Exception as error:
    print("JAX says", error)
""", "0", "1")
        self.assertGreater(len(traced.operations(1)), 100)


interop.main()
