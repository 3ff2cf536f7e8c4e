#!/usr/bin/env python3
"""Perfetto traces in Perfetto's own readers: its trace processor, and its protobuf definitions."""
import csv
import json
import subprocess
import sys
import unittest

import interop
import viewers

viewers.in_environment(*viewers.PERFETTO, alone=viewers.PERFETTO_ALONE)

from google.protobuf import empty_pb2
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2


def events_of(trace):
    csv.field_size_limit(1 << 30)
    with open(viewers.convert(trace, "csv"), newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["kind"] not in ("ledger", "trace")]


class Perfetto(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.epp = viewers.digits()
        cls.trace = viewers.convert(cls.epp, "perfetto")
        cls.events = events_of(cls.epp)

    def test_nothing_is_wrong_and_all_is_there(self):
        wrong, slices, counters, threads = viewers.query(
            sys.executable, self.trace, "select name, value from stats where value > 0 and severity != 'info'",
            "select s.name, count(*), sum(dur), min(ts) from slice s join track t on s.track_id = t.id"
            " where t.name is null or t.name not like 'epprof:%' group by 1",
            "select count(*) from counter", "select name from thread where tid != 0 order by 1")
        self.assertEqual(wrong, [])
        expected = {}
        for event in self.events:
            if event["kind"] in ("slice", "async", "instant"):
                count, total = expected.get(event["name"], (0, 0))
                expected[event["name"]] = (count + 1, total + int(event["duration_ns"]))
        self.assertEqual({name: (int(count), int(total)) for name, count, total, _ in slices}, expected)
        self.assertEqual(int(counters[0][0]), sum(event["kind"] == "counter" for event in self.events))
        self.assertIn(["worker 0"], threads)

    def test_the_flow_table_joins_launch_and_kernel(self):
        streams = sorted({event["track_name"] for event in self.events if event["stream"]})
        on_a_stream = "t.name in ({})".format(", ".join(f"'{name}'" for name in streams))
        launches, others = viewers.query(
            sys.executable, self.trace, "select a.name, b.name, count(*), min(b.ts >= a.ts) from flow join slice a on slice_out = a.id"
            " join slice b on slice_in = b.id join track t on b.track_id = t.id"
            f" where {on_a_stream} group by 1, 2 order by 1, 2",
            f"select count(*) from slice s join track t on s.track_id = t.id where {on_a_stream}"
            " and s.id not in (select slice_in from flow)")
        names = {event["id"]: event["name"] for event in self.events if event["kind"] == "slice"}
        expected = {}
        for event in self.events:
            if event["stream"] and event["parent"]:
                pair = (names[event["parent"]], event["name"])
                expected[pair] = expected.get(pair, 0) + 1
        self.assertEqual({(a, b): int(count) for a, b, count, _ in launches}, expected)
        self.assertTrue(all(row[3] == "1" for row in launches))
        self.assertEqual(others, [["0"]])

    def test_the_wall_clock_is_right(self):
        (first,) = viewers.query(sys.executable, self.trace, "select to_realtime(min(ts)) from slice")
        facts = subprocess.run([viewers.EPPROF, "info", "--format", "json", self.epp], stdout=subprocess.PIPE, check=True)
        epoch_ns = int(json.loads(facts.stdout)["epoch_unix_ns"])
        start_ns = min(int(event["start_ns"]) for event in self.events)
        self.assertLess(abs(int(first[0][0]) - epoch_ns - start_ns), 1000000)

    def test_the_definitions_know_every_field(self):
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.trace.read_bytes())
        begins = sum(packet.track_event.type == 1 for packet in trace.packet if packet.HasField("track_event"))
        self.assertEqual(begins, sum(event["kind"] in ("slice", "async") for event in self.events))
        for packet in trace.packet:
            self.assertEqual(packet.trusted_packet_sequence_id, 1)
            for message in (packet, packet.track_event, packet.track_descriptor, packet.interned_data):
                self.assertEqual(len(UnknownFieldSet(message)), 0)


