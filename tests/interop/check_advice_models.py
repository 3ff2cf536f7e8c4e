#!/usr/bin/env python3
"""Advice that is acted upon gives what it promised: models before and after the change that a finding of epprof advise
asks for."""
import json
import math
import statistics
import tempfile
import unittest

import interop

interop.in_each_environment(interop.ONNXRUNTIME_NEWEST)
import numpy
import onnxruntime

import models
import opencl
from run_command import epprof, run

SAMPLE = interop.library("libsample_ort_ep")
OPENCL = interop.library("libsample_opencl_ep")


class Recorded:
    """A run of a model: how long each run took, and what advise finds."""

    def __init__(self, test, model, *arguments, **variables):
        done = run(model, *arguments, **variables)
        test.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(epprof("sql", "--format", "json", "run.epp", "SELECT duration_ns FROM timeline"
                                 " WHERE name = 'model_run' AND kind = 'slice' ORDER BY start_ns").stdout)
        self.runs_ns = [row["duration_ns"] for row in rows]
        kernels = json.loads(epprof("sql", "--format", "json", "run.epp", "SELECT sum(k.duration_ns) AS ns FROM timeline r"
                                   " LEFT JOIN timeline k ON k.work = 'kernel' AND k.start_ns >= r.start_ns"
                                   " AND k.start_ns < r.start_ns + r.duration_ns WHERE r.name = 'model_run'"
                                   " AND r.kind = 'slice' GROUP BY r.event ORDER BY r.start_ns").stdout)
        self.others_ns = [run_ns - (row["ns"] or 0) for run_ns, row in zip(self.runs_ns, kernels)]
        self.findings = json.loads(epprof("advise", "--json", "run.epp").stdout)["findings"]

    def run_ns(self):
        return statistics.median(self.runs_ns)

    def finding(self, test, rule):
        found = [each for each in self.findings if each["rule"] == rule]
        test.assertEqual(len(found), 1, self.findings)
        return found[0]


def median_and_error(values):
    """The median of some measurements, and twice its standard error: other work on the machine changes each of them."""
    median = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(value - median) for value in values)
    return median, 2 * 1.2533 * spread / math.sqrt(len(values))


class Promise(unittest.TestCase):
    def compare(self, what, pairs):
        """`pairs` has a (saved, gain, error of the gain) of each pair of recordings, in ns.  Returns how much more was saved than
        promised, and the error of that."""
        saved, gain, error = (statistics.median(column) for column in zip(*pairs))
        more, noise = median_and_error([saved - gain for saved, gain, _ in pairs])
        print(f"{what}: {saved / 1e3:.0f} us saved, at most {gain / 1e3:.0f} +- {error / 1e3:.0f} us promised, "
              f"{more / 1e3:.0f} +- {noise / 1e3:.0f} us more", flush=True)
        return more, error + noise

    def check_first(self, firsts, pairs):
        self.assertGreater(firsts, pairs // 2, "it is not the first finding")


class AnOperatorOfTheProvider(Promise):
    """cpu-fallback: the sample EP has Relu, but not Clip, which splits its nodes."""
    PAIRS, RUNS = 15, 30

    def test_it(self):
        clip, relu = models.feed_forward("Clip"), models.feed_forward("Relu")
        x = numpy.random.default_rng(2).random((32, 32), "f4")
        results = [onnxruntime.InferenceSession(path).run(None, {"x": x})[0] for path in (clip, relu)]
        numpy.testing.assert_allclose(*results, rtol=1e-5)
        pairs, firsts = [], 0
        for _ in range(self.PAIRS):
            slow, fast = (Recorded(self, model, "--ep", SAMPLE, "--runs", self.RUNS) for model in (clip, relu))
            finding = slow.finding(self, "cpu-fallback")
            firsts += slow.findings[0] is finding
            self.assertFalse(any(each["rule"] == "cpu-fallback" for each in fast.findings))
            pairs.append((slow.run_ns() - fast.run_ns(), finding["gain_ns"] / len(slow.runs_ns),
                          finding["gain_error_ns"] / len(slow.runs_ns)))
        self.check_first(firsts, self.PAIRS)
        more, error = self.compare("Relu instead of Clip, each run", pairs)
        self.assertLessEqual(more, error)
        worth, noise = median_and_error([saved / gain for saved, gain, _ in pairs])
        self.assertGreaterEqual(worth + noise, 1 / 4)


class ConstantsThatAreInputs(Promise):
    """repeated-copies: weights that the caller may replace are copied in each run, those that are constants only once."""
    PAIRS, RUNS, SIZES = 5, 20, {"rows": 4, "width": 256, "hidden": 512}

    def test_it(self):
        models_of = [models.feed_forward("Relu", replaceable=replaceable, **self.SIZES) for replaceable in (True, False)]
        x = numpy.random.default_rng(2).random((4, 256), "f4")
        results = [onnxruntime.InferenceSession(path).run(None, {"x": x})[0] for path in models_of]
        numpy.testing.assert_allclose(*results, atol=1e-5)
        pairs = []
        for _ in range(self.PAIRS):
            slow, fast = (Recorded(self, model, "--ep", SAMPLE, "--runs", self.RUNS) for model in models_of)
            finding = slow.finding(self, "repeated-copies")
            runs = len(slow.runs_ns) - 1
            # Weights that stay on the device are faster to read, too, which is no part of the promise.
            pairs.append((statistics.mean(slow.others_ns[1:]) - statistics.mean(fast.others_ns[1:]),
                          finding["gain_ns"] / runs, finding["gain_error_ns"] / runs))
        self.compare("constants instead of inputs, each run", pairs)
        worth, noise = median_and_error([saved / gain for saved, gain, _ in pairs])
        self.assertGreaterEqual(worth + noise, 1 / 2)
        self.assertLessEqual(worth - noise, 2)


class AWarmUp(Promise):
    """warm-up: the first run compiles the device's program."""
    PAIRS, RUNS, WARM_UP = 5, 20, 4

    def test_it(self):
        if opencl.missing():
            self.skipTest(opencl.missing())
        model = [models.path_of(self, "direction"), *models.OPTIONS["direction"], "--ep", OPENCL, "--runs", self.RUNS]
        pairs, firsts = [], 0
        for _ in range(self.PAIRS):
            # POCL keeps what it compiled.
            cache = tempfile.mkdtemp(dir=interop.scratch())
            before = Recorded(self, *model, "--warmup", 0, POCL_CACHE_DIR=cache, **opencl.installed())
            finding = before.finding(self, "warm-up")
            firsts += before.findings[0] is finding
            after = Recorded(self, *model, "--warmup", self.WARM_UP, POCL_CACHE_DIR=cache, **opencl.installed())
            count = finding["count"]
            saved_ns = sum(before.runs_ns[:count]) - count * statistics.median(after.runs_ns[self.WARM_UP:])
            pairs.append((saved_ns, finding["gain_ns"], finding["gain_error_ns"]))
        self.check_first(firsts, self.PAIRS)
        more, error = self.compare("without the first runs", pairs)
        self.assertLessEqual(abs(more), error)


if __name__ == "__main__":
    interop.main()
