#!/usr/bin/env python3
"""Events of EPs from ONNX Runtime's profile into a trace and back: imported, or by `epprof run`, they come out of
`epprof convert -t ort` as ONNX Runtime wrote them."""
import collections
import json
import os
import unittest

import interop

interop.in_each_environment()
import numpy
import onnxruntime

import ort
import run_command

KERNELS = interop.library("tests/plugins/official_kernels_ep")
ESCAPES = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 31)
# Keys of the kit and of epprof are an EP's own here.  A quote is not escaped by ONNX Runtime before 1.31.
ARGS = {"shape": "[[8, 64],\t{}]", "number": "007", "float": "1.50", "quote": 'a "b"' if ESCAPES else "a b", "stream": "3",
        "device": "x", "placement": "p", "start_error_ns": "1"}


def setUpModule():
    global libraries
    os.environ["KERNELS_EP_ARGS"] = "\x1f".join(text for arg in ARGS.items() for text in arg)
    libraries = [ort.Library("libsample_ort_ep", "SampleEP").__enter__(),
                 ort.Library("tests/plugins/official_kernels_ep", "KernelsEP").__enter__()]


def tearDownModule():
    for library in libraries:
        library.__exit__()


def events_of(path):
    with open(path, encoding="utf-8") as file:
        return [event for event in json.load(file) if event["name"] != "epprof.ledger"]


def counted(events):
    return collections.Counter(json.dumps(event, sort_keys=True) for event in events)


def back(trace):
    done = run_command.epprof("convert", "-t", "ort", "--force", "-o", "back.json", trace)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return events_of(interop.scratch() / "back.json")


class RoundTrip(unittest.TestCase):
    def check_import(self, *used):
        session = ort.session(run_command.DIGITS, *used, profiled=True)
        for _ in range(50):
            session.run(None, {"x": numpy.zeros((8, 64), "f4")})
        written = session.end_profiling()
        done = run_command.epprof("import", "--force", "-o", "imported.epp", written)
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted, got = counted(events_of(written)), counted(back("imported.epp"))
        self.assertEqual(list((wanted - got).elements())[:3], [])
        self.assertEqual(list((got - wanted).elements())[:3], [])
        kernels = [event for event in events_of(written) if event["cat"] == "Kernel"]
        self.assertGreaterEqual(len(kernels), 100)

    def test_the_sample(self):
        self.check_import(libraries[0])

    def test_an_ep_without_the_kit(self):
        self.check_import(libraries[1])

    def test_both(self):
        self.check_import(*libraries)

    def check_run(self, *options, **environment):
        done = run_command.run(run_command.DIGITS, "--shape", "x=8,64", "--runs", 50, "--ep", KERNELS, *options, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = back("run.epp")
        kernels = [event for event in events if event["cat"] == "Kernel"]
        self.assertGreaterEqual(len(kernels), 3 * 51)
        # It repeats the times of the nodes, which the collector has from ONNX Runtime.
        nodes = collections.Counter((event["name"], event["ts"], event["dur"]) for event in events if event["cat"] == "Node")
        self.assertEqual(collections.Counter((event["name"].removeprefix("kernel of "), event["ts"], event["dur"])
                                             for event in kernels) - nodes, collections.Counter())
        for kernel in kernels:
            self.assertEqual((kernel["pid"], kernel["tid"]), (-1, -1))
            true = {key: kernel["args"].pop(key) for key in ("true_id", "true_thread")}
            self.assertEqual(kernel["args"].pop("ort_correlation_id", true["true_id"]), true["true_id"])
            self.assertTrue(all(value.isdigit() for value in true.values()))
            self.assertEqual(kernel["args"], {**ARGS, "shape": [[8, 64], {}]})

    def test_run(self):
        self.check_run()

    def test_run_by_run(self):
        self.check_run("--run-level", "--threads", 2, KERNELS_EP_ID="1")


if __name__ == "__main__":
    interop.main()
