#!/usr/bin/env python3
"""Every plugin in every host: 25 cells.  In each, 300 units of work arrive in the host's own output, every one once, under its
name, with the times that the device itself has written down, and joined to what matrix.py says, to no less and to no more.

The table of what was found is written to matrix.md in the build tree; the README and docs/matrix.md must show it, versions
apart.  With --write they are made to.  XProf reads what TensorFlow and JAX wrote, HTA what PyTorch wrote, Perfetto's trace
processor what all of them did.
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import unittest

import environment
import interop
import matrix
import viewers

FRAMEWORKS = {"onnxruntime": interop.ONNXRUNTIME, "tensorflow": interop.TENSORFLOW, "pytorch": interop.TORCH, "jax": interop.JAX}
SHOWN_IN = (interop.ROOT / "README.md", interop.ROOT / "docs" / "matrix.md")

# What two readings of two clocks may differ by if a thread lost its turn between them, in a machine that is busy.
TURN_NS = 100_000

UNIT = "relu"


def python_for(host):
    if host not in FRAMEWORKS:
        return sys.executable
    framework = FRAMEWORKS[host]
    try:
        return framework.python_for(framework.versions()[-1])
    except environment.Unavailable as error:
        raise unittest.SkipTest(str(error)) from error


def viewer(packages, alone=()):
    """The Python of an environment with a viewer's own reader."""
    try:
        return environment.python_with(list(packages), alone=list(alone))
    except environment.Unavailable as error:
        raise unittest.SkipTest(str(error)) from error


