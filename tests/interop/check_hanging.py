#!/usr/bin/env python3
"""Plugins of all ABIs that hang, five at once and each in another function, in the frameworks themselves: start and stop come
back in time, the plugin that works has all its events in the framework's own output, the framework's log and the trace name
those that hang, the trace is finished, and the process ends."""
import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import unittest

import environment
import interop
import warm_python
from hanging_host import COUNT

FRAMEWORKS = {"onnxruntime": interop.ONNXRUNTIME, "tensorflow": interop.TENSORFLOW, "pytorch": interop.TORCH, "jax": interop.JAX}
GUILTY = ("plain_ep", "tf_fault", "tf_run_metadata", "pjrt_fault", "scripted_pu1")
NAMES = ("plain_ep", "XPU", "pjrt_fault", "scripted_pu1")  # what they call themselves; two are XPU
LIMIT_MS = 1000
LOAD_LIMIT_MS = 300  # where plugins hang in their load: they are loaded one after the other
TORCH_IMPORTS = f"""
import torch, torch._dynamo
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import torch_bridge
torch_bridge.make()  # once, and not in each host
"""
SLACK_S = 3  # for all else that a framework does there, on a busy machine

SETS = {
    "load": "ort:CreateEpFactories,tf:TF_InitProfiler,first:TF_InitProfiler,pjrt:GetPjrtApi,pu1:pu1GetVersion",
    "start": "ort:StartProfiling,tf:start,first:start,pjrt:create,pu1:pu1TracingEnable",
    "end": "ort:EndProfiling,tf:collect_data_xspace,first:stop,pjrt:size,pu1:pu1FlushAll",
}


def entries():
    """All entries of the ABIs but those on the thread of an event, one of each ABI at a time: the entries, what PJRT_FAULT must
    be, and how many of them a trace names."""
    text = (interop.ROOT / "tests" / "support" / "hanging.h").read_text(encoding="utf-8")
    by_abi = collections.defaultdict(list)
    for entry, step, fault in re.findall(r'\{ "\w+", "([\w:]+)", HANGING_(\w+), "([^"]*)" \}', text):
        if step != "EVENT" and entry != "load:constructor":
            by_abi[entry.partition(":")[0]].append((entry, step, fault))
    for together in itertools.zip_longest(*by_abi.values(), fillvalue=("", "CLOSE", "")):
        yield (",".join(entry for entry, _, _ in together if entry), "".join(fault for _, _, fault in together),
               sum(step != "CLOSE" for _, step, _ in together))


def limit_ms(which):
    return LIMIT_MS if which in ("start", "end") else LOAD_LIMIT_MS


