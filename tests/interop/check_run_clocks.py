#!/usr/bin/env python3
"""epprof run with an EP on ONNX Runtime's own headers whose device has a clock of its own, compared once as ONNX Runtime documents:
the bounds of its events hold whatever the clock does, and no event has a wrong parent that is not marked."""
import statistics
import unittest

import interop

interop.in_each_environment()
import onnxruntime

import run_command

KERNELS = interop.library("tests/plugins/official_kernels_ep")
SAMPLE = interop.library("libsample_ort_ep")
COMPARED_NS = 2000  # what comparing the trace with CLOCK_MONOTONIC may be off
CLOCKS = {"right": {}, "20 ppm": {"KERNELS_EP_PPM": "20"}, "200 ppm": {"KERNELS_EP_PPM": "200"},
          "5,000 ppm": {"KERNELS_EP_PPM": "5000"}, "jumps ahead": {"KERNELS_EP_JUMP": "50000"},
          "jumps back": {"KERNELS_EP_JUMP": "-50000"}}
NEWEST = not onnxruntime.__version__.startswith(("1.26.", "1.30."))
# What measures a clock does not depend on ONNX Runtime, which gives ids, times and threads: with older versions one clock that is
# wrong will do, and the jumps in test_two_providers and test_the_kit.
OF_THIS_VERSION = CLOCKS if NEWEST else {"5,000 ppm": CLOCKS["5,000 ppm"]}


