#!/usr/bin/env python3
"""Allocations and system calls of PyTorch's bridge that fail while a profile is taken, one at each place and then all from there
on: PyTorch goes on, what a profile or a trace lacks is counted in it or is in a message, and no other file is left."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.TORCH)
import torch_bridge
from torch_bridge import SAMPLE

sys.path.insert(0, str(interop.BUILD / "python"))
import epprof

UNITS = 5

# Each profile has a folder and prints a line of JSON: what failed, and the number of calls.  The shared file (struct failing) has
# which calls fail, their number, and the addresses of the libraries whose calls these are.
PROGRAM = torch_bridge.PROGRAM + """
import mmap, os, struct
ALL = 2 ** 64 - 1
control = mmap.mmap(os.open(os.environ["FAILING"], os.O_RDWR), 0)

def ranges(names):
    found = {}
    for line in open("/proc/self/maps"):
        name = line.rpartition("/")[2].strip()
        if name.startswith(tuple(names)):
            begin, end = (int(text, 16) for text in line.split(" ")[0].split("-"))
            found[name] = found.get(name, (begin, end))[0], end
    assert len(found) == len(names), found
    return [number for range in found.values() for number in range] + [0] * (8 - 2 * len(found))

def profiled(place, first, last):
    os.mkdir(place)
    os.environ["EPPROF_OUTPUT"] = place + "/run.epp"
    print(place, file=sys.stderr, flush=True)
    control[:40] = struct.pack("<5Q", first, last, 1, 0, 0)
    control[40:168] = callers
    with profile(activities=[CPU, DEVICE], record_shapes=True) as p:
        with record_function("step"):
            torch.ops.sample.work(torch.ones(2, 3), UNITS)
    p.export_chrome_trace(place + "/trace.json")
    del p
    count, = struct.unpack_from("<Q", control, 32)
    control[:168] = bytes(168)
    print("=" + json.dumps([place, count]), flush=True)
    return count

control[:40] = bytes(40)
callers = struct.pack("<16Q", *ranges(sys.argv[4].split()), *ranges(["libc.so", "libstdc++.so", "failing_"]))
if sys.argv[5:]:
    sys.exit(not profiled(f"first from {sys.argv[5]}", int(sys.argv[5]), ALL))
profiled("first", ALL, ALL)
count = profiled("before", ALL, ALL)
stacks = struct.unpack_from(f"<{count}I", control, 168)
for number in sorted({stack: count - i for i, stack in enumerate(reversed(stacks))}.values()):
    profiled(f"at {number}", number, number)
    profiled(f"from {number}", number, ALL)
profiled("after", ALL, ALL)
"""


def wrong(folder, messages):
    """What is wrong with a profile, or None."""
    try:
        profile = json.loads((folder / "trace.json").read_text())
    except ValueError as error:
        return str(error)
    has_message = bool(profile.get("epprof_problems") or messages)
    kernels = sum(event["name"] == "relu" for event in profile["traceEvents"])
    lost = sum(account["lost"] for account in profile.get("epprof_ledger", {}).values())
    if kernels + lost < UNITS and not has_message:
        return "the profile lacks events, without a message"
    traces = [path for path in folder.iterdir() if re.fullmatch(r"run\.\d+\.epp", path.name)]
    if len(list(folder.iterdir())) != 1 + len(traces) or len(traces) > 1:
        return f"files: {list(folder.iterdir())}"
    if not traces:
        return None if has_message else "no trace, without a message"
    with epprof.open(traces[0]) as trace:
        errors = [finding for finding in trace.validate() if finding.severity == "error"]
        emitted = sum(entry.emitted for entry in trace.ledger())
    if errors:
        return str(errors)
    return "the trace lacks events, without a message" if emitted < UNITS + 2 and not has_message else None


class Faults(unittest.TestCase):
    def profiles(self, preloaded, libraries, *first):
        """Takes the profiles of a process, and returns their places: each place, or the first profile with all calls failing."""
        torch_bridge.make()
        # A disk takes most of the time.
        has_memory = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 30
        scratch = tempfile.TemporaryDirectory(dir="/dev/shm" if has_memory else None)
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        (folder / "shared").write_bytes(bytes(16) + b"\1" + bytes(151 + 4 * 2 ** 18))  # `observe` is 1
        done = subprocess.run([sys.executable, "-c", PROGRAM.replace("UNITS", str(UNITS)), "", torch_bridge.PATH, SAMPLE, libraries,
                               *first],
                              env={**os.environ, "KINETO_PLUGIN_PATH": SAMPLE, "LD_PRELOAD": torch_bridge.plugin(preloaded),
                                   "FAILING": "shared"}, cwd=folder, text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-500:])
        counts = dict(json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("="))
        messages, place = {}, ""
        for line in done.stderr.splitlines():
            place = line if line in counts else place
            if "epprof" in line:
                messages.setdefault(place, []).append(line)
        found = {place: wrong(folder / place, messages.get(place)) for place in counts}
        noted = sum("epprof_problems" in (folder / place / "trace.json").read_text() for place in counts)
        print(f"{len(counts)} profiles, {noted} with a note, {len(messages)} with a message", flush=True)
        self.assertEqual({place: text for place, text in found.items() if text}, {})
        self.assertFalse(messages.keys() & {"first", "before", "after"}, messages)
        return counts

    def test_allocations(self):
        self.assertGreater(len(self.profiles("failing_malloc", "libepprof_kineto.so")), 60)

    def test_system_calls(self):
        self.assertGreater(len(self.profiles("failing_calls", "libepprof.so libepprof_kineto.so")), 60)

    def test_first_profile(self):
        """In which PyTorch makes the bridge's profiler, and that loads the plugins."""
        for preloaded in "failing_malloc", "failing_calls":
            self.assertEqual(self.profiles(preloaded, "libepprof.so libepprof_kineto.so", "1").keys(), {"first from 1"})


if __name__ == "__main__":
    interop.main()
