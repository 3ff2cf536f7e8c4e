#!/usr/bin/env python3
"""epprof import of the trace that torch.profiler exports: operations, annotations, arrows, and the streams of a device."""
import collections
import json
import os
import subprocess
import sys
import unittest

import interop

interop.in_each_environment(interop.TORCH)
import torch_bridge

PROGRAM = """
import ctypes, sys
import torch
from torch.profiler import ProfilerActivity, profile, record_function
torch.utils.rename_privateuse1_backend("sample")
torch.ops.load_library(sys.argv[2])
lib = ctypes.CDLL(sys.argv[3])

@torch.library.custom_op("sample::work", mutates_args=())
def work(x: torch.Tensor, count: int) -> torch.Tensor:
    assert lib.epp_sample_work(count) == 0
    return x.clone()

w = torch.randn(4, 4, requires_grad=True)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], record_shapes=True) as p:
    with record_function("step 1"):
        work(torch.ones(4), 10)
        (w @ torch.ones(4)).sum().backward()
p.export_chrome_trace(sys.argv[1])
"""
SAMPLE = interop.library("libsample_pu1_ep")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def epprof(*arguments):
    done = subprocess.run([str(interop.BUILD / "epprof"), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done


class Import(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch_bridge.make()
        written, trace = interop.scratch() / "trace.json", interop.scratch() / "run.epp"
        subprocess.run([sys.executable, "-c", PROGRAM, written, torch_bridge.PATH, SAMPLE], check=True,
                       env={**os.environ, "KINETO_PLUGIN_PATH": SAMPLE}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(written, encoding="utf-8") as file:
            document = json.load(file)
        cls.base_ns = document["baseTimeNanoseconds"]
        cls.written = document["traceEvents"]
        cls.said = epprof("import", "-o", trace, written).stderr
        epprof("validate", trace)
        lines = [json.loads(line) for line in epprof("convert", "-t", "ndjson", "-o", "-", trace).stdout.splitlines()]
        cls.epoch_ns = int(lines[-1]["trace"]["epoch_unix_ns"])
        cls.slices = [line for line in lines if line["kind"] == "slice"]
        cls.arrows = [line for line in lines if line["kind"] == "flow"]
        cls.trace = trace

    def test_every_event_is_there_with_its_times_and_args(self):
        def key(name, unix_ns, duration_ns, args):
            return name, unix_ns, duration_ns, json.dumps(args, sort_keys=True)

        def plain(args):
            """Lists are kept as their text."""
            return {name: json.dumps(value, separators=(",", ":")) if isinstance(value, list) else str(value)
                    for name, value in args.items()}

        wanted = collections.Counter(
            key(event["name"], self.base_ns + round(event["ts"] * 1000), round(event["dur"] * 1000),
                {**plain(event.get("args", {})), "cat": event["cat"]}) for event in self.written if event["ph"] == "X")
        got = collections.Counter(
            key(event["name"], self.epoch_ns + event["start_ns"], event["duration_ns"], plain(event["args"]))
            for event in self.slices)
        self.assertEqual(list((wanted - got).elements())[:2], list((got - wanted).elements())[:2])
        self.assertEqual(wanted, got)

    def test_categories(self):
        categories = {event["args"]["cat"]: event["category"] for event in self.slices}
        self.assertEqual(categories, {"cpu_op": "Node", "user_annotation": "Node", "Trace": "Node",
                                      "privateuse1_runtime": "Api", "kernel": "Kernel", "gpu_memcpy": "Kernel",
                                      "gpu_memset": "Kernel"})

    def test_streams_are_tracks_of_the_device(self):
        rows = collections.Counter((event["tid"], event["name"]) for event in self.written if event.get("cat") in DEVICE)
        got = collections.Counter((event["stream"], event["name"]) for event in self.slices if "stream" in event)
        self.assertEqual(got, rows)
        self.assertEqual({event["track_name"] for event in self.slices if "stream" in event},
                         {f"stream {stream}" for stream, _ in rows})

    def test_correlation_leads_to_the_launch(self):
        by_id = {event["id"]: event for event in self.slices}
        for event in (event for event in self.slices if "stream" in event):
            launch = by_id[event["parent"]]
            self.assertEqual(launch["args"]["cat"], "privateuse1_runtime")
            self.assertEqual(launch["args"]["correlation"], event["args"]["correlation"])
        self.assertIn("device events: 13 correlated, 0 inferred", self.said)

    def test_arrows(self):
        by_id = {event["id"]: event for event in self.slices}
        starts = [event for event in self.written if event["ph"] == "s"]
        self.assertEqual(len(self.arrows), len(starts))
        launches = [(by_id[arrow["parent"]], by_id[arrow["id"]]) for arrow in self.arrows
                    if "stream" in by_id[arrow["id"]]]
        self.assertEqual(len(launches), sum(event["cat"] == "ac2g" for event in starts))
        for launch, kernel in launches:
            self.assertEqual(launch["args"]["correlation"], kernel["args"]["correlation"])

    def test_the_summary_names_operations_and_kernels(self):
        told = epprof("summary", self.trace).stdout
        for name in ("sample::work", "step 1", "aten::mv", "relu", "copy_in"):
            self.assertIn(name, told)
        self.assertIn("joined  13 device events to the host event that caused them", told)


if __name__ == "__main__":
    interop.main()