class Run:
    """What a run recorded, with the truth that the kernels' args tell."""

    def __init__(self, test, *arguments, runs, kernels_of_run=3, **environment):
        done = run_command.run(run_command.DIGITS, "--shape", "x=8,64", "--runs", runs, "--ep", KERNELS, *arguments,
                               **{"KERNELS_EP_PPM": "0", **environment})
        test.assertEqual(done.returncode, 0, done.stderr)
        slices = [event for event in run_command.events() if event["kind"] == "slice"]
        kernels = [event for event in slices if event.get("stream") is not None]
        self.kernels = [event for event in kernels if "true_id" in event["args"]]
        self.of_others = [event for event in kernels if "true_id" not in event["args"]]
        nodes = [event for event in slices if event["category"] == "Node" and event.get("stream") is None]
        test.assertGreaterEqual(len(self.kernels), kernels_of_run * runs * 99 // 100)
        nodes = {(node["args"]["ort_profile_us"] + node["args"]["ort_ts_us"], node["tid"]): node for node in nodes}
        for kernel in self.kernels:
            kernel["args"] = {key: int(value) if key.startswith("true_") else value for key, value in kernel["args"].items()}
            kernel["node"] = nodes[kernel["args"]["true_id"], kernel["args"]["true_thread"]]
        # Of the trace's time, the one at CLOCK_MONOTONIC's 0: both saw the nodes begin.
        self.zero_ns = statistics.median(kernel["node"]["start_ns"] - kernel["args"]["true_node_ns"] for kernel in self.kernels)

    def outside_their_bound(self):
        return [kernel for kernel in self.kernels
                if abs(kernel["start_ns"] - self.zero_ns - kernel["args"]["true_start_ns"]) > kernel["start_error_ns"] + COMPARED_NS
                or abs(kernel["start_ns"] + kernel["duration_ns"] - self.zero_ns - kernel["args"]["true_end_ns"])
                > kernel["end_error_ns"] + COMPARED_NS]

    def most_outside_ns(self):
        """By how much the start of a kernel is outside its bound at most; negative if all are inside."""
        return max(abs(kernel["start_ns"] - self.zero_ns - kernel["args"]["true_start_ns"]) - kernel["start_error_ns"]
                   for kernel in self.kernels) - COMPARED_NS

    def outside_their_node(self):
        """By more than microseconds may be rounded."""
        return [kernel for kernel in self.kernels
                if kernel["start_ns"] < kernel["node"]["start_ns"] - 3000
                or kernel["start_ns"] + kernel["duration_ns"] > kernel["node"]["start_ns"] + kernel["node"]["duration_ns"] + 3000]

    def with_wrong_parents(self):
        return [kernel for kernel in self.kernels if kernel.get("parent") not in (None, kernel["node"]["id"])]


class Clocks(unittest.TestCase):
    def test_with_ids(self):
        for what, environment in OF_THIS_VERSION.items():
            with self.subTest(what):
                # 20 ppm, and a jump each 200 ms, need a long run.
                runs = 10000 if what == "20 ppm" or "KERNELS_EP_JUMP" in environment else 4000
                run = Run(self, runs=runs, KERNELS_EP_ID="1", **environment)
                told = run_command.summary()
                most = len(run.kernels) // 1000
                self.assertLessEqual(len(run.outside_their_bound()), most)
                self.assertLessEqual(len(run.outside_their_node()), most)
                self.assertEqual(run.with_wrong_parents(), [])
                self.assertEqual(told["correlated"], len(run.kernels))
                self.assertLess(statistics.median(kernel["start_error_ns"] for kernel in run.kernels), 50000)
                valid = run_command.epprof("validate", "run.epp")
                self.assertEqual(valid.returncode, 0, valid.stdout)
                self.assertEqual("without clock pairs jumped" in valid.stdout, "KERNELS_EP_JUMP" in environment)

    def test_two_providers(self):
        """A clock that is right is measured as well as without the other one."""
        for what in "5,000 ppm", "jumps ahead":
            with self.subTest(what):
                run = Run(self, "--ep", SAMPLE, runs=1000, kernels_of_run=2, KERNELS_EP_ID="1", **CLOCKS[what])
                self.assertLessEqual(len(run.outside_their_bound()), len(run.kernels) // 1000)
                self.assertGreater(len(run.of_others), 6000)
                nodes = {event["id"]: event for event in run_command.events() if event["kind"] == "slice"}
                elsewhere = [kernel for kernel in run.of_others
                             if kernel["start_ns"] + kernel["start_error_ns"] < nodes[kernel["parent"]]["start_ns"]]
                self.assertEqual(elsewhere, [])
                self.assertLess(statistics.median(kernel["start_error_ns"] for kernel in run.of_others), 100000)

    def test_the_kit(self):
        """It compares the clocks all the time: a jump between two comparisons leaves each event in its node."""
        for jump_ns in ("50000000", "-50000000") if NEWEST else ("50000000",):
            for hosted in {}, {"EPPROF_PROFILERS": SAMPLE}:
                with self.subTest(jump_ns, **hosted):
                    done = run_command.run(run_command.DIGITS, "--shape", "x=8,64", "--runs", 5000, "--ep", SAMPLE,
                                           ACCELERATOR_JUMP_AT_NS="250000000", ACCELERATOR_JUMP_NS=jump_ns, **hosted)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    slices = {event["id"]: event for event in run_command.events() if event["kind"] == "slice"}
                    kernels = [event for event in slices.values() if event.get("stream") is not None]
                    self.assertGreater(len(kernels), 30000)
                    elsewhere = [kernel for kernel in kernels for parent in [slices[kernel["parent"]]]
                                 if kernel["start_ns"] < parent["start_ns"] - 3000 or kernel["start_ns"] + kernel["duration_ns"]
                                 > parent["start_ns"] + parent["duration_ns"] + 3000]
                    self.assertLessEqual(len(elsewhere), len(kernels) // 1000)

    def test_without_ids(self):
        """Nothing names the causes: a clock that can be right keeps its bound, and of one that cannot nothing is known."""
        slow = {"-5,000 ppm": {"KERNELS_EP_PPM": "-5000"}} if NEWEST else {}
        for threads in 1, 8:
            for what, environment in {**OF_THIS_VERSION, **slow}.items():
                with self.subTest(what, threads=threads):
                    # Long enough for a clock that jumps each 200 ms.
                    run = Run(self, "--threads", threads, runs=12000 if "KERNELS_EP_JUMP" in environment else 4000, **environment)
                    self.assertLessEqual(len(run.outside_their_bound()), len(run.kernels) // 1000)
                    valid = run_command.epprof("validate", "run.epp")
                    is_adrift = "from the start of the recording's run" in valid.stdout
                    if what not in ("right", "20 ppm", "200 ppm"):
                        # An interrupted comparison may leave a bound that covers all of this.
                        self.assertTrue(is_adrift or run.most_outside_ns() <= 0, run.most_outside_ns())
                    else:
                        self.assertFalse(is_adrift)
                        starts = [kernel["start_ns"] for kernel in run.kernels]
                        self.assertLess(max(kernel["start_error_ns"] for kernel in run.kernels), (max(starts) - min(starts)) / 10)

    def test_without_ids_each_parent_is_marked(self):
        """Of many threads each may be meant, so no event is joined."""
        run = Run(self, "--threads", 8, runs=1000)
        told = run_command.summary()
        self.assertEqual([kernel for kernel in run.with_wrong_parents() if kernel["placement"] != "inferred"], [])
        self.assertGreater(told["ambiguous"], len(run.kernels) / 2)
        self.assertEqual(told["correlated"], 0)
        self.assertEqual(told["inferred"] + told["ambiguous"] + told["uncorrelated"], told["device_events"])


if __name__ == "__main__":
    interop.main()
