#!/usr/bin/env python3
"""Texts that JSON must escape, in the versions of ONNX Runtime before and from which on it escapes them itself: what the kit and
the bridge hand over has to be in its profile as it was, and the importer has to read both."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

import interop

VERSIONS = ("1.30.0", "1.31.0", "1.31.1", "newest")
interop.in_each_environment(interop.Framework("ONNX Runtime", "EPPROF_ORT_VERSIONS", VERSIONS, interop.ONNXRUNTIME.requirements))
import numpy
import onnxruntime
from onnx import helper

import ort
import run_command

HOST = Path(__file__).with_name("collector_host.py")
ESCAPES = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 31)
NAMES = ('gemm "quoted"', "back\\slash", "an escape: \\n", "tab\tand\nline", "gr\u00fc\u00df", '[1,"a"]', "{not json")
# tests/plugins/names_pu1.c
PU1_NAMES = {"plain", 'a "quote"', "back\\slash \\", "tab\tline\nend\x01", "\ufffd\ufffd not UTF-8 \ufffd", "", "%s %n {} {0}",
             "\u00e9t\u00e9"}


def setUpModule():
    global sample
    sample = ort.Library("libsample_ort_ep", "SampleEP").__enter__()


def tearDownModule():
    sample.__exit__()


def model():
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], name=name) for i, name in enumerate(NAMES)]
    return ort.model_of(nodes, {"v0": (2, 3)}, {f"v{len(NAMES)}": (2, 3)})


def profile_of_sample():
    path = interop.scratch() / "names.onnx"
    path.write_bytes(model())
    session = ort.session(str(path), sample, profiled=True,
                          graph_optimization_level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    session.run(None, {"v0": numpy.ones((2, 3), "f4")})
    return session.end_profiling()


def expected(value):
    """A value that begins like an array or object: before 1.31 a string; then JSON, or with a space in front if it is none."""
    if not ESCAPES or value[0] not in "{[":
        return value
    try:
        return json.loads(value)
    except ValueError:
        return " " + value


class Escaping(unittest.TestCase):
    def test_the_kit(self):
        path = profile_of_sample()
        kernels = ort.Profile(path).named("relu")
        self.assertEqual([kernel["args"]["node"] for kernel in kernels], [expected(name) for name in NAMES])
        done = run_command.epprof("import", "--force", "-o", "imported.epp", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("repaired", done.stderr)
        lines = run_command.epprof("convert", "-t", "ndjson", "-o", "-", "imported.epp").stdout.splitlines()
        nodes = [event["args"]["node"] for event in map(json.loads, lines) if event.get("name") == "relu"]
        self.assertEqual(nodes, [" {not json" if ESCAPES and name == "{not json" else name for name in NAMES])

    def test_the_bridge(self):
        folder = interop.scratch() / "plugins"
        folder.mkdir()
        plugins = {"pu1": "tests/plugins/names_pu1", "tf": "libsample_tf_ep", "pjrt": "libsample_pjrt_ep"}
        for kind, name in plugins.items():
            (folder / f"libsample_{kind}_ep.so").symlink_to(interop.library(name))
        done = subprocess.run(
            [sys.executable, HOST, "sharing:work,collector", interop.scratch() / "bridge"], stdout=subprocess.PIPE, text=True,
            check=True, env={**run_command.os.environ, "WORK_DIRECTORY": str(folder), "WORK_COUNT": "1",
                             "EPPROF_PROFILERS": interop.library(plugins["pu1"])})
        for path in done.stdout.splitlines():
            with open(path, encoding="utf-8") as file:
                kernels = [event for event in json.load(file) if event["cat"] == "Kernel"]
            self.assertEqual({kernel["name"] for kernel in kernels}, PU1_NAMES)

    def test_whatever_onnx_runtime_leaves_as_it_is(self):
        """An EP without the kit: arrays and objects that are none, which ONNX Runtime writes without quotes in all versions."""
        args = {"shape": "{not json", "quoted": 'a "quoted" text', "line": "two\nlines"}
        text = "\x1f".join(text for arg in args.items() for text in arg)
        done = run_command.run(run_command.DIGITS, "--shape", "x=8,64", "--ep",
                               interop.library("tests/plugins/official_kernels_ep"), KERNELS_EP_ARGS=text, KERNELS_EP_ID="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = [event for event in run_command.events() if event.get("name", "").startswith("kernel of")]
        self.assertGreater(len(kernels), 10)
        for kernel in kernels:
            self.assertEqual({key: kernel["args"].get(key) for key in args}, args)


if __name__ == "__main__":
    interop.main()
