#!/usr/bin/env python3
"""PyTorch's bridge in the wheel: it is compiled once, where it is first used, and what happens if it cannot be."""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.TORCH)
import built_wheel
import torch_bridge

PROGRAM = """
import ctypes, sys, torch
from torch.profiler import ProfilerActivity, profile
torch.utils.rename_privateuse1_backend("sample")
import epprof_kineto
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
    torch.mm(torch.ones(8, 8), torch.ones(8, 8))
    assert ctypes.CDLL(sys.argv[1]).epp_sample_work(7) == 0
print(sum(event.name == "relu" for event in profiled.events()), epprof_kineto.LOADED)
"""
OPERATIONS = """
import ctypes, sys, torch
torch.mm(torch.ones(8, 8), torch.ones(8, 8))
assert ctypes.CDLL(sys.argv[1]).epp_sample_work(7) == 0
print("done")
"""


class WheelKineto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site, cls.cache = interop.scratch() / "site", interop.scratch() / "cache"
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", cls.site,
                        built_wheel.make()], check=True)
        cls.clean = {name: value for name, value in os.environ.items() if not name.startswith(("EPPROF_", "LD_", "PYTHONPATH"))}

    def start(self, *command, **environ):
        environ = {**self.clean, "PYTHONPATH": str(self.site), "XDG_CACHE_HOME": str(self.cache), **environ}
        return subprocess.Popen(command, env=environ, cwd=interop.scratch(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_program(self, program, *arguments, **environ):
        process = self.start(sys.executable, "-c", program, *arguments, **environ)
        out, err = process.communicate()
        return process.returncode, out, err

    def expect_import_error(self, text, **environ):
        returncode, _, err = self.run_program("import epprof_kineto", **environ)
        self.assertNotEqual(returncode, 0)
        self.assertRegex(err.splitlines()[-1], f"^ImportError: .*{text}")

    def kept(self):
        return [path for path in (self.cache / "epprof").iterdir() if path.is_dir()]

    def test_1_two_processes_compile_it_once(self):
        # A umask that lets others write does not matter, nor does a kill while it was made.
        (self.cache / "epprof").mkdir(mode=0o700, parents=True)
        environ = {"KINETO_PLUGIN_PATH": torch_bridge.SAMPLE}
        both = [self.start("sh", "-c", 'umask 0; exec "$@"', "sh", sys.executable, "-c", PROGRAM, torch_bridge.SAMPLE, **environ)
                for _ in range(2)]
        outputs = [process.communicate() for process in both]
        folder, = self.kept()
        for process, (out, err) in zip(both, outputs):
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(out.split(), ["7", str(folder / "libepprof_kineto.so")])
        self.assertEqual(sum("compiling PyTorch's bridge" in err for _, err in outputs), 1)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        # Now it needs no compiler.
        returncode, out, err = self.run_program(PROGRAM, torch_bridge.SAMPLE, CXX="/no/compiler", **environ)
        self.assertEqual((returncode, out.split()[:1]), (0, ["7"]), err)

    def test_2_record(self):
        environ = {"PATH": f"{Path(sys.executable).parent}:{self.clean['PATH']}"}
        for name, cache, has_bridge in ("with", self.cache, True), ("without", interop.scratch() / "none", False):
            output = interop.scratch() / f"{name}.epp"
            (interop.scratch() / "program.py").write_text(OPERATIONS, encoding="utf-8")
            process = self.start("sh", "-c", 'exec "$@"', "sh", str(self.site / "epprof/lib/epprof"), "record", "-o", str(output),
                                 "--profilers", torch_bridge.SAMPLE, "--", sys.executable, "program.py", torch_bridge.SAMPLE, CXX="/no/compiler",
                                 **{**environ, "XDG_CACHE_HOME": str(cache)})
            out, err = process.communicate()
            self.assertEqual((process.returncode, out), (0, "done\n"), err)
            notes = [line for line in err.splitlines() if "without the plugins" in line]
            self.assertEqual([bool(re.search("no C.. compiler .*install one", line)) for line in notes], [] if has_bridge else [True], err)
            done = subprocess.run([self.site / "epprof/lib/epprof", "summary", "--format", "json", output], check=True,
                                  capture_output=True, text=True)
            summary = json.loads(done.stdout)
            self.assertIn("aten::mm", {op["name"] for op in summary["ops"]})
            self.assertEqual(any(kernel["count"] >= 7 for kernel in summary["kernels"]), has_bridge, summary["kernels"])

    def test_no_compiler(self):
        self.expect_import_error("there is no C.. compiler .*apt-get install g..", CXX="/no/compiler", XDG_CACHE_HOME=str(interop.scratch()))

    def test_a_compiler_that_fails(self):
        cache = interop.scratch() / "failed"
        self.expect_import_error("the bridge cannot be compiled .*all is in ", CXX="false", XDG_CACHE_HOME=str(cache))
        self.assertEqual([path.suffix for path in (cache / "epprof").iterdir() if path.is_dir()], [])

    def test_a_cache_that_others_can_write(self):
        cache = interop.scratch() / "open"
        (cache / "epprof").mkdir(parents=True)
        (cache / "epprof").chmod(0o777)
        self.expect_import_error("into which others can write", CXX="false", XDG_CACHE_HOME=str(cache))

    def test_a_bridge_of_another_torch(self):
        """It is in the folder where the bridge of a build is."""
        other = interop.scratch() / "other"
        other.mkdir()
        (other / "epprof_kineto.py").write_text((self.site / "epprof_kineto.py").read_text(encoding="utf-8"), encoding="utf-8")
        self.expect_import_error("make kineto makes it", PYTHONPATH=str(other))
        (other / "libepprof_kineto.so").write_bytes(b"compiled for torch 1.0.0\0")
        self.expect_import_error("is compiled for another torch than", PYTHONPATH=str(other))


if __name__ == "__main__":
    interop.main()
