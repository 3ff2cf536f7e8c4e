#!/usr/bin/env python3
"""epprof record with ONNX Runtime in Python: programs that do not mention epprof, their sessions of all kinds, and a
sitecustomize of the user's."""
import unittest

import interop
from record_command import Recorded

interop.in_each_environment()

MODEL = """
import numpy, onnxruntime, sys
from onnx import TensorProto, helper
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", [ends[0]], [ends[1]])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
def run(session):
    for _ in range(10):
        session.run(None, {"x": numpy.ones(2, numpy.float32)})
    return session
"""

# A stand-in for a torch that the bridge was not compiled for: it has a profiler, whose profile has one operation.
TORCH = """
import sys, types
__version__ = "1.0.0+cpu"
started = written = False
class profile:
    def __init__(self, experimental_config):
        self.config = experimental_config
    def __enter__(self):
        global started
        assert self.config["profile_all_threads"]
        started = True
    def __exit__(self, *_):
        global started
        started = False
    def _prepare_trace(self):
        pass
    def export_chrome_trace(self, path):
        global written
        with open(path, "w") as file:
            file.write('{"traceEvents": [{"ph": "X", "name": "mm", "pid": 1, "tid": 1, "ts": 10, "dur": 5}]}')
        written = True
profiler = sys.modules["torch.profiler"] = types.ModuleType("torch.profiler")
profiler.profile, profiler._ExperimentalConfig = profile, dict
autograd = types.SimpleNamespace(profiler=profiler)
"""


class Sessions(unittest.TestCase):
    def check(self, recorded, sessions, runs, stdout=""):
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, stdout), recorded.done.stderr)
        self.assertNotIn("Warning", recorded.done.stderr)
        counts = recorded.counts()
        self.assertEqual({name: counts[name] for name in ("session_initialization", "model_run", "relu")},
                         {"session_initialization": sessions, "model_run": runs, "relu": runs})

    def test_providers_and_options_of_all_kinds(self):
        """The program sees its own providers and options."""
        self.check(Recorded(MODEL + """
options = onnxruntime.SessionOptions()
chosen = onnxruntime.SessionOptions()
chosen.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == "CPUExecutionProvider"], {})
sessions = [onnxruntime.InferenceSession(model), onnxruntime.InferenceSession(model, options),
            onnxruntime.InferenceSession(model, chosen), onnxruntime.InferenceSession(model, chosen),
            onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]),
            onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"], [{}])]
for session in sessions:
    run(session)
    assert session.get_providers() == list(session.get_provider_options()) == ["CPUExecutionProvider"], session.get_providers()
for each in options, chosen:
    assert (each.enable_profiling, each.profile_file_prefix) == (False, "onnxruntime_profile_")
print("done")
"""), 6, 60, "done\n")

    def test_a_profile_of_the_program_itself(self):
        recorded = Recorded(MODEL + """
import os
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = "own"
path = run(onnxruntime.InferenceSession(model, options)).end_profiling()
assert path.startswith("own") and options.enable_profiling
os.rename(path, "own.profile")
""")
        self.check(recorded, 1, 10)
        self.assertIn("model_run", (recorded.folder / "own.profile").read_text(encoding="utf-8"))

    def test_a_program_that_attaches_the_collector_itself(self):
        self.check(Recorded(MODEL + f"""
onnxruntime.register_execution_provider_library("mine", {interop.library("libepprof_ort")!r})
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == "epprof"], {{}})
import os
os.rename(run(onnxruntime.InferenceSession(model, options)).end_profiling(), "own.profile")
"""), 1, 10)

    def test_two_processes(self):
        recorded = Recorded(MODEL + """
import multiprocessing
def child():
    run(onnxruntime.InferenceSession(model))
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    run(onnxruntime.InferenceSession(model))
    process.join()
""")
        self.check(recorded, 2, 20)

    def test_a_model_that_cannot_be_loaded(self):
        recorded = Recorded(MODEL + """
try:
    onnxruntime.InferenceSession(b"junk")
except Exception as error:
    print(type(error).__name__)
""")
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "InvalidProtobuf\n"), recorded.done.stderr)

    def test_a_program_that_fails(self):
        recorded = Recorded(MODEL + """
run(onnxruntime.InferenceSession(model))
sys.exit(9)
""")
        self.assertEqual(recorded.done.returncode, 9)
        self.assertEqual(recorded.counts()["model_run"], 10)


