#!/usr/bin/env python3
"""epprof record with TensorFlow, JAX and PyTorch: programs that do not mention epprof, with plugins too, and programs that use the
framework's profiler themselves."""
import json
import subprocess
import unittest
from pathlib import Path

import environment
import interop
from record_command import Recorded

# A program that defines work(), an operation of it, how often a profile has that, and an ending that profiles work() itself.
TENSORFLOW = """
import tensorflow as tf
def work():
    for _ in range(5):
        tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
""", "EagerLocalExecute: MatMul", 5, """
tf.profiler.experimental.start("logs")
work()
tf.profiler.experimental.stop()
import glob
assert glob.glob("logs/plugins/profile/*/*.xplane.pb")
"""
JAX = """
import jax, jax.numpy as jnp
def work():
    for _ in range(5):
        jnp.dot(jnp.ones((8, 8)), jnp.ones((8, 8))).block_until_ready()
""", "PjitFunction(dot)", 10, """
with jax.profiler.trace("logs"):
    work()
import glob
assert glob.glob("logs/plugins/profile/*/*.xplane.pb")
"""
PYTORCH = """
import torch
def work():
    for _ in range(5):
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))
""", "aten::mm", 5, """
with torch.profiler.profile() as own:
    work()
assert [row.count for row in own.key_averages() if row.key == "aten::mm"] == [5]
"""


class Framework:
    """The tests of one framework, in its newest version."""
    framework = None
    program = None

    def setUp(self):
        try:
            self.python = self.framework.python_for(self.framework.versions()[-1])
        except environment.Unavailable as error:
            self.skipTest(str(error))

    def record(self, ending, *options):
        recorded = Recorded(self.program[0] + ending, *options, command=(self.python, "program.py"))
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (0, "done\n"), recorded.done.stderr)
        return recorded

    def check_work(self, recorded, times):
        _, operation, count, _ = self.program
        self.assertEqual(recorded.counts()[operation], times * count)

    def test_a_program_is_recorded(self):
        recorded = self.record("work()\nprint('done')\n")
        self.assertNotIn("unprofiled", recorded.done.stderr)
        self.check_work(recorded, 1)

    def test_a_program_that_profiles_itself(self):
        """It gets its own profile; the trace has what was before."""
        recorded = self.record(f"work()\nwork()\n{self.program[3]}\nprint('done')\n")
        self.assertIn(" is recorded until the program used its profiler\n", recorded.done.stderr)
        self.check_work(recorded, 2)

    def test_a_program_that_does_nothing_with_it(self):
        self.record("print('done')\n")

    def test_plugins_are_in_the_trace(self):
        sample = interop.library("libsample_pu1_ep")
        recorded = self.record(f"import ctypes\nwork()\nassert ctypes.CDLL({sample!r}).epp_sample_work(3) == 0\nprint('done')\n",
                               "--profilers", sample)
        self.assertNotIn("without the plugins", recorded.done.stderr)
        self.check_work(recorded, 1)
        kernels = json.loads(recorded.epprof("summary", "--format", "json"))["kernels"]
        self.assertTrue([kernel for kernel in kernels if kernel["count"] >= 3], kernels)


class Tensorflow(Framework, unittest.TestCase):
    framework, program = interop.TENSORFLOW, TENSORFLOW


class Jax(Framework, unittest.TestCase):
    framework, program = interop.JAX, JAX


class Pytorch(Framework, unittest.TestCase):
    framework, program = interop.TORCH, PYTORCH

    def test_plugins_are_in_the_trace(self):
        subprocess.run([self.python, "-c", "import torch_bridge; torch_bridge.make()"], cwd=Path(__file__).parent, check=True)
        super().test_plugins_are_in_the_trace()

    def test_a_plugin_that_cannot_be_loaded(self):
        """The bridge has nothing to do, and PyTorch's operations are recorded as without it."""
        self.check_work(self.record("work()\nprint('done')\n", "--profilers", "/nowhere.so"), 1)


if __name__ == "__main__":
    interop.main()