class Host:
    """A host that has run: the cells of its output, and the device's own records of the work, one list for each plugin."""

    def __init__(self, name):
        out = interop.scratch() / name
        out.mkdir()
        log = out / "device.log"
        plugins = ":".join(map(matrix.library, matrix.PLUGINS))
        given = {**os.environ, "MATRIX_OUT": str(out), "ACCELERATOR_LOG": str(log), "ACCELERATOR_FAST_PPM": "0",
                 "EPPROF_PROFILERS": plugins, "KINETO_PLUGIN_PATH": plugins, "WORK_DIRECTORY": str(interop.BUILD),
                 "WORK_COUNT": str(matrix.COUNT), interop.INSIDE: "1"}
        if name == "jax":
            given["PYTHONPATH"] = str(interop.BUILD / "python")
        if name != "epprof":
            given["EPPROF_OUTPUT"] = str(out / "run.epp")
        program = interop.ROOT / "tests" / "interop" / "matrix_host.py"
        done = subprocess.run([python_for(name), program, name], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise AssertionError(f"{name}: exit status {done.returncode}: {done.stderr[-4000:]}")
        answer = json.loads(done.stdout)
        self.out, self.version, self.cells = out, answer["version"], answer["cells"]
        self.self_device_us = answer["more"]
        # One plugin after the other was given work, and waited for.
        units = [line.split() for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("relu ")]
        self.done = {plugin: [(int(stream), int(start), int(end)) for _, stream, start, end in
                              units[i * matrix.COUNT:(i + 1) * matrix.COUNT]] for i, plugin in enumerate(matrix.PLUGINS)}


def by_stream(units):
    streams = collections.defaultdict(list)
    for stream, *times in sorted(units, key=lambda unit: unit[1]):
        streams[stream].append(times)
    return [streams[stream] for stream in sorted(streams)]


class Matrix(unittest.TestCase):
    hosts, found = {}, {}

    def measure(self, units):
        """What the output says of these, in the words of the table."""
        durations = {unit["duration_ns"] for unit in units}
        joined = [word for word, key in (("event", "host"), ("call", "call")) if all(unit[key] for unit in units)]
        numbers = {unit["number"] for unit in units} - {None}
        if "call" not in joined and len(numbers) == len(units):
            joined.append("number")
        elif "call" not in joined:
            self.assertEqual(numbers, set())
        for key in ("host", "call"):
            self.assertIn(sum(unit[key] is not None for unit in units), (0, len(units)), f"some have a {key}, and some not")
        return matrix.Cell("us" if all(duration % 1000 == 0 for duration in durations) else "ns",
                           len({unit["stream"] for unit in units}) > 1, tuple(joined))

    def check_times(self, units, done, resolution_ns):
        told = by_stream([(unit["stream"], unit["start_ns"], unit["duration_ns"], unit["error_ns"]) for unit in units])
        true = by_stream([(stream, start, end - start) for stream, start, end in done])
        self.assertEqual([len(stream) for stream in told], [len(stream) for stream in true])
        offset = told[0][0][0] - true[0][0][0]
        for told_stream, true_stream in zip(told, true):
            for (start, duration, error), (true_start, true_duration) in zip(told_stream, true_stream):
                # Two ends, each rounded; and clocks that are off against each other by 500 ppm, as clocks may be.
                self.assertLessEqual(abs(duration - true_duration), resolution_ns + 1 + true_duration // 2000)
                self.assertLessEqual(abs(start - offset - true_start), 2 * (resolution_ns + error) + TURN_NS)

    def check_cell(self, plugin, host):
        cell = host.cells[plugin]
        units = cell["units"]
        self.assertEqual(len(units), matrix.COUNT)
        self.assertEqual(len(host.done[plugin]), matrix.COUNT)
        expected = matrix.EXPECTED[plugin, host.name]
        self.check_times(units, host.done[plugin], matrix.RESOLUTIONS_NS[expected.resolution])
        for unit in units:
            self.assertIn(unit["host"], (None, plugin))
            self.assertIn(unit["call"], (None, "sampleLaunch"))
            error_ns = unit["error_ns"] + matrix.RESOLUTIONS_NS[expected.resolution]
            self.assertLessEqual(unit["start_ns"] + unit["duration_ns"], cell["span"][1] + 2 * error_ns)
        found = self.measure(units)
        self.found[plugin, host.name] = found
        self.assertEqual(found, expected)

    def check_host(self, name):
        host = self.hosts[name] = Host(name)
        host.name = name
        self.assertEqual(list(host.cells), list(matrix.PLUGINS))
        for plugin in matrix.PLUGINS:
            with self.subTest(plugin=plugin, host=name):
                self.check_cell(plugin, host)
        return host

    def test_a_host_1_epprof(self):
        self.check_host("epprof")

    def test_a_host_2_onnxruntime(self):
        self.check_host("onnxruntime")

    def test_a_host_3_tensorflow(self):
        self.check_host("tensorflow")

    def test_a_host_4_pytorch(self):
        host = self.check_host("pytorch")
        # By op: what its kernels took, and the copies beside them.
        joined_ns = sum(unit["duration_ns"] for cell in host.cells.values() for unit in cell["units"] if unit["host"])
        self.assertGreaterEqual(host.self_device_us[0] + 0.5, joined_ns / 1000)

    def test_a_host_5_jax(self):
        self.check_host("jax")

    def test_hta_reads_what_pytorch_wrote(self):
        python = viewer(viewers.HTA, viewers.HTA_ALONE)
        folder = interop.scratch() / "hta"
        folder.mkdir()
        shutil.copy(self.hosts["pytorch"].out / "pytorch.json", folder)
        done = subprocess.run([python, interop.ROOT / "tests" / "interop" / "hta_tool.py", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True)
        counted = json.loads(done.stdout.splitlines()[-1])
        units = [unit for cell in self.hosts["pytorch"].cells.values() for unit in cell["units"]]
        # It has whole microseconds: a start is rounded up, an end down.
        took_us = sum(unit["duration_ns"] for unit in units) / 1000
        self.assertEqual(counted["ranks"], [0])
        self.assertLessEqual(abs(counted["kernels"]["relu"] - took_us), 2 * len(units))

    def test_trace_processor_reads_what_all_wrote(self):
        """Their own files where these are JSON, and the .epp that stands beside them."""
        python = viewer(viewers.PERFETTO, viewers.PERFETTO_ALONE)
        count = matrix.COUNT * len(matrix.PLUGINS)
        for name, host in self.hosts.items():
            trace = host.out / {"epprof": "epprof.epp", "pytorch": "run.1.epp"}.get(name, "run.epp")
            converted = host.out / "converted.pftrace"
            subprocess.run([viewers.EPPROF, "convert", "-t", "perfetto", "-o", converted, trace], check=True,
                           stderr=subprocess.DEVNULL)
            for path in (converted, *host.out.glob("*.json")):
                with self.subTest(host=name, file=path.name):
                    wrong, units = viewers.query(
                        python, path, "select name, value from stats where value > 0 and severity != 'info'",
                        f"select count(*), min(dur) >= 0 from slice where name = '{UNIT}'")
                    self.assertEqual(wrong, [])
                    self.assertEqual(units, [[str(count), "1"]])

    def test_xprof_reads_what_tensorflow_and_jax_wrote(self):
        python = viewer(["xprof"])
        for name in ("tensorflow", "jax"):
            (path,) = self.hosts[name].out.glob("**/*.xplane.pb")
            done = subprocess.run([python, interop.ROOT / "tests" / "interop" / "xprof_tool.py", path, "trace_viewer@"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            shown = [event for event in json.loads(done.stdout)["traceEvents"] if event["ph"] == "X"]
            units = [event for event in shown if event["name"] == "relu"]
            self.assertEqual(len(units), matrix.COUNT * len(matrix.PLUGINS))
            # From a call to its kernel, each with an id of its own.
            begun = {event["bind_id"] for event in shown if event["name"] == "sampleLaunch" and event.get("flow_out")}
            ended = {event["bind_id"] for event in units if event.get("flow_in") and event["bind_id"] in begun}
            self.assertEqual((len(begun), len(ended)), (matrix.COUNT, matrix.COUNT))

    def test_z_the_documents_show_what_was_found(self):
        if len(self.found) < len(matrix.EXPECTED):
            self.skipTest(f"only {len(self.found)} of {len(matrix.EXPECTED)} cells were tried")
        made = matrix.table(self.found, {name: host.version for name, host in self.hosts.items()})
        print(f"\n{made}", end="")
        (interop.BUILD / "matrix.md").write_text(made, encoding="utf-8")
        for path in SHOWN_IN:
            text = path.read_text(encoding="utf-8")
            if "--write" in sys.argv:
                path.write_text(matrix.put_into(text, made), encoding="utf-8")
                continue
            self.assertEqual(matrix.without_versions(matrix.shown_in(text)), matrix.without_versions(made),
                             f"{path.name} shows something else; tests/interop/check_matrix.py --write")


if __name__ == "__main__":
    interop.main()