class Stages(unittest.TestCase):
    """Device events as stages of GPUs (--gpu-stages)."""
    @classmethod
    def setUpClass(cls):
        cls.epp = viewers.digits()
        cls.trace = viewers.convert(cls.epp, "perfetto", "--gpu-stages")
        cls.events = events_of(cls.epp)
        cls.kernels = [event for event in cls.events if event["stream"] and event["kind"] in ("slice", "async")]

    def test_the_table_of_gpus_has_all_device_events_once(self):
        # Trace processors that do not know how a launch is joined to its stages count that extension.
        wrong, rows, slices, stages = viewers.query(
            sys.executable, self.trace, "select name, value from stats where value > 0 and severity != 'info'"
            " and name != 'unknown_extension_fields'",
            "select s.name, t.name, p.pid, s.ts, s.dur from gpu_slice s join track t on s.track_id = t.id"
            " join process p using (upid)",
            "select count(*) from slice s join track t on s.track_id = t.id where t.name is null"
            " or t.name not like 'epprof:%'",
            "select count(distinct hw_queue_id), count(distinct context_id) from gpu_slice")
        self.assertEqual(wrong, [])
        self.assertEqual(len(rows), len(self.kernels))
        base = min(int(row[3]) for row in rows) - min(int(event["start_ns"]) for event in self.kernels)
        self.assertEqual(
            sorted((name, track, pid, int(ts) - base, int(dur)) for name, track, pid, ts, dur in rows),
            sorted((event["name"], event["track_name"], event["pid"], int(event["start_ns"]), int(event["duration_ns"]))
                   for event in self.kernels))
        self.assertEqual(int(slices[0][0]), sum(event["kind"] in ("slice", "async", "instant") for event in self.events))
        self.assertEqual(stages, [[str(len({event["track"] for event in self.kernels})), "1"]])

    def test_the_definitions_have_kernels_gpus_and_launches(self):
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.trace.read_bytes())
        kernels, keys, names, submitted, gpus, stages = {}, {}, {}, {}, [], []
        for packet in trace.packet:
            names.update((entry.iid, entry.name) for entry in packet.interned_data.event_names)
            # Python's package does not declare extensions.
            for field in UnknownFieldSet(packet.interned_data):
                entry = perfetto_trace_pb2.InternedComputeKernel.FromString(field.data)
                {1000: kernels, 1001: keys}[field.field_number][entry.iid] = entry.name
            for field in UnknownFieldSet(packet.track_event):
                self.assertEqual(field.field_number, 3000)
                for event_id in UnknownFieldSet(empty_pb2.Empty.FromString(field.data)):
                    self.assertEqual(event_id.field_number, 1)
                    submitted[event_id.data] = names[packet.track_event.name_iid]
            gpus += [gpu.name for gpu in packet.gpu_info.gpus]
            if packet.HasField("gpu_render_stage_event"):
                stages.append(packet.gpu_render_stage_event)
        by_id = {event["id"]: event["name"] for event in self.events if event["kind"] == "slice"}
        expected = sorted((event["name"] if event["category"] == "Kernel" and "copy" not in event["name"] else "",
                           by_id[event["parent"]], int(event["duration_ns"]), event["stream"]) for event in self.kernels)
        found = []
        for stage in stages:
            self.assertEqual(len(UnknownFieldSet(stage)), 0)
            args = {keys[arg.name_iid]: arg for arg in stage.launch.args}
            self.assertEqual(args["device"].int_value, 0)
            found.append((kernels.get(stage.kernel_iid, ""), submitted[stage.event_id], stage.duration,
                          str(args["stream"].int_value)))
        self.assertEqual(sorted(found), expected)
        self.assertEqual(gpus, ["Sample accelerator"])


class Plugins(unittest.TestCase):
    """Two plugins whose devices, streams and launches have the same numbers."""
    def test_calls_and_kernels(self):
        sample = interop.library("libsample_pu1_ep")
        for op in "", "op":
            epp = viewers.recorded(f"plugins{op}", [sample, interop.moved(sample)], op)
            for form in "perfetto", "chrome", "kineto":
                with self.subTest(form=form, op=op):
                    wrong, kernels, arrows = viewers.query(
                        sys.executable, viewers.convert(epp, form),
                        "select name, value from stats where value > 0 and severity != 'info'",
                        "select count(*), count(distinct track_id) from slice where name = 'relu'",
                        "select a.name, b.name, count(*), count(distinct a.track_id) from flow join slice a on slice_out = a.id"
                        " join slice b on slice_in = b.id group by 1, 2 order by 1, 2")
                    self.assertEqual(wrong, [])
                    self.assertEqual(kernels, [["62", "4"]])
                    self.assertEqual(arrows, [["sampleCopy", "copy_in", "2", "2"], ["sampleCopy", "copy_out", "2", "2"],
                                              ["sampleFill", "fill", "2", "2"], ["sampleLaunch", "relu", "62", "2"]])


if __name__ == "__main__":
    interop.main()