class Hooks(unittest.TestCase):
    def test_the_sitecustomize_of_the_user_runs(self):
        recorded = Recorded("""
            import sitecustomize
            print(sitecustomize.VALUE)
            """, files={"sitecustomize.py": "VALUE = 'the user\\'s'\nprint('first')\n"}, PYTHONPATH=".")
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "first\nthe user's\n"), recorded.done.stderr)
        self.assertIn("no trace", recorded.done.stderr)

    def test_versions_without_profilers_run_unprofiled(self):
        """A stand-in for an old version: none of these can be installed beside the others."""
        recorded = Recorded("import onnxruntime\nprint(onnxruntime.InferenceSession().value)\n", files={
            "onnxruntime.py": "__version__ = '1.25.1'\nclass InferenceSession:\n    value = 7\n"})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "7\n"), recorded.done.stderr)
        self.assertIn("epprof: ONNX Runtime 1.25.1 runs unprofiled: profilers are there from 1.26 on\n", recorded.done.stderr)

    def test_a_module_that_is_not_what_its_name_says(self):
        recorded = Recorded("import onnxruntime\nprint('runs')\n", files={"onnxruntime.py": "broken = True\n"})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
        self.assertIn("epprof: onnxruntime runs unprofiled: ", recorded.done.stderr)

    def test_a_time_range(self):
        """The profiler starts and stops while the program runs."""
        for option, time, waits in (("--delay", "1s", "started"), ("--duration", "3s", "written")):
            recorded = Recorded(f"import time, torch\nwhile not torch.{waits}:\n    time.sleep(0.01)\nprint('runs')\n",
                                option, time, files={"torch.py": TORCH})
            self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
            self.assertEqual(recorded.counts(), {"mm": 1})
        recorded = Recorded("import torch\nprint('runs')\n", "--delay", "1min", files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
        self.assertIn("ended before the recording began", recorded.done.stderr)

    def test_a_start_that_is_paused(self):
        """The program resumes its own recording: the profiler starts then, in the time range of libepprof's session."""
        resume = "import os, subprocess, time, torch\nassert not torch.started\n" \
                 f"subprocess.run([{str(interop.BUILD / 'epprof')!r}, 'ctl', 'resume', str(os.getpid())], check=True, stdout=2)\n" \
                 "while not torch.started:\n    time.sleep(0.01)\nprint('runs')\n"
        recorded = Recorded(resume, "--start-paused", files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
        self.assertEqual(recorded.counts(), {"mm": 1})
        recorded = Recorded("import torch\nprint('runs')\n", "--start-paused", files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
        self.assertIn("ended before the recording began", recorded.done.stderr)

    def test_processes_that_are_not_selected(self):
        program = """
            import multiprocessing, os
            def child():
                import torch
                assert torch.started == (os.environ.get("RANK") == "7")
            if __name__ == "__main__":
                context = multiprocessing.get_context("fork")
                for rank in "17":
                    os.environ["RANK"] = rank
                    process = context.Process(target=child)
                    process.start()
                    process.join()
                    print(process.exitcode)
            """
        recorded = Recorded(program, "--ranks-to-sample", "0,7", files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "0\n0\n"), recorded.done.stderr)
        recorded = Recorded(program, "--no-follow", files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "0\n1\n"), recorded.done.stderr)

    def test_a_torch_that_the_bridge_was_not_compiled_for(self):
        recorded = Recorded("import torch\nprint('runs')\n", "--profilers", interop.library("libsample_pu1_ep"),
                            files={"torch.py": TORCH})
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "runs\n"), recorded.done.stderr)
        self.assertIn("epprof: PyTorch is recorded without the plugins of --profilers: ", recorded.done.stderr)
        self.assertEqual(recorded.counts(), {"mm": 1})


if __name__ == "__main__":
    interop.main()
