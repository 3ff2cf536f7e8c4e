#!/usr/bin/env python3
"""epprof conform with a model in ONNX Runtime itself: providers that keep the contract, and such that do not."""
import json
import unittest

import interop

interop.in_each_environment()

from run_command import DIGITS, LIBRARY, epprof

CASES = ("2.model.session", "2.model.restart", "2.model.run_level", "3.model.threads")


class Model(unittest.TestCase):
    def verdicts(self, plugin, **environment):
        """The verdicts of the cases, and what they saw."""
        done = epprof("conform", "--case", "model", "--model", DIGITS, "--ort", LIBRARY, "--format", "json", "-o", "model.json",
                      interop.library(plugin), **environment)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        results = {result["case"]: result for result in json.loads(done.stdout)["results"]}
        self.assertEqual(tuple(results), CASES)
        return [results[name]["verdict"] for name in CASES], [results[name].get("seen", "") for name in CASES]

    def test_samples_pass(self):
        for sample in ("libsample_ort_ep", "libsample_cpp_ep"):
            verdicts, seen = self.verdicts(sample)
            self.assertEqual(verdicts, ["pass"] * 4, (sample, seen))

    def test_an_end_that_fails(self):
        verdicts, seen = self.verdicts("tests/plugins/end_fails_ep", END_FAILS_DIRECTORY=str(interop.BUILD))
        self.assertEqual(verdicts, ["fail"] * 4)
        self.assertIn("EndProfiling: the device is gone", seen[0])

    def test_a_provider_without_nodes(self):
        verdicts, seen = self.verdicts("tests/plugins/plain_ep")
        self.assertEqual(verdicts, ["skip"] * 4)
        self.assertEqual(seen[0], "the provider claims no node of the model")

    def test_a_provider_without_the_kit(self):
        """It serves one profiler at a time, so that runs of several threads may have each other's events."""
        verdicts, seen = self.verdicts("tests/plugins/formula_ep")
        self.assertEqual(verdicts[:3], ["pass"] * 3, seen)


if __name__ == "__main__":
    interop.main()
