"""What the tests of TensorFlow's and JAX's operations in the trace of EPPROF_OUTPUT have in common."""
import collections
import json
import os
import subprocess
import sys

import interop

EPPROF = str(interop.BUILD / "epprof")
SAMPLE = interop.library("libsample_pu1_ep")
WORK = 3  # kernels each time that the sample is given work

# Each test's own programs begin so: the sample's work as a function of an array.
HEAD = f"""
import ctypes, logging, os, sys
import numpy
logging.basicConfig(format="%(name)s: %(message)s")
sample = ctypes.CDLL({SAMPLE!r})
def host(x):
    assert sample.epp_sample_work({WORK}) == 0
    return numpy.asarray(x)
"""

# What is done to the profile before the bridge gets it.
DAMAGE = """
import epprof_host
give = epprof_host.Bridge.give
def damaged(self, path):
    path.write_bytes(b"\\x0a\\xff\\xff\\xff\\xff\\x0fno XSpace")
    return give(self, path)
epprof_host.Bridge.give = damaged
"""


class Traced:
    """A program's trace, and the folder of its logs."""
    count = 0

    def __init__(self, program, *arguments, **environment):
        Traced.count += 1
        self.folder = interop.scratch() / f"operations-{Traced.count}"
        self.folder.mkdir()
        self.path = self.folder / "run.epp"
        given = {**os.environ, "PYTHONPATH": str(interop.BUILD / "python"), "EPPROF_PROFILERS": SAMPLE,
                 "EPPROF_OUTPUT": str(self.path), **environment}
        done = subprocess.run([sys.executable, "-c", HEAD + program, str(self.folder), *arguments], env=given, text=True,
                              capture_output=True, errors="replace", check=False)
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        self.log = [line for line in done.stderr.splitlines() if line.startswith("epprof")]
        self.command("validate")
        self.records = [json.loads(line) for line in self.command("convert", "-t", "ndjson", "-o", "-").splitlines()]
        self.events = [event for event in self.records if event["kind"] == "slice"]
        self.by_id = {event["id"]: event for event in self.events}

    def command(self, *words):
        return subprocess.run([EPPROF, *words, self.path], check=True, stdout=subprocess.PIPE, text=True).stdout

    def kernels(self, run=None):
        return [event for event in self.events if "device" in event and run in (None, event["run"])]

    def operations(self, run=None):
        return [event for event in self.events
                if "device" not in event and event["category"] != "Api" and run in (None, event["run"])]

    def around(self, event):
        """The names of what is around an event, or caused it: the innermost first."""
        names = []
        while event := self.by_id.get(event.get("parent")):
            names.append(event["name"])
        return names

    def names_in_summary(self):
        """By operation, how many `epprof summary` counts."""
        ops = json.loads(self.command("summary", "--by", "op", "--top", "0", "--format", "json"))["ops"]
        return collections.Counter({op["name"]: op["count"] for op in ops if op["category"] != "Api"})

    def look_at(self, case, expected, run=None):
        """Compares with what the framework's profile has: (thread, name, start in UNIX ns, duration in ns), by thread and name in
        order of their starts."""
        (facts,) = [record["trace"] for record in self.records if record["kind"] == "trace"]
        found = sorted((event["track_name"], event["name"], int(facts["epoch_unix_ns"]) + event["start_ns"],
                        event["duration_ns"]) for event in self.operations(run))
        expected = sorted(expected)
        case.assertGreater(len(expected), 100)
        case.assertEqual([event[:2] for event in found], [event[:2] for event in expected])
        # The two clocks are read together to within some ten ns, unless the machine is busy.
        for index, most_ns in ((2, 50000), (3, 50000)):
            case.assertLess(max(abs(a[index] - b[index]) for a, b in zip(found, expected)), most_ns)
