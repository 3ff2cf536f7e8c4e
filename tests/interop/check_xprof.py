#!/usr/bin/env python3
"""XSpace in XProf's own reader: its trace viewer shows every event and flow, its kernel statistics every kernel."""
import collections
import json
import unittest

import interop
import viewers
import xprof_tool

viewers.in_environment("xprof")


def files(trace, *options):
    """The trace as XSpace: a file, and further parts of it."""
    first = viewers.convert(trace, "xspace", *options)
    return [first, *sorted(first.parent.glob(f"{first.name}_part*"))]


def tool(trace, name, *options):
    """The tools that there are, and this one's answer."""
    names, data = xprof_tool.tool(files(trace, *options), name)
    return names, json.loads(data)


class XProf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.epp = viewers.digits()
        lines = viewers.convert(cls.epp, "ndjson").read_text(encoding="utf-8").splitlines()
        cls.events = [event for event in map(json.loads, lines) if event["kind"] in ("slice", "instant")]

    def check_viewer(self, *options):
        _, answer = tool(self.epp, "trace_viewer@", *options)
        shown = [event for event in answer["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(collections.Counter(event["name"] for event in shown),
                         collections.Counter(event["name"] for event in self.events))
        kernels = sorted(round(event["dur"] * 1000) for event in shown if event["name"] == "gemm")
        self.assertEqual(kernels, sorted(event["duration_ns"] for event in self.events if event["name"] == "gemm"))
        # From each launch to its kernels.
        ends = collections.Counter(event["bind_id"] for event in shown if event.get("flow_in"))
        begins = {event["bind_id"] for event in shown if event.get("flow_out")}
        self.assertEqual(sum(ends.values()), sum("stream" in event and "parent" in event for event in self.events))
        self.assertLessEqual(set(ends), begins)

    def test_the_trace_viewer_shows_all_of_it(self):
        self.check_viewer()

    def test_with_gpu_planes_too(self):
        self.check_viewer("--gpu-planes")

    def test_a_run_in_several_files_is_one_timeline(self):
        parts = ("--part-bytes", "100000")
        self.assertGreater(len(files(self.epp, *parts)), 2)
        self.check_viewer(*parts)

    def test_no_two_streams_share_a_row(self):
        # XProf numbers a GPU's first lines itself, from 1.  It warns that each other line has number 1, which none has.
        streams = range(1, 61)
        trace = viewers.imported("streams", json.dumps({"traceEvents": [
            {"ph": "X", "name": f"kernel {stream}", "cat": "kernel", "pid": 0, "tid": stream, "ts": 10 + 10 * i, "dur": 4,
             "args": {"device": 0, "stream": stream}} for i in range(20) for stream in streams]}))
        for options in ((), ("--gpu-planes",)):
            _, answer = tool(trace, "trace_viewer@", *options)
            rows = collections.defaultdict(collections.Counter)
            for event in answer["traceEvents"]:
                if event["ph"] == "X" and event["name"].startswith("kernel "):
                    rows[event["pid"], event["tid"]][event["name"]] += 1
            self.assertEqual(sorted(map(dict, rows.values()), key=str),
                             sorted(({f"kernel {stream}": 20} for stream in streams), key=str))

    def test_kernel_statistics_have_a_row_for_each_kernel(self):
        names, answer = tool(self.epp, "kernel_stats", "--gpu-planes")
        self.assertIn("kernel_stats", names)
        columns = [column["id"] for column in answer["cols"]]
        rows = [dict(zip(columns, (cell["v"] for cell in row["c"]))) for row in answer["rows"]]
        counted = collections.Counter(event["name"] for event in self.events if "stream" in event and event["duration_ns"])
        self.assertEqual({row["kernel_name"]: row["occurrences"] for row in rows}, dict(counted))


if __name__ == "__main__":
    interop.main()
