#!/usr/bin/env python3
"""The sample EP on OpenCL devices, with the clock of ep_kit/clocks/opencl.h: in ONNX Runtime and in an epprof host, with POCL and
with Intel's runtime, both of which are the processor.  So the truth can be read: functions of the host run before and after each
kernel in its queue."""
import bisect
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

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
KERNELS_OF_PASS = 24  # 4 batches of 6 nodes
MODELS_ALL_ON_DEVICE = {"MatMul": ["gemm"], "MatMul of a stack": ["gemm"], "Gemm": ["gemm", "bias"], "Gemm, transposed": ["gemm", "bias"],
                        "Add": ["bias"], "Relu": ["relu"], "Softmax": ["softmax"], "Softmax of the last axis": ["softmax"],
                        "Softmax of another axis": []}


class Monotonic:
    """Converts the times of a trace to CLOCK_MONOTONIC."""

    def __init__(self, database):
        self.pairs = database.execute("SELECT time_ns, monotonic_ns FROM clock_pairs WHERE monotonic_ns NOT NULL ORDER BY time_ns").fetchall()
        self.times = [time for time, _ in self.pairs]

    def __call__(self, time):
        at = max(bisect.bisect(self.times, time), 1) - 1
        (first, first_ns), (last, last_ns) = self.pairs[at], self.pairs[min(at + 1, len(self.pairs) - 1)]
        return first_ns + (time - first) * (last_ns - first_ns) / (last - first) if last > first else first_ns + time - first


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
        done = subprocess.run([sys.executable, Path(__file__).with_name("opencl_host.py"), LIBRARY], env=self.environment(),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(told["right"], 62)
        self.assertEqual({name: off for name, off in told["off"].items() if off > 1e-4}, {})
        self.assertEqual(told["kernels"], MODELS_ALL_ON_DEVICE)
        self.assertEqual(told["names"], ["bias", "copy_in", "copy_out", "gemm", "relu", "softmax"])
        self.assertEqual(told["rows"], [0, 1, 2])
        self.assertEqual(told["lost"], 0)
        self.assertLessEqual(len(told["outside"]), told["kernels_count"] // 1000, told["outside"][:5])

    def recorded(self, passes, **variables):
        """A run of the digits program; the trace as a database."""
        trace, database = interop.scratch() / "opencl.epp", interop.scratch() / "opencl.db"
        done = subprocess.run([interop.BUILD / "digits", "--force", "-o", trace, "-n", str(passes), interop.library(LIBRARY)],
                              env=self.environment(**variables), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout[:14]), (0, "62 of 64 right"), done.stdout + done.stderr)
        done = subprocess.run([interop.BUILD / "epprof", "convert", "-t", "sqlite", "--force", "-o", database, trace], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return contextlib.closing(sqlite3.connect(database))

    def test_in_an_epprof_host(self):
        with self.recorded(PASSES, OPENCL_EP_TRUTH="1") as database:
            kernels = database.execute("""
                SELECT start_ns, start_ns + duration_ns, start_error_ns, end_error_ns, before.value, after.value FROM events
                JOIN args AS before ON before.event = events.event AND before.key = 'true_before_ns'
                JOIN args AS after ON after.event = events.event AND after.key = 'true_after_ns'""").fetchall()
            self.assertEqual(len(kernels), PASSES * KERNELS_OF_PASS)
            monotonic = Monotonic(database)
            lost, = database.execute("SELECT coalesce(sum(events), 0) FROM ledger WHERE entry = 'lost'").fetchone()
            early, = database.execute("SELECT count(*) FROM args WHERE key = 'reported_too_early_ns'").fetchone()
        self.assertEqual(lost, 0)
        # A kernel begins after the function before it and ends before the function after it.
        wrong = sum(monotonic(start) + start_error < before or monotonic(start) - start_error > after or
                    monotonic(end) - end_error > after or monotonic(end) + end_error < before
                    for start, end, start_error, end_error, before, after in kernels)
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
        self.assertGreater(false, 100 * KERNELS_OF_PASS // 10)
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
