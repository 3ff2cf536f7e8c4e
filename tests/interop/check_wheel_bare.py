#!/usr/bin/env python3
"""The wheel on a bare machine without a compiler: pip installs it, and six programs that do not mention epprof are recorded, each
of which has a report then."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import bare_machine
import built_wheel
import environment
import interop

HEADERS = interop.ROOT.parent / "shared" / "third_party" / "onnxruntime"
RUNS = 5

ONNXRUNTIME = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession("digits.onnx")
shape = [size if isinstance(size, int) else 1 for size in session.get_inputs()[0].shape]
for _ in range(5):
    session.run(None, {session.get_inputs()[0].name: numpy.zeros(shape, numpy.float32)})
"""
TWO_PROCESSES = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "onnxruntime_program.py"])
import onnxruntime_program
sys.exit(child.wait())
"""
JAX = """
import jax, jax.numpy as jnp
@jax.jit
def step(x):
    return jnp.tanh(x @ x).sum()
for _ in range(5):
    step(jnp.ones((8, 8))).block_until_ready()
"""
KERAS = """
import keras, numpy
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(numpy.ones((32, 4)), numpy.ones((32, 1)), batch_size=8, epochs=1, verbose=0)
"""
TORCH = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
model = Model()
for _ in range(5):
    model(torch.ones(2, 4)).sum().backward()
"""


class BareMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = interop.scratch() / "srv"
        cls.folder.mkdir()
        try:
            cls.machine = bare_machine.BareMachine(cls.folder)
        except bare_machine.Unavailable as error:
            raise unittest.SkipTest(str(error)) from error
        shutil.copy(interop.DATA / "digits.onnx", cls.folder)
        shutil.copy(built_wheel.make(), cls.folder)
        (cls.folder / "onnxruntime_program.py").write_text(ONNXRUNTIME, encoding="utf-8")
        page = (interop.ROOT / "README.md").read_text(encoding="utf-8")
        install = re.search(r"<!-- interop: check_wheel_bare.py install -->\n```sh\n(.*?)```", page, re.DOTALL)[1]
        cls.inside(cls, "sh", "-euxc", f"! command -v cc gcc clang\npython3 -m venv venv\n. venv/bin/activate\n{install}",
                   PIP_NO_INDEX="1", PIP_FIND_LINKS="/srv")

    def inside(self, *command, **environ):
        done = self.machine.run(*command, **environ)
        if done.returncode != 0:
            raise AssertionError(f"{command}: exit status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def packages(self, framework):
        """The folder of a framework's packages, as the bare machine has it.  They are compiled for this Python."""
        try:
            python = framework.python_for(framework.versions()[-1])
        except environment.Unavailable as error:
            self.skipTest(str(error))
        version = "{}.{}".format(*sys.version_info)
        if self.inside("python3", "-c", "import sys; print('{}.{}'.format(*sys.version_info))").strip() != version:
            self.skipTest(f"the packages are for Python {version}, which the bare machine does not have")
        found = next(python.parent.parent.glob("lib/python*/site-packages"))
        return Path("/mnt") / found.relative_to(environment.cache())

    def record(self, framework, *command, name=None, **environ):
        """Records a program, makes the report, and returns the summary."""
        name = name or framework.name.lower().replace(" ", "_")
        environ["PYTHONPATH"] = str(self.packages(framework))
        self.inside("venv/bin/epprof", "record", "-o", f"{name}.epp", "--", *command, **environ)
        self.inside("venv/bin/epprof", "validate", "--strict", f"{name}.epp")
        self.inside("venv/bin/epprof", "report", "-o", f"{name}.html", f"{name}.epp")
        self.assertIn("</html>", (self.folder / f"{name}.html").read_text(encoding="utf-8"))
        return json.loads(self.inside("venv/bin/epprof", "summary", "--format", "json", f"{name}.epp"))

    def counts(self, framework, program, name=None, **environ):
        """{name: count} of the operations of a program in Python, which is its text, or a file's name."""
        if "\n" in program:
            file = self.folder / f"{name or framework.name.lower()}_program.py"
            file.write_text(program, encoding="utf-8")
            program = file.name
        summary = self.record(framework, "venv/bin/python", program, name=name, **environ)
        return {op["name"]: op["count"] for op in summary["ops"]}

    def test_readme(self):
        shutil.copy(self.folder / "onnxruntime_program.py", self.folder / "program.py")
        page = (interop.ROOT / "README.md").read_text(encoding="utf-8")
        lines = re.search(r"<!-- interop: check_wheel_bare.py use -->\n```sh\n(.*?)```", page, re.DOTALL)[1]
        self.inside("sh", "-euxc", f". venv/bin/activate\n{lines}", PYTHONPATH=str(self.packages(interop.ONNXRUNTIME)))
        self.assertIn("</html>", (self.folder / "run.html").read_text(encoding="utf-8"))

    def test_onnxruntime(self):
        counts = self.counts(interop.ONNXRUNTIME, "onnxruntime_program.py")
        self.assertEqual((counts["model_run"], counts["probs"]), (RUNS, RUNS))

    def test_two_processes(self):
        counts = self.counts(interop.ONNXRUNTIME, TWO_PROCESSES, name="two_processes")
        self.assertEqual((counts["model_run"], counts["probs"]), (2 * RUNS, 2 * RUNS))
        rows = self.inside("venv/bin/epprof", "summary", "--by", "process", "two_processes.epp")
        self.assertEqual(len(re.findall("^.*python.*$", rows, re.MULTILINE)), 2, rows)

    def test_onnxruntime_in_cpp(self):
        """Compiled on another machine, as a program that is delivered."""
        packages = self.packages(interop.ONNXRUNTIME)
        library = next((environment.cache() / packages.relative_to("/mnt") / "onnxruntime/capi").glob("libonnxruntime.so.1*"))
        inside = Path("/mnt") / library.relative_to(environment.cache())
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-pthread", "-isystem", HEADERS, f"-I{interop.ROOT / 'api'}",
                        f'-DOPENED="{inside}"', "-o", self.folder / "cpp_program",
                        interop.ROOT / "tests/interop/record_host.cc", "-ldl"], check=True)
        summary = self.record(interop.ONNXRUNTIME, "./cpp_program", "2", "digits.onnx", name="cpp")
        counts = {op["name"]: op["count"] for op in summary["ops"]}
        self.assertEqual((counts["model_run"], counts["probs"]), (20, 20))

    def test_jax(self):
        self.assertGreaterEqual(self.counts(interop.JAX, JAX)["PjitFunction(step)"], RUNS)

    def test_keras(self):
        counts = self.counts(interop.TENSORFLOW, KERAS, CUDA_VISIBLE_DEVICES="")
        self.assertTrue([name for name in counts if "MatMul" in name], counts)

    def test_torch(self):
        counts = self.counts(interop.TORCH, TORCH)
        self.assertEqual((counts["aten::linear"], counts["aten::relu"]), (2 * RUNS, RUNS))


if __name__ == "__main__":
    interop.main()
