#!/usr/bin/env python3
"""The plugin for NVIDIA's GPUs as an execution provider in ONNX Runtime, without a host of epprof, over a library in the
place of CUPTI: ONNX Runtime's own profile has the kernels, each under the event that launched it."""
import os
import subprocess
import sys
import unittest

import interop

interop.in_each_environment()
import numpy

import ort
import run_command


class CuptiOrt(unittest.TestCase):
    def test_kernels_are_in_the_profile(self):
        os.environ.update(EPPROF_CUPTI=interop.library("tests/plugins/fake_cupti"), FAKE_CUPTI_LAUNCHES="1")
        with ort.Library("libepprof_cupti_ort", "EpprofCupti") as library:
            for _ in range(2):
                session = ort.session(run_command.DIGITS, library, profiled=True)
                for _ in range(100):
                    session.run(None, {"x": numpy.zeros((8, 64), "f4")})
                profile = ort.Profile(session.end_profiling())
                del session
                self.assertEqual(profile.lost, [])
                nodes = {event["ts"]: event for event in profile.host if event["cat"] == "Node"}
                of_nodes = [kernel for kernel in profile.kernels if "ort_node_index" in kernel["args"]]
                self.assertGreaterEqual(len(of_nodes), len(nodes))
                for kernel in of_nodes:
                    self.assertEqual(kernel["name"], "launched")
                    self.assertIn('"registers": 32', str(kernel["args"]["metadata"]).replace("'", '"'))
                inside = [kernel for kernel in of_nodes for node in [nodes.get(kernel["args"]["ort_correlation_id"])]
                          if node is None or node["ts"] - 3 <= kernel["ts"] <= node["ts"] + node["dur"] + 3]
                self.assertGreaterEqual(len(inside), len(of_nodes) * 99 // 100)

    def test_without_cupti(self):
        """In a process of its own: this one keeps the library, which has looked for CUPTI already."""
        library = interop.library("libepprof_cupti_ort")
        done = subprocess.run([sys.executable, "-c", f"import onnxruntime; onnxruntime.register_execution_provider_library('x', {library!r})"],
                              env={**os.environ, "EPPROF_CUPTI": "/nonexistent/libcupti.so"}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/nonexistent/libcupti.so", done.stderr)

    def test_the_page_shows_what_works(self):
        os.environ["EPPROF_CUPTI"] = interop.library("tests/plugins/fake_cupti")
        _, log = interop.do_as_page("docs/cuda.md", model=("model.onnx", str(interop.DATA / "digits.onnx")),
                                    library=("/usr/local/lib/libepprof_cupti_ort.so", interop.library("libepprof_cupti_ort")))
        self.assertIn(".json", log)


if __name__ == "__main__":
    interop.main()
