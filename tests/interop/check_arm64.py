#!/usr/bin/env python3
"""ONNX Runtime for arm64 under qemu-user: `epprof run` with the collector and the sample EP of `make ARM64=1`."""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import interop

interop.in_each_environment(interop.ONNXRUNTIME_NEWEST)
import onnxruntime

import environment

ARM64 = interop.ROOT / "build-arm64"
EPPROF = ARM64 / "epprof"
EP = ARM64 / "libsample_ort_ep.so"
RUNS = 11  # with that of the warm-up


def library(version):
    """ONNX Runtime's library of the wheel for arm64, which is fetched once."""
    folder = environment.cache() / f"onnxruntime-{version}-aarch64"
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="arm64-", dir=environment.cache()))
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--platform",
                 "manylinux_2_28_aarch64", "--only-binary=:all:", "-d", made, f"onnxruntime=={version}"]
        try:
            subprocess.run(fetch, capture_output=True, text=True, check=True)
            wheel = next(made.glob("*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(made, [name for name in archive.namelist() if "/libonnxruntime" in name])
            wheel.unlink()
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return next(folder.glob("onnxruntime/capi/libonnxruntime.so*"))


@unittest.skipUnless(EP.exists() and shutil.which("qemu-aarch64"), "no build-arm64 here (./setup --arm64, make ARM64=1)")
class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = interop.scratch() / "arm64.epp"
        done = cls.emulated("run", "--ort", library(onnxruntime.__version__), "--ep", EP, "-o", cls.trace,
                            interop.DATA / "digits.onnx")
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")

    @staticmethod
    def emulated(*arguments):
        return subprocess.run([interop.ROOT / "tests/emulate", EPPROF, *arguments], capture_output=True, text=True, check=False,
                              timeout=600)

    def test_both_read_it(self):
        texts = []
        for command in ("validate", "--strict"), ("info",), ("summary", "--format", "json"):
            here = subprocess.run([interop.BUILD / "epprof", *command, self.trace], capture_output=True, text=True, check=False)
            there = self.emulated(*command, self.trace)
            self.assertEqual((here.returncode, here.stderr), (0, ""))
            self.assertEqual((there.returncode, there.stdout, there.stderr), (0, here.stdout, ""))
            texts.append(here.stdout)
        self.assertIn("none lost", texts[0])
        self.assertRegex(texts[1], r"(?m)^clock +(cntvct|monotonic), [1-9]")

    def test_the_events_of_the_collector_and_of_the_ep(self):
        lines = subprocess.run([interop.BUILD / "epprof", "convert", "-t", "ndjson", "-o", "-", self.trace], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        events = [json.loads(line) for line in lines]
        named = lambda name: [event for event in events if event.get("name") == name]
        self.assertEqual(len(named("model_run")), RUNS)
        gemms = named("gemm")
        self.assertEqual(len(gemms), 2 * RUNS)
        for event in gemms:
            self.assertEqual(event["group"], "Sample accelerator")
            self.assertIn("parent", event)


if __name__ == "__main__":
    interop.main()
