#!/usr/bin/env python3
"""epprof conform with plugins of vendors, as their packages have them, on a machine that need not have their devices.

docs/plugins.md lists what the plugins do."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

import environment
import interop

interop.in_each_environment(interop.VENDORS)

EPPROF = str(interop.BUILD / "epprof")
PACKAGES = Path(sys.prefix)


def conform(packages, name, *options):
    """The exit status, and the results by the names of the cases."""
    (library,) = packages.glob(f"lib/python*/site-packages/**/{name}.so")
    command = [EPPROF, "conform", "--quick", "--format", "json", "-o", str(interop.scratch() / "conform.json"), *options,
               str(library)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=800)
    if done.returncode not in (0, 1):
        raise AssertionError(f"exit status {done.returncode}: {done.stderr}")
    return done.returncode, {result["case"]: result for result in json.loads(done.stdout)["results"]}


def verdicts(results):
    return {name: result["verdict"] for name, result in results.items() if result["verdict"] not in ("pass", "skip")}


class OpenVino(unittest.TestCase):
    NAME = "libonnxruntime_providers_openvino_plugin"

    def test_it_passes_without_events(self):
        code, results = conform(PACKAGES, self.NAME, "--device", "cpu:vendor=0x8086", "--case",
                                r"^(1\.load|2\.order\.|2\.restart\.many)")
        self.assertEqual(verdicts(results), {})
        self.assertEqual(code, 0)
        for name in ("1.load.old_host", "1.load.unload", "2.order.start_twice", "2.restart.many"):
            self.assertEqual(results[name]["verdict"], "pass")

    def test_without_its_device(self):
        code, results = conform(PACKAGES, self.NAME, "--level", "1")
        self.assertEqual((code, verdicts(results)), (1, {"1.load.library": "fail"}))
        self.assertIn("(CPU); --device offers another one", results["1.load.library"]["seen"])


class WebGpu(unittest.TestCase):
    def test_it_needs_a_device(self):
        code, results = conform(PACKAGES, "libonnxruntime_providers_webgpu", "--device", "gpu:vendor=0x10de", "--level", "1")
        if results["1.load.library"]["verdict"] != "pass":
            self.assertEqual((code, verdicts(results)), (1, {"1.load.library": "fail"}))
            self.assertRegex(results["1.load.library"]["seen"], "CreateEp: ")


class Ggml(unittest.TestCase):
    def test_it_has_no_profiler(self):
        code, results = conform(PACKAGES, "libonnxruntime_ggml", "--level", "1")
        self.assertEqual((code, verdicts(results)), (1, {"1.load.profiler": "fail"}))
        self.assertIn("it has no profiler", results["1.load.profiler"]["seen"])


class Pjrt(unittest.TestCase):
    CASES = r"^(1\.load\.(library|profiler|unload)|2\.session\.empty|[123]\.pjrt\..*|3\.threads\.pjrt)$"
    # Those of PJRT's ABI that need no start.
    WITHOUT_START = {"1.pjrt.chain", "1.pjrt.same", "1.pjrt.table_size", "1.pjrt.consume", "2.pjrt.destroy_null"}

    @classmethod
    def setUpClass(cls):
        try:
            cls.packages = interop.PJRT_VENDORS.python_for(interop.PJRT_VENDORS.versions()[0]).parents[1]
        except environment.Unavailable as error:
            raise unittest.SkipTest(str(error))

    def test_cuda(self):
        code, results = conform(self.packages, "xla_cuda_plugin", "--case", self.CASES)
        self.assertEqual(code, 0, results)
        self.assertEqual(verdicts(results), {})
        for name in ("1.pjrt.same", "2.pjrt.start_twice", "2.pjrt.collect_twice", "3.pjrt.two", "3.pjrt.threads"):
            self.assertEqual(results[name]["verdict"], "pass")

    def test_tpu(self):
        """Without a TPU its profiler exists, but cannot be started."""
        code, results = conform(self.packages, "libtpu", "--case", self.CASES)
        self.assertEqual(results["1.load.library"]["verdict"], "pass")
        self.assertEqual(results["1.load.profiler"]["verdict"], "pass")
        if code == 1:
            failed = verdicts(results)
            self.assertEqual(set(failed.values()), {"fail"})
            self.assertLessEqual({"1.load.unload", "2.session.empty", "2.pjrt.start_twice", "3.pjrt.threads"}, set(failed))
            self.assertFalse(self.WITHOUT_START & set(failed))
            for name in failed:
                self.assertIn("start", results[name]["seen"])
                self.assertIn("code 12: No factory for ACTIVITY_TRACING", results[name]["seen"])


if __name__ == "__main__":
    interop.main()
