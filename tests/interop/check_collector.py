#!/usr/bin/env python3
"""The collector in ONNX Runtime: what it records against what ONNX Runtime writes itself, on several threads, in several
sessions, under names that break JSON, past the end of ONNX Runtime's own profile, and in a process that is killed."""
import collections
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import unittest
from pathlib import Path

import interop

interop.in_each_environment()

HOST = Path(__file__).with_name("collector_host.py")
ORT_EVENTS_MAX = 1000000


def environ(output=None, **more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EPPROF_") or name == interop.INSIDE}
    return {**clean, **({"EPPROF_OUTPUT": str(output)} if output else {}), **more}


def epprof(*arguments):
    done = subprocess.run([interop.BUILD / "epprof", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"epprof {' '.join(map(str, arguments))}: {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def findings(trace):
    """What `validate` finds wrong in a trace, a line each, whatever there may be."""
    done = subprocess.run([interop.BUILD / "epprof", "validate", trace], stdout=subprocess.PIPE, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith(("warning: ", "error: "))]


# StartEvent of the kernels' EP, which reads their clock, comes before the collector's: if the thread is interrupted in between,
# a kernel begins before its node does in the trace.
EARLY = "begins? before the events? that launched"


def converted(trace, kind):
    """The events of a trace in a format of JSON, and nothing else: every file that epprof writes must be valid."""
    path = f"{trace}.{kind}.json"
    epprof("convert", "-t", kind, "--force", "-o", path, trace)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    if kind == "ort":
        assert events.pop()["name"] == "epprof.ledger"
        return events
    return [event for event in events["traceEvents"] if event["ph"] == "X"]


class Recorded:
    """One run of a scenario: the trace, in which `validate` finds nothing but what matches `known`, and the profiles that ONNX
    Runtime wrote."""

    def __init__(self, scenario, known=None, **more):
        self.prefix = interop.scratch() / re.sub(r"\W", "_", scenario)
        self.trace = f"{self.prefix}.epp"
        done = subprocess.run([sys.executable, HOST, scenario, self.prefix], env=environ(self.trace, **more),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{scenario}: {done.returncode}: {done.stderr}")
        self.errors = done.stderr
        self.profiles = done.stdout.split("\n")[:-1]
        if not known or any(not re.search(known, finding) for finding in findings(self.trace)):
            epprof("validate", self.trace)

    def own(self):
        """What ONNX Runtime wrote, but for the one event that it never shows."""
        for path in self.profiles:
            with open(path, encoding="utf-8") as file:
                yield [event for event in json.load(file) if not event["name"].startswith("model_loading_")]


def is_host(event):
    return event["cat"] in ("Session", "Node")


def plain(event, shift_us=0):
    """An event as something to count.  Key order of args is arbitrary in ONNX Runtime."""
    return json.dumps({**event, "ts": event["ts"] + shift_us}, sort_keys=True)


class Equality(unittest.TestCase):
    def check_equal(self, recorded):
        """Field by field, each event once."""
        events = [event for event in converted(recorded.trace, "ort") if is_host(event)]
        # One clock for all sessions: ONNX Runtime's second profile counts from its own beginning.
        begins = iter([event["ts"] for event in events if event["name"] == "session_initialization"])
        wanted, threads = collections.Counter(), collections.defaultdict(list)
        for own in recorded.own():
            own = [event for event in own if is_host(event)]
            began = next(event["ts"] for event in own if event["name"] == "session_initialization")
            shift_us = next(begins) - began
            for event in own:
                wanted[plain(event, shift_us)] += 1
                threads[event["tid"]].append(plain(event, shift_us))
        self.assertEqual(collections.Counter(map(plain, events)), wanted)
        # On each thread in ONNX Runtime's order, too.
        if len(recorded.profiles) == 1:
            for tid, own in threads.items():
                self.assertEqual([plain(event) for event in events if event["tid"] == tid], own)
        return events

    def check_parents(self, recorded, parents):
        """{name: name of the event around it}, by the slices of each thread."""
        by_thread = collections.defaultdict(list)
        for event in converted(recorded.trace, "chrome"):
            if is_host(event):
                start = round(event["ts"] * 1000)
                by_thread[event["tid"]].append((start, -round(event["dur"] * 1000), event["name"]))
        found = collections.defaultdict(collections.Counter)
        for slices in by_thread.values():
            around = []
            for start, negative_duration, name in sorted(slices):
                while around and start >= around[-1][0]:
                    around.pop()
                found[re.sub(r"^n[\d_]+_kernel", "n_kernel", name)]["/".join(each[1] for each in around)] += 1
                around.append((start - negative_duration, name))
        self.assertEqual({name: dict(paths) for name, paths in found.items()}, parents)

    def test_one_session_on_two_threads(self):
        recorded = Recorded("one")
        self.check_equal(recorded)
        self.check_parents(recorded, {
            "session_initialization": {"": 1}, "model_run": {"": 400},
            "SequentialExecutor::Execute": {"model_run": 400},
            "n_kernel_time": {"model_run/SequentialExecutor::Execute": 4000}})

    def test_two_sessions_on_two_threads_each(self):
        recorded = Recorded("two")
        self.check_equal(recorded)
        self.check_parents(recorded, {
            "session_initialization": {"": 2}, "model_run": {"": 400},
            "SequentialExecutor::Execute": {"model_run": 400},
            "n_kernel_time": {"model_run/SequentialExecutor::Execute": 200 * 10 + 200 * 7}})

    def test_a_file_for_each_session(self):
        recorded = Recorded("one")
        recorded.trace = f"{recorded.prefix}-%session%.epp"
        done = subprocess.run([sys.executable, HOST, "two", recorded.prefix], env=environ(recorded.trace),
                              stdout=subprocess.PIPE, text=True, check=True)
        for number, path in enumerate(done.stdout.split("\n")[:-1], 1):
            recorded.trace = f"{recorded.prefix}-{number}.epp"
            recorded.profiles = [path]
            self.check_equal(recorded)
        self.assertFalse(os.path.exists(f"{recorded.prefix}-3.epp"))

    def test_parallel_execution(self):
        recorded = Recorded("parallel")
        events = self.check_equal(recorded)
        self.assertEqual(sum(event["cat"] == "Node" for event in events), 60 * 81)

    def test_branches(self):
        recorded = Recorded("branches")
        self.check_equal(recorded)
        run = "model_run/SequentialExecutor::Execute"
        outer = f"{run}/outer_if_kernel_time/SequentialExecutor::Execute"
        inner = f"{outer}/inner_if_kernel_time/SequentialExecutor::Execute"
        self.check_parents(recorded, {
            "session_initialization": {"": 1}, "model_run": {"": 60},
            "SequentialExecutor::Execute": {path: 60 for path in ("model_run", outer.rpartition("/")[0],
                                                                  inner.rpartition("/")[0])},
            "sum_kernel_time": {run: 60}, "more_kernel_time": {run: 60}, "outer_if_kernel_time": {run: 60},
            "inner_if_kernel_time": {outer: 60}, "inner_Neg_kernel_time": {inner: 60}})

    def test_beside_another_provider_in_both_orders(self):
        for order in ("sample,collector", "collector,sample"):
            recorded = Recorded(f"provider:{order}")
            events = self.check_equal(recorded)
            self.assertEqual(sum("SampleEP" in event["name"] for event in events), 100)
            # The provider's own events are in ONNX Runtime's profile, as they would be without the collector.
            kernels = [event for own in recorded.own() for event in own if event["name"] == "relu"]
            self.assertEqual(len(kernels), 100 * 10)
            # Its profiler is made with the kit and hands them to the collector as well, in nanoseconds.
            in_trace = [event for event in converted(recorded.trace, "chrome") if event["name"] == "relu"]
            self.assertEqual(len(in_trace), 100 * 10)
            self.assertTrue(any(round(event["dur"] * 1000) % 1000 for event in in_trace))
            with open(f"{recorded.trace}.ort.json", encoding="utf-8") as file:
                ledger = json.load(file)[-1]["args"]
            self.assertEqual((ledger["balanced"], ledger["lost"], ledger["uncorrelated"]), ("true", "0", "0"))

    def test_sessions_and_threads_on_one_provider(self):
        """Each kernel once, in nanoseconds of its own clock with a bound, under the node that launched it."""
        recorded = Recorded("providers:sample,collector")
        path = f"{recorded.trace}.ndjson"
        epprof("convert", "-t", "ndjson", "--force", "-o", path, recorded.trace)
        with open(path, encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        nodes = {event["id"]: event for event in events if event.get("category") == "Node" and "id" in event}
        kernels = [event for event in events if event.get("name") == "relu"]
        self.assertEqual(len(kernels), 3 * 8 * 50 * 10)
        self.assertEqual(len(kernels), sum(event["name"] == "relu" for own in recorded.own() for event in own))
        under = collections.Counter(nodes[kernel["parent"]]["id"] for kernel in kernels)
        self.assertEqual((len(under), set(under.values())), (3 * 8 * 50, {10}))
        self.assertEqual({kernel["placement"] for kernel in kernels}, {"fitted"})
        self.assertGreater(min(kernel["start_error_ns"] for kernel in kernels), 0)
        self.assertLess(min(kernel["start_error_ns"] for kernel in kernels), 1000)


def slices(trace):
    """The slices of a trace, and its ledger by producer."""
    path = f"{trace}.ndjson"
    epprof("convert", "-t", "ndjson", "--force", "-o", path, trace)
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    ledger = {line["ledger"]["producer"]: line["ledger"] for line in lines if line["kind"] == "ledger"}
    return [line for line in lines if line["kind"] == "slice"], ledger


class Requests(unittest.TestCase):
    def test_a_run_has_the_traceparent_of_its_options(self):
        recorded = Recorded("requests")
        rows = json.loads(epprof("sql", "--format", "json", recorded.trace,
                                 "SELECT name, trace_id, id, parent, flags FROM timeline WHERE kind = 'slice'"))
        found = collections.defaultdict(collections.Counter)
        for row in rows:
            found[row["trace_id"]][row["name"]] += 1
        every = {"model_run": 1, "SequentialExecutor::Execute": 1, **{f"n{i}_kernel_time": 1 for i in range(5)}}
        self.assertEqual({key: dict(value) for key, value in found.items() if key},
                         {f"{number:032x}": every for number in range(2, 200)})
        self.assertEqual(found[None]["model_run"], 2)
        (own,) = {row["name"] for row in rows if row["flags"] & 512}
        self.assertEqual(own, "model_run")

    def nodes(self, recorded):
        """The nodes of a parallel scenario: their trace id, the rows of their input, and whether another thread ran them."""
        rows = json.loads(epprof("sql", "--format", "json", recorded.trace, """
            SELECT n.trace_id, a.value AS shape, (SELECT count(*) FROM timeline r WHERE r.name = 'model_run' AND r.track = n.track
              AND r.start_ns <= n.start_ns AND n.start_ns < r.start_ns + r.duration_ns) AS inside
            FROM timeline n JOIN args a ON a.event = n.event AND a.key = 'input_type_shape' WHERE n.category = 'Node'"""))
        nodes = [(row["trace_id"], json.loads(row["shape"])[0]["float"][0], not row["inside"]) for row in rows]
        self.assertEqual(collections.Counter(rows for _, rows, _ in nodes), {rows: 20 * 81 for rows in (1, 2, 3)})
        for trace_id, rows, _ in nodes:
            self.assertIn(trace_id and int(trace_id[:16], 16), (None, rows))
        return nodes

    def test_nodes_on_other_threads_have_the_request_of_the_only_run(self):
        recorded = Recorded("parallel_requests")
        nodes = self.nodes(recorded)
        self.assertTrue(any(elsewhere for _, _, elsewhere in nodes))
        self.assertEqual(collections.Counter(trace_id for trace_id, _, _ in nodes),
                         {f"{rows:016x}{number + 1:016x}": 81 for rows in (1, 2, 3) for number in range(20)})
        # As spans they are below their run; the tag of the run is an attribute, and not in ONNX Runtime's JSON.
        path = f"{recorded.trace}.jsonl"
        epprof("convert", "-t", "otlp", "--force", "-o", path, recorded.trace)
        with open(path, encoding="utf-8") as file:
            lists = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"] for line in file]
        spans = {span["spanId"]: span for spans in lists for span in spans}
        self.assertEqual(len(spans), 3 * 20 * (81 + 2))
        for span in spans.values():
            if span["name"] == "model_run":
                tags = [each["value"] for each in span["attributes"] if each["key"] == "ort_run_tag"]
                self.assertEqual(tags, [{"stringValue": f'rows "{int(span["traceId"][:16], 16)}"'}])
            else:
                around = spans[span["parentSpanId"]]
                self.assertEqual(around["traceId"], span["traceId"])
                self.assertIn(around["name"], ("model_run", "ParallelExecutor::Execute", "SequentialExecutor::Execute"))
        self.assertFalse(any("ort_run_tag" in event["args"] for event in converted(recorded.trace, "ort")))

    def test_nodes_that_may_belong_to_several_runs_have_none(self):
        """Those that have one have the right one, and the rest is counted."""
        recorded = Recorded("parallel_requests_of_one")
        nodes = self.nodes(recorded)
        without = sum(trace_id is None for trace_id, _, _ in nodes)
        note = re.search(r"(\d+) nodes have no request: several runs were active", epprof("info", recorded.trace))
        self.assertEqual(int(note[1]) if note else 0, without)


class WithoutTheKit(unittest.TestCase):
    """Kernels of providers without the kit come from ONNX Runtime's profile: each once, under its node, inside its bound."""

    def check_kernels(self, recorded, runs, nodes_of_run=10, kernels_of_node=1, name="relu"):
        events, ledger = slices(recorded.trace)
        nodes = {event["id"]: event for event in events if event.get("category") == "Node" and event.get("stream") is None}
        kernels = [event for event in events if event.get("name") == name and event.get("stream") is not None]
        self.assertEqual(len(kernels), runs * nodes_of_run * kernels_of_node)
        self.assertEqual(sum(event["name"] == name for own in recorded.own() for event in own), len(kernels))
        under = collections.Counter(kernel.get("parent") for kernel in kernels if kernel["placement"] != "ambiguous")
        self.assertLessEqual(set(under), set(nodes))
        self.assertLessEqual(max(under.values()), nodes_of_run * kernels_of_node)
        self.assertGreaterEqual(sum(under.values()), len(kernels) * 99 // 100)
        for kernel in kernels:
            self.assertGreater(kernel["start_error_ns"], 0)
            parent = nodes.get(kernel.get("parent"))
            if parent:
                self.assertGreaterEqual(kernel["start_ns"] + kernel["start_error_ns"], parent["start_ns"] - 2000)
        self.assertEqual(ledger["SampleEP"]["lost"], {})
        self.assertIn("lost    none", epprof("summary", recorded.trace))
        return kernels, nodes

    def test_in_both_orders(self):
        for order in ("formula,collector", "collector,formula"):
            with self.subTest(order):
                recorded = Recorded(f"provider:{order}", EPPROF_TEST_SEVERITY="2")
                self.check_kernels(recorded, 100)
                self.assertNotIn("epprof:", recorded.errors)

    def test_sessions_and_threads(self):
        """Two sessions at once, on a device whose clock is 200 ppm fast; the kernels' args have the truth."""
        # The collector's StartEvent comes first: the kernels are made up from the provider's StartEvent on, and a thread that loses
        # its processor between the two would have a kernel that begins before its node does.
        recorded = Recorded("two:collector,kernels", KERNELS_EP_ID="1", KERNELS_EP_PPM="200")
        events, ledger = slices(recorded.trace)
        nodes = {(event["args"]["ort_profile_us"] + event["args"]["ort_ts_us"], event["tid"]): event for event in events
                 if event["category"] == "Node" and event.get("stream") is None}
        kernels = [event for event in events if event["name"].startswith("kernel of ")]
        self.assertEqual(len(kernels), 200 * 10 + 200 * 7)
        self.assertEqual(ledger["providers"]["lost"], {})
        truth = [{key: int(value) for key, value in kernel["args"].items() if key.startswith("true_")} for kernel in kernels]
        of = [nodes[true["true_id"], true["true_thread"]] for true in truth]
        # Of the trace's time, the one at CLOCK_MONOTONIC's 0.
        zero_ns = statistics.median(node["start_ns"] - true["true_node_ns"] for node, true in zip(of, truth))
        wrong = [kernel for kernel, node in zip(kernels, of) if kernel.get("parent") not in (None, node["id"])]
        outside = [kernel for kernel, true in zip(kernels, truth)
                   if abs(kernel["start_ns"] - zero_ns - true["true_start_ns"]) > kernel["start_error_ns"] + 2000]
        self.assertEqual(wrong, [])
        self.assertLessEqual(len(outside), len(kernels) // 1000)

    def test_sessions_one_after_the_other(self):
        """The profile may be removed as soon as it is written."""
        recorded = Recorded("provider_again:formula,collector")
        events, ledger = slices(recorded.trace)
        self.assertEqual(sum(event["name"] == "relu" for event in events), 3 * 100 * 10)
        self.assertEqual(ledger["SampleEP"]["lost"], {})

    def test_a_process_that_releases_nothing(self):
        self.check_kernels(Recorded("provider_exit:formula,collector"), 100)

    def groups(self, recorded, name):
        return {event["group"] for event in slices(recorded.trace)[0] if re.match(name, event["name"])}

    def test_its_device_has_its_name(self):
        """Also beside a plugin, when it may be the plugin that records the provider's device."""
        recorded = Recorded("provider:formula,collector", EPPROF_PROFILERS=interop.library("libsample_pu1_ep"))
        self.assertEqual(self.groups(recorded, "relu"), {"SampleEP device 0"})

    def test_a_device_has_no_wrong_name(self):
        """KernelsEP runs no node, and adds an event for each node of others."""
        for scenario in "one:kernels,collector", "provider:sample,kernels,collector":
            with self.subTest(scenario):
                recorded = Recorded(scenario, known=f"ends? after the events? that waited for|{EARLY}", KERNELS_EP_ID="1")
                self.assertEqual(self.groups(recorded, "kernel of "), {"providers device 0"})

    def test_beside_one_with_the_kit(self):
        """KernelsEP runs no node; its kernel's name is its node's."""
        # The sample's waits do not cover the kernels of the other one.
        recorded = Recorded("provider:sample,kernels,collector", known=f"ends? after the events? that waited for|{EARLY}", KERNELS_EP_ID="1",
                            KERNELS_EP_PPM="0")
        events, _ = slices(recorded.trace)
        kernels = [event for event in events if event["name"].startswith("kernel of ")]
        self.assertEqual(len(kernels), 100)  # the sample takes all nodes as one
        self.assertEqual(sum(event["name"] == "relu" for event in events), 100 * 10)

    def test_values_that_are_no_json(self):
        text = "\x1f".join(("shape", "{not json", "say \"hi\"", "a \"quoted\" text", "k", "two\nlines"))
        recorded = Recorded("one:kernels,collector", known=EARLY, KERNELS_EP_ID="1", KERNELS_EP_ARGS=text)
        with self.assertRaises(ValueError):
            list(recorded.own())
        events, ledger = slices(recorded.trace)
        nodes = {event["id"] for event in events if event["category"] == "Node" and event.get("stream") is None}
        kernels = [event for event in events if event.get("stream") is not None]
        self.assertEqual((len(nodes), len(kernels)), (4000, 4000))
        self.assertEqual({kernel["args"]["shape"] for kernel in kernels}, {"{not json"})
        self.assertEqual({kernel["args"]["k"] for kernel in kernels}, {"two\nlines"})
        self.assertLessEqual({kernel["parent"] for kernel in kernels if "parent" in kernel}, nodes)
        self.assertEqual(ledger["providers"]["lost"], {})

    def test_a_provider_that_fails(self):
        recorded = Recorded("provider:kernels,formula,collector", known=EARLY, KERNELS_EP_FAIL="the device is gone")
        self.check_kernels(recorded, 100)

    def test_a_process_that_is_killed(self):
        for library, is_missing in ("formula", True), ("sample", False):
            with self.subTest(library):
                prefix = interop.scratch() / f"killed_{library}"
                trace = f"{prefix}.epp"
                with subprocess.Popen([sys.executable, HOST, f"provider_endless:{library},collector", prefix],
                                      env=environ(trace), stdout=subprocess.PIPE, text=True) as host:
                    for line in host.stdout:
                        if line == "200\n":
                            host.send_signal(signal.SIGKILL)
                info = epprof("info", trace)
                self.assertEqual("missing: its events would have come at the end of the run" in info, is_missing)
                _, ledger = slices(trace)
                self.assertEqual(ledger["SampleEP"]["lost"].get("killed", 0), int(is_missing))
                epprof("validate", trace)


class Names(unittest.TestCase):
    def test_that_break_json(self):
        recorded = Recorded("hostile")
        with self.assertRaises(ValueError):  # what ONNX Runtime writes is no JSON
            list(recorded.own())
        ours = converted(recorded.trace, "ort")
        self.assertEqual([event["name"] for event in ours if event["cat"] == "Node"],
                         [f"{name}_kernel_time" for name in ('quote"', "tab\there", "back\\slash", "line\nbreak", "bad\ufffd\ufffdME")])
        imported = f"{recorded.prefix}.imported.epp"
        epprof("import", "--force", "-o", imported, recorded.profiles[0])
        epprof("validate", imported)
        wanted = [(event["cat"], event["name"], event["ts"], event["dur"]) for event in converted(imported, "ort")
                  if not event["name"].startswith("model_loading_")]
        self.assertEqual(sorted((event["cat"], event["name"], event["ts"], event["dur"]) for event in ours), sorted(wanted))
        converted(recorded.trace, "chrome")


class Limits(unittest.TestCase):
    def test_more_events_than_onnx_runtime_keeps(self):
        recorded = Recorded("many")
        wanted = 1 + 500 * (2 + 2100)
        with open(recorded.profiles[0], encoding="utf-8") as file:
            # The newest one counts to the million in another way.
            self.assertIn(sum(line.startswith("{") for line in file), (ORT_EVENTS_MAX, ORT_EVENTS_MAX + 1))
        os.remove(recorded.profiles[0])
        info = epprof("info", recorded.trace)
        self.assertRegex(info, rf"onnxruntime +{wanted} events; ONNX Runtime's own profile holds at most {ORT_EVENTS_MAX}")
        ledger = json.loads(epprof("info", "--format", "json", recorded.trace))["ledger"]
        self.assertEqual(sum(line["written"] for line in ledger), wanted)
        self.assertEqual(sum(line["emitted"] for line in ledger), wanted)

    def test_a_process_that_is_killed(self):
        prefix = interop.scratch() / "killed"
        trace = f"{prefix}.epp"
        with subprocess.Popen([sys.executable, HOST, "endless", prefix], env=environ(trace), stdout=subprocess.PIPE,
                              text=True) as host:
            completed = 0
            for line in host.stdout:
                completed = int(line) if line.endswith("\n") else completed
                if completed == 50:
                    host.send_signal(signal.SIGKILL)
        self.assertIn("cut off", epprof("info", trace))
        epprof("validate", trace)
        events = converted(trace, "ort")
        self.assertGreaterEqual(sum(event["name"] == "model_run" for event in events), completed)
        nodes = collections.Counter(event["name"] for event in events if event["cat"] == "Node" and "op_name" in event["args"])
        self.assertEqual(len(nodes), 100)
        self.assertGreaterEqual(min(nodes.values()), completed)
        self.assertLessEqual(max(nodes.values()), completed + 2)

    def test_a_file_of_limited_size(self):
        recorded = Recorded("one", EPPROF_POLICY="stop:1M")
        self.assertLess(os.stat(recorded.trace).st_blocks * 512, 3 << 20)
        self.assertRegex(epprof("info", recorded.trace), "policy")


class Quiet(unittest.TestCase):
    def run_host(self, scenario, **more):
        done = subprocess.run([sys.executable, HOST, scenario, interop.scratch() / "quiet"],
                              env={**environ(), "EPPROF_TEST_SEVERITY": "2", **more}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=True)
        return done.stdout

    def test_without_an_output_it_says_so_once(self):
        output = self.run_host("two")
        self.assertEqual(output.count("EPPROF_OUTPUT is not set, nothing is recorded"), 1)

    def test_an_output_that_cannot_be_written_is_told(self):
        output = self.run_host("one", EPPROF_OUTPUT="/no/such/directory/file.epp")
        self.assertIn("/no/such/directory/file.epp", output)
        output = self.run_host("one", EPPROF_OUTPUT=str(interop.scratch() / "ring.epp"), EPPROF_POLICY="round:64M")
        self.assertIn("EPPROF_POLICY=round:64M: ", output)


class Pages(unittest.TestCase):
    def test_a_copy_alone_in_a_folder(self):
        trace = interop.scratch() / "moved.epp"
        program = f"""import onnxruntime
options = onnxruntime.SessionOptions()
options.profile_file_prefix = {str(interop.scratch() / "moved")!r}
onnxruntime.register_execution_provider_library("epprof", {interop.moved(interop.library("libepprof_ort"))!r})
options.enable_profiling = True
collector = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "epprof"]
options.add_provider_for_devices(collector, {{}})
session = onnxruntime.InferenceSession({str(interop.DATA / "digits.onnx")!r}, options)
"""
        subprocess.run([sys.executable, "-c", program], env=environ(trace), check=True)
        epprof("validate", trace)
        self.assertIn("session_initialization", [event["name"] for event in converted(trace, "ort")])

    def test_the_lines_of_the_readme_attach_the_collector(self):
        text = (interop.ROOT / "README.md").read_text(encoding="utf-8")
        (lines,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "libepprof_ort.so" in block]
        self.assertEqual(len(lines.splitlines()), 5)
        trace = interop.scratch() / "readme.epp"
        for installed, here in (("/usr/local/lib/libepprof_ort.so", interop.library("libepprof_ort")), ("run.epp", str(trace))):
            self.assertEqual(lines.count(f'"{installed}"'), 1)
            lines = lines.replace(installed, here)
        program = f"""import os
import onnxruntime
options = onnxruntime.SessionOptions()
options.profile_file_prefix = {str(interop.scratch() / "readme")!r}
{lines}
session = onnxruntime.InferenceSession({str(interop.DATA / "digits.onnx")!r}, options)
"""
        subprocess.run([sys.executable, "-c", program], env=environ(), check=True)
        epprof("validate", trace)
        self.assertIn("session_initialization", [event["name"] for event in converted(trace, "ort")])

    def test_the_page_shows_what_works(self):
        folder, log = interop.do_as_page(
            "docs/onnxruntime.md", bridge=("/usr/local/lib/libepprof_ort.so", interop.library("libepprof_ort")),
            model=("model.onnx", str(interop.DATA / "digits.onnx")))
        self.assertIn("session_initialization", log)
        self.assertGreater((folder / "run.pftrace").stat().st_size, 0)
        names = [event["name"] for event in json.loads((folder / "run.json").read_text(encoding="utf-8"))]
        self.assertIn("session_initialization", names)


if __name__ == "__main__":
    interop.main()
