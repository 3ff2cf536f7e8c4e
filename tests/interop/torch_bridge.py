"""libepprof_kineto.so, made for the torch of this environment, and programs in PyTorch that use it."""
import fcntl
import functools
import json
import os
import subprocess
import sys

import torch

import interop
import warm_python

PATH = interop.library("libepprof_kineto")
TORCH = os.path.dirname(torch.__file__)


@functools.cache
def make():
    with open(interop.BUILD / "kineto.lock", "w", encoding="utf-8") as lock:  # another test may make it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(
            ["make", "-s", "kineto", f"TORCH={TORCH}", f"BUILD={os.environ.get('BUILD', 'build')}"],
            cwd=interop.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode != 0:
        raise RuntimeError(made.stdout)


PROGRAM = """
import ctypes, json, sys, threading
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
CPU, DEVICE = ProfilerActivity.CPU, ProfilerActivity.PrivateUse1
out = sys.argv[1]
torch.utils.rename_privateuse1_backend("sample")
torch.ops.load_library(sys.argv[2])
lib = ctypes.CDLL(sys.argv[3]) if sys.argv[3] else None

@torch.library.custom_op("sample::work", mutates_args=())
def work(x: torch.Tensor, count: int) -> torch.Tensor:
    assert lib.epp_sample_work(count) == 0
    return x.clone()

def trace(p):
    p.export_chrome_trace(out)
"""


def plugin(name):
    return str(interop.BUILD / "tests" / "plugins" / f"{name}.so")


class Run:
    """A program in PyTorch, and the trace it wrote."""
    count = 0
    python = None

    def __init__(self, program, library="", path=None, bridge=PATH, **environment):
        Run.count += 1
        out = interop.scratch() / f"trace-{Run.count}.json"
        file, log = out.with_suffix(".py"), out.with_suffix(".log")
        file.write_text(PROGRAM + program, encoding="utf-8")
        env = {**os.environ, "KINETO_PLUGIN_PATH": library if path is None else path, **environment}
        Run.python = Run.python or warm_python.WarmPython(sys.executable, "import torch, torch._dynamo")
        status = Run.python.run(file, [str(out), bridge, library], env, log, log)
        self.log = log.read_text(errors="replace")
        if status != 0:
            raise AssertionError(f"exit status {status}: {self.log[-2000:]}")
        # Lines of Kineto's own log go between.
        self.said = [json.loads(line[1:]) for line in self.log.splitlines() if line.startswith("=")]
        with open(out, encoding="utf-8") as file:
            self.trace = json.load(file)
        self.events = self.trace["traceEvents"]

    def of(self, category, name=None):
        return [event for event in self.events if event.get("cat") == category and name in (None, event["name"])]

    def ledger(self):
        return self.trace["epprof_ledger"]


SAMPLE = interop.library("libsample_pu1_ep")
