#!/usr/bin/env python3
"""The sample EP on a Vulkan device, with the clock of ep_kit/clocks/vulkan.h: in ONNX Runtime and in an epprof host, with lavapipe, which
is the processor; and with a clock of 36 bits and 52.08 ns that wraps."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

import device_ep
import interop

LAVAPIPE = next(Path("/usr/share/vulkan/icd.d").glob("lvp_icd.*.json"), None)
LIBRARY = "libsample_vulkan_ep"


def missing():
    if not (interop.BUILD / f"{LIBRARY}.so").exists():
        return "built without Vulkan (libvulkan-dev, ./setup --interop)"
    return "" if LAVAPIPE else "no lavapipe (mesa-vulkan-drivers, ./setup --interop)"


if missing():
    print(f"SKIP: {missing()}", flush=True)
    sys.exit(1 if "CI" in os.environ else 77)

interop.in_each_environment()

PASSES = 300
ENVIRONMENT = {**os.environ, "VK_ICD_FILENAMES": str(LAVAPIPE), "VULKAN_EP_TRUTH": "1"}


class Vulkan(unittest.TestCase):
    def test_in_onnxruntime(self):
        device_ep.check_in_onnxruntime(self, LIBRARY, "VulkanEP", ENVIRONMENT)

    def check_in_an_epprof_host(self, **variables):
        with device_ep.recorded(self, LIBRARY, PASSES, {**ENVIRONMENT, **variables}) as database:
            kernels = device_ep.kernels_of(database)
            self.assertGreaterEqual(len(kernels), PASSES * device_ep.KERNELS_OF_PASS)
            wrong = device_ep.wrong_of(database, kernels)
            lost, = database.execute("SELECT coalesce(sum(events), 0) FROM ledger WHERE entry = 'lost'").fetchone()
            without_fit, = database.execute("""
                SELECT count(*) FROM timeline WHERE stream IS NOT NULL AND kind = 'slice' AND placement != 'fitted'""").fetchone()
        errors = sorted(kernel[2] for kernel in kernels)
        print(f"{len(kernels)} commands, {wrong} outside their bound, which is {errors[len(errors) // 2]} ns in the middle and {errors[-1]} "
              "at most", flush=True)
        self.assertEqual((lost, without_fit), (0, 0))
        self.assertLessEqual(wrong, len(kernels) // 1000)
        self.assertLess(errors[len(errors) // 2], 50000)

    def test_in_an_epprof_host(self):
        self.check_in_an_epprof_host()

    def test_a_clock_that_wraps(self):
        shim, count = interop.scratch() / "wrapping_vulkan.so", interop.scratch() / "count"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", shim,
                        Path(__file__).parent / "clocks" / "wrapping_vulkan.c"], check=True)
        for _ in range(10):
            self.check_in_an_epprof_host(LD_PRELOAD=str(shim), WRAPPING_VULKAN=str(count))
            before, after = map(int, count.read_text(encoding="utf-8").split())
            print(f"{before} timestamps before the wrap, {after} after it", flush=True)
            # On a busy machine little may be done before the wrap, which comes after a time.
            if min(before, after) > 100:
                return
        self.fail("the clock did not wrap in the middle")


if __name__ == "__main__":
    interop.main()
