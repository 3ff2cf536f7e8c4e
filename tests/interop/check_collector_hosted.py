#!/usr/bin/env python3
"""Execution providers that are hosted beside the collector, by EPPROF_PROFILERS: their events in the trace and in ONNX
Runtime's own profile, whatever they say."""
import collections
import json
import re
import subprocess
import sys
import unittest

import interop

interop.in_each_environment()
from check_collector import HOST, Recorded, converted, environ, epprof

RUNS = 100
# plain_ep's events begin when ONNX Runtime's do, which is before anybody is told of these: right to be found, and expected.
EARLY = "begin before the events that launched them"


def shape(event):
    """What an event of a provider says of itself, without its place in time and in the profile."""
    args = {key: value for key, value in event["args"].items() if key not in
            ("ort_correlation_id", "hosted_by", "epprof.plugin", "placement", "start_error_ns", "end_error_ns", "stream")}
    return json.dumps([event["name"], event["dur"], args], sort_keys=True)


def ledger_of(trace):
    """The totals with which the export ends."""
    converted(trace, "ort")
    with open(f"{trace}.ort.json", encoding="utf-8") as file:
        return json.load(file)[-1]["args"]


class Carried(unittest.TestCase):
    def check_ledger(self, trace, count):
        ledger = ledger_of(trace)
        self.assertEqual((ledger["balanced"], ledger["lost"]), ("true", "0"))
        self.assertEqual((ledger["correlated"], ledger["inferred"], ledger["uncorrelated"]), (str(count), "0", "0"))

    def test_the_sample_s_kernels_in_trace_and_profile(self):
        recorded = Recorded("provider:sample,collector", EPPROF_PROFILERS=interop.library("libsample_ort_ep"))
        own = [event for events in recorded.own() for event in events]
        kernels = [event for event in own if event["cat"] == "Kernel"]
        # Once, by the provider that computes: it is not hosted as well.
        count = RUNS * 12
        self.assertEqual(len(kernels), count)
        in_trace = [event for event in converted(recorded.trace, "ort") if event["cat"] == "Kernel"]
        self.assertEqual(len(in_trace), count)
        ledger = ledger_of(recorded.trace)
        self.assertEqual((ledger["balanced"], ledger["lost"], ledger["uncorrelated"]), ("true", "0", "0"))
        # ONNX Runtime's ids in its profile, each that of a node's event.
        nodes = {event["ts"] for event in own if event["cat"] == "Node"}
        began = {int(event["args"]["ort_correlation_id"]) for event in kernels}
        epoch = min(began) - min(nodes)
        self.assertLessEqual({began_us - epoch for began_us in began}, nodes)
        names = collections.Counter(event["name"] for event in kernels)
        self.assertEqual(names, collections.Counter(event["name"] for event in in_trace))

    def check_once(self, scenario, profilers, count, names=None, **more):
        """Each event of the providers is in the trace once, although they are also named as plugins."""
        with self.subTest(scenario, profilers=profilers):
            recorded = Recorded(scenario, EARLY, EPPROF_PROFILERS=":".join(profilers), EPPROF_TEST_SEVERITY="2", **more)
            own = [event for events in recorded.own() for event in events if event["cat"] == "Kernel"]
            in_trace = [event for event in converted(recorded.trace, "ort") if event["cat"] == "Kernel"]
            self.assertEqual((len(own), len(in_trace)), (count, count))
            # In ONNX Runtime's profile each id is the start of a node.
            nodes = {event["ts"] for events in recorded.own() for event in events if event["cat"] == "Node"}
            ids = {int(event["args"]["ort_correlation_id"]) for event in own if "ort_correlation_id" in event["args"]}
            if ids:
                self.assertLessEqual({began - min(ids) + min(nodes) for began in ids}, nodes)
            self.assertEqual(ledger_of(recorded.trace)["lost"], "0")
            if names is None:
                names = [profiler.rpartition("/")[2] for profiler in profilers]
            for name in names:
                self.assertEqual(recorded.errors.count(f"epprof: EPPROF_PROFILERS: {name}: not hosted"), 1, recorded.errors)
            self.assertEqual(recorded.errors.count("epprof:"), len(names), recorded.errors)
            if names:
                self.assertIn("registered with ONNX Runtime, so not hosted: " + names[0], epprof("info", recorded.trace))

    def test_a_library_that_the_session_runs(self):
        """It is registered before or after the collector, and has one set of global variables for both."""
        formula, kernels = interop.library("tests/plugins/formula_ep"), interop.library("tests/plugins/official_kernels_ep")
        for order in "formula,collector", "collector,formula":
            self.check_once(f"provider:{order}", [formula], RUNS * 12)
        for order in "kernels,collector", "collector,kernels":
            self.check_once(f"one:{order}", [kernels], 4000, KERNELS_EP_ID="1")
        # Registered, but without a node.
        self.check_once("one:formula,collector", [formula], 0)

    def test_a_library_under_another_path(self):
        formula = interop.library("tests/plugins/formula_ep")
        folder = interop.scratch() / "links"
        folder.mkdir()
        (folder / "link.so").symlink_to(formula)
        self.check_once("provider:formula,collector", [f"{folder}/../links/link.so"], RUNS * 12)
        # A copy has variables of its own: it is hosted, and ONNX Runtime's events are recognised as the same.
        self.check_once("provider:formula,collector", [interop.moved(formula)], RUNS * 12, names=[])

    def test_beside_a_library_with_the_kit(self):
        libraries = [interop.library("tests/plugins/official_kernels_ep"), interop.library("libsample_ort_ep")]
        self.check_once("one:sample,kernels,collector", libraries, 4000, KERNELS_EP_ID="1")

    def test_a_library_that_something_else_has_loaded(self):
        """It is not registered, so it is hosted."""
        plain = interop.library("tests/plugins/plain_ep")
        recorded = Recorded("branches_once", EARLY, EPPROF_PROFILERS=plain, LD_PRELOAD=plain)
        self.check_ledger(recorded.trace, 10)

    def test_what_it_says_in_both(self):
        """A library that knows nothing of epprof, and adds an event for each that it was shown."""
        recorded = Recorded("branches_once", EARLY, EPPROF_PROFILERS=":" + interop.library("tests/plugins/plain_ep") + ":")
        own = [event for events in recorded.own() for event in events]
        kernels = [event for event in own if event["cat"] == "Kernel"]
        hosts = [event for event in own if event["cat"] != "Kernel"]
        self.assertEqual(sorted((f"kernel of {event['name']}", event["ts"], event["dur"]) for event in hosts),
                         sorted((event["name"], event["ts"], event["dur"]) for event in kernels))
        for event in kernels:
            self.assertIn("ort_correlation_id", event["args"])
        in_trace = [event for event in converted(recorded.trace, "ort") if event["cat"] == "Kernel"]
        self.assertEqual(collections.Counter(map(shape, in_trace)), collections.Counter(map(shape, kernels)))
        self.check_ledger(recorded.trace, len(kernels))
        # ONNX Runtime's microseconds count from its profile's beginning, the trace's from its own: they were moved rightly.
        def place(event):
            return event["name"], event["ts"]

        for ours, theirs in zip(sorted(in_trace, key=place), sorted(kernels, key=place)):
            self.assertEqual(ours["name"], theirs["name"])
            self.assertAlmostEqual(ours["ts"], theirs["ts"], delta=int(ours["args"]["start_error_ns"]) / 1000 + 2)

    def test_names_and_args_that_break_json(self):
        recorded = Recorded("hostile", EARLY, EPPROF_PROFILERS=interop.library("tests/plugins/plain_ep"))
        with self.assertRaises(ValueError):
            list(recorded.own())
        in_trace = [event for event in converted(recorded.trace, "ort") if event["cat"] == "Kernel"]
        self.assertEqual(len(in_trace), 3 + 5)
        self.assertIn("kernel of bad\ufffd\ufffdME_kernel_time", [event["name"] for event in in_trace])
        self.assertIn("kernel of tab\there_kernel_time", [event["args"]["of"] for event in in_trace])
        converted(recorded.trace, "chrome")
        imported = f"{recorded.prefix}.imported.epp"
        epprof("import", "--force", "-o", imported, recorded.profiles[0])
        epprof("validate", imported)
        again = [event for event in converted(imported, "ort") if event["cat"] == "Kernel"]
        self.assertEqual(sorted(event["name"] for event in again), sorted(event["name"] for event in in_trace))
        # The trace's own durations may differ: its clock of an EP that begins too early is derived from contradicting causes.
        with open(recorded.profiles[0], encoding="utf-8", errors="replace") as file:
            durations = re.findall(r'"cat" : "Kernel".*?"dur" :(\d+)', file.read())
        self.assertEqual(sorted(event["dur"] for event in again), sorted(map(int, durations)))

    def test_plugins_that_two_sessions_share(self):
        """Their events stand in the trace once, and in the profile of each session in whose time they start."""
        kinds, units = ("pu1", "tf", "pjrt"), 20
        recorded = Recorded("sharing:work,collector", WORK_DIRECTORY=str(interop.BUILD), WORK_COUNT=str(units),
                            EPPROF_PROFILERS=":".join(interop.library(f"libsample_{kind}_ep") for kind in kinds))
        def kernels(events):
            return [event for event in events if event["name"] == "relu"]

        first, second = (kernels(own) for own in recorded.own())
        in_trace = kernels(converted(recorded.trace, "ort"))
        runs = {"trace": in_trace, "first": first, "second": second}
        self.assertEqual({where: len(found) for where, found in runs.items()},
                         {"trace": 3 * 3 * units, "first": 2 * 3 * units, "second": 3 * 3 * units})
        # All have a device 0: in a profile each has a process of its own, which names its plugin.
        for found in first, second:
            rows = {(event["args"]["epprof.plugin"], event["args"]["device"]): event["pid"] for event in found}
            self.assertEqual(sorted(rows.values()), [-3, -2, -1])
            self.assertEqual({(plugin, event["pid"]) for (plugin, _), pid in rows.items() for event in found
                              if event["args"]["epprof.plugin"] == plugin}, {(plugin, pid) for (plugin, _), pid in rows.items()})
        # PU1 is told of the events; a profile joins a kernel to an event of its own session alone.
        joined = {where: sum("ort_correlation_id" in event["args"] for event in found) for where, found in runs.items()}
        self.assertEqual(joined, {"trace": 3 * units, "first": units, "second": 2 * units})
        ledger = ledger_of(recorded.trace)
        self.assertEqual((ledger["balanced"], ledger["lost"]), ("true", "0"))

    def test_without_an_output_the_profile_has_them(self):
        kinds, units = ("pu1", "tf", "pjrt"), 20
        prefix = interop.scratch() / "no_output"
        done = subprocess.run(
            [sys.executable, HOST, "sharing:work,collector", prefix], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=True, env=environ(WORK_DIRECTORY=str(interop.BUILD), WORK_COUNT=str(units), EPPROF_PROFILERS=":".join(
                interop.library(f"libsample_{kind}_ep") for kind in kinds)))
        self.assertNotIn("EPPROF_OUTPUT", done.stdout)
        found = []
        for path in (line for line in done.stdout.splitlines() if line.endswith(".json")):
            with open(path, encoding="utf-8") as file:
                kernels = [event for event in json.load(file) if event["name"] == "relu"]
            found.append((len(kernels), sum("ort_correlation_id" in event["args"] for event in kernels)))
        self.assertEqual(found, [(2 * 3 * units, units), (3 * 3 * units, 2 * units)])
        self.assertEqual(list(interop.scratch().glob("no_output*.epp")), [])

    def test_libraries_that_are_none(self):
        for path, reason in (("/no/such/libfoo.so", "libfoo.so"), (interop.library("libepprof"), "not a plugin")):
            with self.assertRaisesRegex(AssertionError, f"EPPROF_PROFILERS: .*{reason}"):
                Recorded("hostile", EPPROF_PROFILERS=path)


if __name__ == "__main__":
    interop.main()
