#!/usr/bin/env python3
"""The sample EP on OpenCL devices, with the clock of ep_kit/clocks/opencl.h: in ONNX Runtime and in an epprof host, with POCL and
with Intel's runtime, both of which are the processor.  So the truth can be read: functions of the host run before and after each
kernel in its queue."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

import device_ep
import environment
import interop
import opencl

if opencl.missing():
    print(f"SKIP: {opencl.missing()}", flush=True)
    sys.exit(1 if "CI" in os.environ else 77)

interop.in_each_environment()
import onnxruntime

LIBRARY = "libsample_opencl_ep"
# 100,800 kernels; ONNX Runtime has no part in them.
PASSES = 50 if onnxruntime.__version__.startswith(("1.26.", "1.30.")) else 4200


class Runtime:
    """The tests, for each runtime."""

    def variables(self):
        raise NotImplementedError

    def environment(self, **others):
        try:
            return {**os.environ, **self.variables(), **others}
        except environment.Unavailable as error:
            self.skipTest(str(error))

    def test_in_onnxruntime(self):
        device_ep.check_in_onnxruntime(self, LIBRARY, "OpenCLEP", self.environment())

    def recorded(self, passes, **variables):
        return device_ep.recorded(self, LIBRARY, passes, self.environment(**variables))

    def test_in_an_epprof_host(self):
        with self.recorded(PASSES, OPENCL_EP_TRUTH="1") as database:
            kernels = device_ep.kernels_of(database)
            self.assertEqual(len(kernels), PASSES * device_ep.KERNELS_OF_PASS)
            wrong = device_ep.wrong_of(database, kernels)
            lost, = database.execute("SELECT coalesce(sum(events), 0) FROM ledger WHERE entry = 'lost'").fetchone()
            early, = database.execute("SELECT count(*) FROM args WHERE key = 'reported_too_early_ns'").fetchone()
        self.assertEqual(lost, 0)
        errors = sorted(kernel[2] for kernel in kernels)
        print(f"{len(kernels)} kernels, {wrong} outside their bound, which is {errors[len(errors) // 2]} ns in the middle and {errors[-1]} "
              f"at most; {early} starts reported too early", flush=True)
        self.assertLessEqual(wrong, len(kernels) // 1000)

    def test_a_driver_with_false_starts(self):
        """false_starts.c makes some starts earlier than the submission, and counts them."""
        shim = interop.scratch() / "false_starts.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", shim, Path(__file__).parent / "clocks" / "false_starts.c"],
                       check=True)
        count = interop.scratch() / "count"
        with self.recorded(100, LD_PRELOAD=str(shim), FALSE_STARTS=str(count)) as database:
            marked = [early for early, in database.execute("SELECT value FROM args WHERE key = 'reported_too_early_ns'")]
            outside, = database.execute("""
                SELECT count(*) FROM events JOIN events AS parents ON events.parent = parents.id JOIN args ON args.event = events.event
                WHERE key = 'reported_too_early_ns' AND events.start_ns + events.start_error_ns < parents.start_ns""").fetchone()
        false = int(count.read_text(encoding="utf-8"))
        self.assertGreater(false, 100 * device_ep.KERNELS_OF_PASS // 10)
        self.assertEqual((len(marked), outside), (false, 0))
        self.assertGreaterEqual(min(marked), 5000)


class Installed(Runtime, unittest.TestCase):
    def variables(self):
        return opencl.installed()


class Intel(Runtime, unittest.TestCase):
    def variables(self):
        return opencl.intel()


if __name__ == "__main__":
    interop.main()
