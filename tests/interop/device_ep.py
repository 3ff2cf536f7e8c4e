"""What the tests of the sample EPs on devices of OpenCL and Vulkan have in common.  The devices are the processor, so the true times are
known."""
import bisect
import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import interop

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


def check_in_onnxruntime(test, library, ep_name, variables):
    """Models and the digits in ONNX Runtime: results, kernels and their times."""
    done = subprocess.run([sys.executable, Path(__file__).with_name("device_ep_host.py"), library, ep_name], env=variables,
                          capture_output=True, text=True, check=False)
    test.assertEqual(done.returncode, 0, done.stderr)
    told = json.loads(done.stdout.splitlines()[-1])
    test.assertEqual(told["right"], 62)
    test.assertEqual({name: off for name, off in told["off"].items() if off > 1e-4}, {})
    test.assertEqual(told["kernels"], MODELS_ALL_ON_DEVICE)
    test.assertEqual(told["names"], ["bias", "copy_in", "copy_out", "gemm", "relu", "softmax"])
    test.assertEqual(told["rows"], [0, 1, 2])
    test.assertEqual(told["lost"], 0)
    test.assertLessEqual(len(told["outside"]), told["kernels_count"] // 1000, told["outside"][:5])


def recorded(test, library, passes, variables):
    """A run of the digits program; the trace as a database."""
    trace, database = interop.scratch() / "device.epp", interop.scratch() / "device.db"
    done = subprocess.run([interop.BUILD / "digits", "--force", "-o", trace, "-n", str(passes), interop.library(library)],
                          env=variables, capture_output=True, text=True, check=False)
    test.assertEqual((done.returncode, done.stdout[:14]), (0, "62 of 64 right"), done.stdout + done.stderr)
    done = subprocess.run([interop.BUILD / "epprof", "convert", "-t", "sqlite", "--force", "-o", database, trace], capture_output=True,
                          text=True, check=False)
    test.assertEqual(done.returncode, 0, done.stderr)
    return contextlib.closing(sqlite3.connect(database))


def kernels_of(database):
    """Start, end, their errors, and the host's times before and after, of each kernel with these times."""
    return database.execute("""
        SELECT start_ns, start_ns + duration_ns, start_error_ns, end_error_ns, before.value, after.value FROM events
        JOIN args AS before ON before.event = events.event AND before.key = 'true_before_ns'
        JOIN args AS after ON after.event = events.event AND after.key = 'true_after_ns'""").fetchall()


def wrong_of(database, kernels):
    """How many are outside their bounds: a kernel begins after the time before it and ends before the one after it."""
    monotonic = Monotonic(database)
    return sum(monotonic(start) + start_error < before or monotonic(start) - start_error > after or
               monotonic(end) - end_error > after or monotonic(end) + end_error < before
               for start, end, start_error, end_error, before, after in kernels)
