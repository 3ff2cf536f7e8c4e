#!/usr/bin/env python3
"""Advice that is acted upon gives what it promised: models before and after the change that the first finding of epprof advise
asks for."""
import json
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
        self.findings = json.loads(epprof("advise", "--json", "run.epp").stdout)["findings"]

    def mean_ns(self):
        return statistics.fmean(self.runs_ns)

    def finding(self, test, rule):
        found = [each for each in self.findings if each["rule"] == rule]
        test.assertEqual(len(found), 1, self.findings)
        return found[0]


def described(what, saved_ns, gain_ns, error_ns):
    text = f"{what}: {saved_ns / 1e3:.0f} us saved, at most {gain_ns / 1e3:.0f} +- {error_ns / 1e3:.0f} us promised"
    print(text, flush=True)
    return text


class AnOperatorOfTheProvider(unittest.TestCase):
    """cpu-fallback: the sample EP has Relu, but not Clip, which splits its nodes."""
    PAIRS, RUNS = 15, 12

    def test_it(self):
        clip, relu = models.feed_forward("Clip"), models.feed_forward("Relu")
        x = numpy.random.default_rng(2).random((32, 32), "f4")
        results = [onnxruntime.InferenceSession(path).run(None, {"x": x})[0] for path in (clip, relu)]
        numpy.testing.assert_allclose(*results, rtol=1e-5)
        before, after = [], []
        for _ in range(self.PAIRS):
            before.append(Recorded(self, clip, "--ep", SAMPLE, "--runs", self.RUNS))
            after.append(Recorded(self, relu, "--ep", SAMPLE, "--runs", self.RUNS))
        # Other work on the machine only lengthens runs, so the quietest recordings are compared.
        slow, fast = (min(each, key=Recorded.mean_ns) for each in (before, after))
        finding = slow.finding(self, "cpu-fallback")
        saved_ns = slow.mean_ns() - fast.mean_ns()
        gain_ns, error_ns = (finding[key] / len(slow.runs_ns) for key in ("gain_ns", "gain_error_ns"))
        text = described("Relu instead of Clip, each run", saved_ns, gain_ns, error_ns)
        self.assertIs(slow.findings[0], finding)
        self.assertFalse(any(each["rule"] == "cpu-fallback" for each in fast.findings))
        self.assertLessEqual(saved_ns, gain_ns + error_ns, text)
        self.assertGreaterEqual(saved_ns, gain_ns / 4, text)


class AWarmUp(unittest.TestCase):
    """warm-up: the first run compiles the device's program."""
    PAIRS, RUNS, WARM_UP = 5, 20, 4

    def test_it(self):
        if opencl.missing():
            self.skipTest(opencl.missing())
        model = [models.path_of(self, "direction"), *models.OPTIONS["direction"], "--ep", OPENCL, "--runs", self.RUNS]
        off, firsts = [], 0
        for _ in range(self.PAIRS):
            # POCL keeps what it compiled.
            cache = tempfile.mkdtemp(dir=interop.scratch())
            before = Recorded(self, *model, "--warmup", 0, POCL_CACHE_DIR=cache, **opencl.installed())
            finding = before.finding(self, "warm-up")
            firsts += before.findings[0] is finding
            after = Recorded(self, *model, "--warmup", self.WARM_UP, POCL_CACHE_DIR=cache, **opencl.installed())
            count = finding["count"]
            saved_ns = sum(before.runs_ns[:count]) - sum(after.runs_ns[self.WARM_UP:self.WARM_UP + count])
            described(f"the first {count} of {self.RUNS} runs", saved_ns, finding["gain_ns"], finding["gain_error_ns"])
            off.append(abs(saved_ns - finding["gain_ns"]) / finding["gain_error_ns"])
        self.assertGreater(firsts, self.PAIRS // 2, "it is not the first finding")
        self.assertLessEqual(statistics.median(off), 1)


if __name__ == "__main__":
    interop.main()
