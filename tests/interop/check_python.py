#!/usr/bin/env python3
"""Python's package with ONNX Runtime: what docs/python.md shows, and the events of both in one trace."""
import os
import subprocess
import sys
import unittest

import interop

interop.in_each_environment()

sys.path.insert(0, str(interop.BUILD / "python"))
import epprof
import onnxruntime

MODEL = str(interop.DATA / "digits.onnx")

PROGRAM = """
import sys
import epprof, onnxruntime
options = onnxruntime.SessionOptions()
with epprof.session(sys.argv[2]):
    epprof.attach(options)
    with epprof.event("load"):
        session = onnxruntime.InferenceSession(sys.argv[1], options)
    session.end_profiling()
    del session
"""


class Attach(unittest.TestCase):
    def environment(self):
        return {**os.environ, "PYTHONPATH": str(interop.BUILD / "python")}

    def test_the_page(self):
        os.environ["PYTHONPATH"] = str(interop.BUILD / "python")
        folder, text = interop.do_as_page("docs/python.md", model=("model.onnx", MODEL), wheel=("pip install epprof\n", ""))
        self.assertIn("tokenize 3", text)
        with epprof.open(folder / "classify.epp") as trace:
            names = {event.name for event in trace.events()}
        self.assertIn("load the model", names)
        self.assertIn("session_initialization", names)

    def test_one_trace(self):
        path = interop.scratch() / "one.epp"
        subprocess.run([sys.executable, "-c", PROGRAM, MODEL, path], env=self.environment(), cwd=interop.scratch(), check=True)
        with epprof.open(path) as trace:
            self.assertEqual(trace.info.state, "finished")
            names = {event.name: event for event in trace.events()}
            self.assertEqual([finding for finding in trace.validate() if finding.severity != "note"], [])
        self.assertEqual(names["session_initialization"].parent, names["load"].id)

    def test_without_a_path(self):
        os.environ.pop("EPPROF_OUTPUT", None)
        self.assertRaises(ValueError, epprof.attach, onnxruntime.SessionOptions())


if __name__ == "__main__":
    interop.main()
