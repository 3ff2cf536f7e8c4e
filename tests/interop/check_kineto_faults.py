#!/usr/bin/env python3
"""Allocations of PyTorch's bridge that fail, one at each place and then all from there on: PyTorch goes on, and what a profile
lacks is in its metadata or in a message."""
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.TORCH)
import torch_bridge
from torch_bridge import SAMPLE

UNITS = 5

# Prints a line of JSON for each profile: what failed, and how many kernels, problems and lost events it has.
PROGRAM = torch_bridge.PROGRAM + """
import os
shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
shim.failing_stack.restype, shim.failing_count.restype = ctypes.c_uint32, ctypes.c_uint64
shim.failing_arm.argtypes, shim.failing_stack.argtypes = [ctypes.c_uint64] * 2, [ctypes.c_uint64]
ALL = 2 ** 64 - 1

def profiled(first, last):
    shim.failing_arm(first, last)
    with profile(activities=[CPU, DEVICE], record_shapes=True) as p:
        with record_function("step"):
            torch.ops.sample.work(torch.ones(2, 3), UNITS)
    trace(p)
    count = shim.failing_count()
    with open(out) as file:
        text = file.read()
    try:
        written = json.loads(text)
    except ValueError as error:
        sys.exit(f"{first} {last}: {error}: {text[:1000]}")
    ledger = written.get("epprof_ledger", {})
    print("=" + json.dumps({
        "first": first, "last": last, "count": count, "problems": written.get("epprof_problems"),
        "kernels": sum(event["name"] == "relu" for event in written["traceEvents"]),
        "lost": sum(of["lost"] for of in ledger.values())}), flush=True)
    return count

with profile(activities=[CPU, DEVICE]):
    pass
assert shim.failing_library(b"libepprof_kineto")
profiled(ALL, ALL)
count = profiled(ALL, ALL)
places = {}
for number in range(1, count + 1):
    places.setdefault(shim.failing_stack(number), number)
for first in sorted(places.values()):
    print(f"at {first}", file=sys.stderr, flush=True)
    profiled(first, first)
    print(f"from {first}", file=sys.stderr, flush=True)
    profiled(first, ALL)
profiled(ALL, ALL)
"""


class Faults(unittest.TestCase):
    def test_allocations(self):
        torch_bridge.make()
        shim = interop.scratch() / "failing_bridge.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-g", "-fno-builtin", "-Wall", "-Werror", "-o", shim,
                        Path(__file__).parent / "failing_bridge.c"], check=True)
        program = PROGRAM.replace("UNITS", str(UNITS))
        done = subprocess.run([torch_bridge.sys.executable, "-c", program, interop.scratch() / "out.json", torch_bridge.PATH, SAMPLE],
                              env={**os.environ, "KINETO_PLUGIN_PATH": SAMPLE, "LD_PRELOAD": str(shim),
                                   "EPPROF_OUTPUT": str(interop.scratch() / "run.epp")}, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-500:])
        profiles = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("=")]
        place, messages = "", {}
        for line in done.stderr.splitlines():
            if re.match(r"(at|from) \d+$", line):
                place = line
            elif "epprof" in line:
                messages[place] = line
        print(f"{profiles[1]['count']} allocations, {len(profiles) - 3} profiles with failures, "
              f"{sum(bool(each['problems']) for each in profiles)} with a note", flush=True)
        self.assertGreater(len(profiles), 60)
        for each in profiles[:2] + profiles[-1:]:
            self.assertEqual((each["kernels"], each["problems"], each["lost"]), (UNITS, None, 0), each)
        for each in profiles[2:-1]:
            place = f"{'at' if each['first'] == each['last'] else 'from'} {each['first']}"
            if not each["problems"] and not each["lost"] and place not in messages:
                self.assertEqual(each["kernels"], UNITS, each)


if __name__ == "__main__":
    interop.main()