class Hanging(unittest.TestCase):
    torch = None

    def run_host(self, name, which, at, fault="", guilty=None, **more):
        framework = FRAMEWORKS[name]
        try:
            python = framework.python_for(framework.versions()[-1])
        except environment.Unavailable as error:
            raise unittest.SkipTest(str(error)) from error
        out = interop.scratch() / f"{name}-{which}"
        out.mkdir()
        plugins = guilty or [interop.library(f"tests/plugins/{plugin}") for plugin in GUILTY]
        plugins.insert(2, interop.library("libsample_pu1_ep"))
        given = {**os.environ, "HANGING_OUT": str(out), "HANG_AT": at, "PJRT_FAULT": fault,
                 "EPPROF_PLUGIN_TIMEOUT_MS": str(limit_ms(which)),
                 "EPPROF_PROFILERS": ":".join(plugins), "EPPROF_OUTPUT": str(out / "run.epp"), "EPPROF_TEST_SEVERITY": "2",
                 "KINETO_PLUGIN_PATH": "", "WORK_DIRECTORY": str(interop.BUILD), "WORK_COUNT": str(COUNT), interop.INSIDE: "1",
                 **more}
        if name == "jax":
            given["PYTHONPATH"] = str(interop.BUILD / "python")
        program = interop.ROOT / "tests" / "interop" / "hanging_host.py"
        if name == "pytorch":
            Hanging.torch = Hanging.torch or warm_python.WarmPython(python, TORCH_IMPORTS)
            status = Hanging.torch.run(program, [name], given, out / "stdout", out / "stderr")
        else:
            with open(out / "stdout", "wb") as output, open(out / "stderr", "wb") as errors:
                status = subprocess.run([python, program, name], env=given, stdout=output, stderr=errors, check=False,
                                        timeout=300).returncode
        log = (out / "stderr").read_text(errors="replace")
        self.assertEqual(status, 0, log[-4000:])
        return out, json.loads((out / "stdout").read_text().splitlines()[-1]), log

    def check_runs(self, name, which, runs):
        print(name, which, [{key: round(value, 2) for key, value in run.items()} for run in runs])
        for run in runs:
            self.assertEqual(run["units"], COUNT)
            self.assertLess(run["start_s"], LIMIT_MS / 1000 + SLACK_S)
            self.assertLess(run["stop_s"], LIMIT_MS / 1000 + SLACK_S)

    def finished(self, name, out):
        trace = out / ("run.1.epp" if name == "pytorch" else "run.epp")
        info = json.loads(subprocess.run([interop.BUILD / "epprof", "info", "--format", "json", "--all", trace], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)
        self.assertEqual(info["state"], "finished", info)
        return json.dumps(info)

    def check(self, name, which):
        out, runs, log = self.run_host(name, which, SETS[which])
        self.check_runs(name, which, runs)
        step = {"load": "[^:;]+", "start": "StartProfiling", "end": "EndProfiling"}[which]
        reason = rf"{step}: it has not returned after {limit_ms(which)} ms"
        for plugin in GUILTY if which == "load" else NAMES:
            self.assertRegex(log, rf"{plugin}(\.so)?: {reason}")
        text = self.finished(name, out)
        self.assertEqual(len(re.findall(reason, text)), len(GUILTY), text)
        self.assertIn("plugin hung", text)

    def test_frameworks(self):
        for name in FRAMEWORKS:
            for which in SETS:
                with self.subTest(framework=name, hangs_at=which):
                    self.check(name, which)

    def test_a_slow_plugin(self):
        """Each of its steps takes less than the limit, and together they take more: they share the limit."""
        for name in FRAMEWORKS:
            with self.subTest(framework=name):
                at = "ort:CreateEpFactories,ort:StartProfiling" if name == "onnxruntime" else "tf:TF_InitProfiler,tf:start"
                out, runs, log = self.run_host(name, "slow", at, HANG_MS=str(LIMIT_MS * 7 // 10), EPPROF_PLUGIN_TIMEOUT_MS=str(LIMIT_MS))
                self.check_runs(name, "slow", runs)
                reason = f"it has not returned after {LIMIT_MS} ms, earlier calls included"
                self.assertIn(f"StartProfiling: {reason}", log)
                self.assertIn(reason, self.finished(name, out) if name != "pytorch" else log)

    def test_constructors(self):
        """The loads of two libraries do not return: a trial in another process finds this, and both cost the limit once."""
        for name in FRAMEWORKS:
            with self.subTest(framework=name):
                folder = interop.scratch() / f"{name} constructors"
                folder.mkdir()
                guilty = [str(shutil.copy(interop.library("tests/plugins/slow_load"), folder / f"{which}.so"))
                          for which in ("one", "two")]
                out, runs, log = self.run_host(name, "constructors", "", guilty=guilty[:])
                self.check_runs(name, "constructors", runs)
                reason = f"dlopen: it has not returned after {LOAD_LIMIT_MS} ms"
                for which in ("one", "two"):
                    self.assertIn(f"{which}.so: {reason}", log)
                text = self.finished(name, out)
                self.assertEqual(text.count(reason), 2, text)
                self.assertIn("plugin hung", text)

    def test_every_entry(self):
        """The bridges other than PyTorch's are C: tests/bridges/ has the same for them, so they run only when asked for."""
        for name in FRAMEWORKS if os.environ.get("CHECK_HANGING_ALL") else ("pytorch",):
            for number, (at, fault, named_count) in enumerate(entries()):
                with self.subTest(at, framework=name):
                    out, runs, log = self.run_host(name, f"entry {number}", at, fault)
                    self.check_runs(name, at, runs)
                    reason = rf"it has not returned after {LOAD_LIMIT_MS} ms"
                    # A release may hang before or after the trace is finished.
                    self.assertIn(len(re.findall(reason, self.finished(name, out))), range(named_count, at.count(",") + 2))
                    self.assertGreaterEqual(len(re.findall(reason, log)), named_count)


if __name__ == "__main__":
    interop.main()
