#!/usr/bin/env python3
"""epprof run with an EP on ONNX Runtime's own headers, in ONNX Runtime itself: whatever its events hold is read back from the
profile, and what cannot be, or was lost before, is counted."""
import json
import os
import signal
import subprocess
import time
import unittest

import interop

interop.in_each_environment()
import run_command

KERNELS = interop.library("tests/plugins/official_kernels_ep")
SAMPLE = interop.library("libsample_ort_ep")
RUNS = 100
ARGS = {
    "a value that begins like JSON": {"shape": "{not json", "k": "v"},
    "brackets that stay open": {"a": "[", "b": "{\"x\":[1", "c": "v"},
    "a quote in a key": {"a\"b": "v", "say \"hi\"": "x"},
    "quotes in values": {"k": "a \"quoted\" text", "l": "\"", "m": "ends\",\"like : {"},
    "lines": {"k": "two\nlines", "l": "tab\there", "a\"b": "v"},
    "JSON over several lines": {"shape": "[\n  1,\n  2\n]", "k": "v"},
    "JSON": {"shape": "[{\"float\":[8,64]}]", "k": "{}"},
}


def nodes(events):
    """What should have a kernel: the nodes that the collector saw."""
    return [event for event in events if event["kind"] == "slice" and event["category"] == "Node"]


class Losses(unittest.TestCase):
    def run_kernels(self, **environment):
        done = run_command.run(run_command.DIGITS, "--shape", "x=8,64", "--runs", RUNS, "--ep", KERNELS, KERNELS_EP_ID="1",
                               **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        valid = run_command.epprof("validate", "run.epp")
        self.assertEqual(valid.returncode, 0, valid.stdout)
        events = run_command.events()
        kernels = [event for event in events if event.get("stream") is not None and event["kind"] == "slice"]
        (account,) = [line["ledger"] for line in events if line["kind"] == "ledger" and
                      line["ledger"]["producer"] == "KernelsEP"]
        return events, kernels, account, run_command.epprof("summary", "run.epp").stdout

    def test_whatever_args_hold(self):
        for what, args in ARGS.items():
            with self.subTest(what):
                text = "\x1f".join(text for arg in args.items() for text in arg)
                events, kernels, account, told = self.run_kernels(KERNELS_EP_ARGS=text)
                self.assertEqual(len(kernels), len(nodes(events)))
                self.assertGreaterEqual(len(kernels), 3 * (RUNS + 1))
                self.assertIn("lost    none", told)
                for kernel in kernels[:3]:
                    self.assertEqual({key: parsed(kernel["args"].get(key)) for key in args},
                                     {key: parsed(value) for key, value in args.items()})

    def test_times_that_make_no_sense(self):
        events, kernels, account, told = self.run_kernels(KERNELS_EP_TIMES="1")
        self.assertEqual(len(kernels), len(nodes(events)))
        self.assertEqual((account["emitted"], account["lost"]), (len(kernels) + 4, {"refused": 4}))
        self.assertIn("lost    4 events: 4 refused\n", told)

    def test_what_the_kit_says_it_lost_is_no_event(self):
        _, kernels, account, told = self.run_kernels(KERNELS_EP_LOST="1")
        self.assertEqual({kernel["name"].split()[0] for kernel in kernels}, {"kernel"})
        self.assertEqual(account["lost"], {"plugin": 30})
        self.assertIn("KernelsEP: kernels: lost_no_buffer 28 lost_refused 2 parents_lost 7", told)

    def test_a_provider_that_fails(self):
        _, kernels, account, told = self.run_kernels(KERNELS_EP_FAIL="the device is gone")
        self.assertEqual(kernels, [])
        self.assertEqual((account["errors"], account["lost"]), (1, {"plugin": 1}))
        self.assertIn("KernelsEP: its events are lost: EndProfiling: the device is gone", told)

    def kill_a_run(self, library):
        """The summary of what remains, and its kernels."""
        command = [run_command.EPPROF, "run", "--ort", run_command.LIBRARY, "--force", "-o", "run.epp", "--shape", "x=8,64",
                   "--runs", "1000000", "--ep", library, run_command.DIGITS]
        started = subprocess.Popen([str(each) for each in command], cwd=interop.scratch(), stderr=subprocess.DEVNULL)
        time.sleep(2)
        started.send_signal(signal.SIGKILL)
        self.assertEqual(started.wait(), -signal.SIGKILL)
        done = run_command.epprof("recover", "--force", "-o", "recovered.epp", "run.epp")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = run_command.epprof("summary", "recovered.epp").stdout
        (interop.scratch() / "recovered.epp").unlink()
        return told, [event for event in run_command.events() if event.get("stream") is not None and event["kind"] == "slice"]

    def test_a_killed_run(self):
        told, kernels = self.kill_a_run(KERNELS)
        self.assertIn("lost    1 event: 1 killed\n          KernelsEP: missing: its events would have come", told)
        self.assertEqual(kernels, [])

    def test_a_killed_run_with_the_kit(self):
        """The events that the kit has submitted are there, so nothing says that they are missing."""
        told, kernels = self.kill_a_run(SAMPLE)
        self.assertNotIn("missing", told)
        self.assertGreater(len(kernels), 100)


def parsed(value):
    """JSON in an arg stands as it is, or as the text that it was."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


if __name__ == "__main__":
    interop.main()
