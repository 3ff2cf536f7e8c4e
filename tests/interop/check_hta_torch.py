#!/usr/bin/env python3
"""Holistic Trace Analysis finds in what epprof writes for it the same as in PyTorch's own trace of the same run."""
import collections
import json
import os
import shutil
import subprocess
import unittest

import environment
import interop

interop.in_each_environment(interop.TORCH)
import torch_bridge
import viewers
from torch_bridge import Run, SAMPLE

PROGRAM = """
with profile(activities=[CPU, DEVICE]) as p:
    for i in range(4):
        with record_function(f"step {i}"):
            torch.ops.sample.work(torch.ones(3), 75)
trace(p)
"""
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class HtaOfTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.python = environment.python_with(list(viewers.HTA), alone=list(viewers.HTA_ALONE))
        except environment.Unavailable as error:
            raise unittest.SkipTest(str(error))
        torch_bridge.make()
        run = Run(PROGRAM, SAMPLE, EPPROF_OUTPUT=str(interop.scratch() / "run.epp"))
        cls.written = collections.Counter(event["name"] for event in run.events if event.get("cat") in DEVICE)
        torch_json = interop.scratch() / "torch.json"
        torch_json.write_text(json.dumps(run.trace), encoding="utf-8")
        cls.found = {"torch": cls.analyse("torch", torch_json),
                     "epprof": cls.analyse("epprof", viewers.convert(interop.scratch() / "run.1.epp", "kineto"))}
        subprocess.run([viewers.EPPROF, "import", "-o", interop.scratch() / "imported.epp", torch_json], check=True,
                       stderr=subprocess.DEVNULL)
        cls.found["imported"] = cls.analyse("imported", viewers.convert(interop.scratch() / "imported.epp", "kineto"))

    @classmethod
    def analyse(cls, name, trace):
        folder = interop.scratch() / f"job {name}"
        folder.mkdir()
        shutil.copy(trace, folder / "rank0.json")
        # Otherwise events below a microsecond get a negative duration.
        done = subprocess.run([cls.python, interop.ROOT / "tests" / "interop" / "hta_tool.py", folder, "--times"],
                              env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{name}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def test_kernels_are_counted_as_in_torch(self):
        self.assertEqual(self.written["relu"], 300)
        for name, found in self.found.items():
            with self.subTest(name):
                self.assertEqual(found["counts"], dict(self.written))

    def test_no_time_is_negative_and_all_are_those_of_torch(self):
        for name, found in self.found.items():
            for kind in ("kernels", "temporal", "idle"):
                with self.subTest(trace=name, kind=kind):
                    wanted = self.found["torch"][kind]
                    self.assertEqual(set(found[kind]), set(wanted))
                    for key, value in found[kind].items():
                        self.assertGreaterEqual(value, 0, key)
                        # PyTorch writes nanoseconds as well, HTA adds up doubles.
                        self.assertAlmostEqual(value, wanted[key], delta=0.5, msg=key)
                    self.assertGreater(sum(found[kind].values()), 0)


if __name__ == "__main__":
    interop.main()
