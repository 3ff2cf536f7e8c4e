#!/usr/bin/env python3
"""Plugins of all ABIs that hang, five at once and each in another function, in the frameworks themselves: start and stop come
back in time, the plugin that works has all its events in the framework's own output, the framework's log and the trace name
those that hang, the trace is finished, and the process ends."""
import json
import os
import subprocess
import unittest

import environment
import interop
from hanging_host import COUNT

FRAMEWORKS = {"onnxruntime": interop.ONNXRUNTIME, "tensorflow": interop.TENSORFLOW, "pytorch": interop.TORCH, "jax": interop.JAX}
GUILTY = ("plain_ep", "tf_fault", "tf_run_metadata", "pjrt_fault", "scripted_pu1")
NAMES = ("plain_ep", "XPU", "pjrt_fault", "scripted_pu1")  # what they call themselves; two are XPU
LIMIT_MS = 1000
SLACK_S = 3  # for all else that a framework does there, on a busy machine

SETS = {
    "start": "ort:StartProfiling,tf:start,first:start,pjrt:create,pu1:pu1TracingEnable",
    "end": "ort:EndProfiling,tf:collect_data_xspace,first:stop,pjrt:size,pu1:pu1FlushAll",
}


class Hanging(unittest.TestCase):
    def run_host(self, name, which):
        framework = FRAMEWORKS[name]
        try:
            python = framework.python_for(framework.versions()[-1])
        except environment.Unavailable as error:
            raise unittest.SkipTest(str(error)) from error
        out = interop.scratch() / f"{name}-{which}"
        out.mkdir()
        plugins = [interop.library(f"tests/plugins/{plugin}") for plugin in GUILTY]
        plugins.insert(2, interop.library("libsample_pu1_ep"))
        given = {**os.environ, "HANGING_OUT": str(out), "HANG_AT": SETS[which], "EPPROF_PLUGIN_TIMEOUT_MS": str(LIMIT_MS),
                 "EPPROF_PROFILERS": ":".join(plugins), "EPPROF_OUTPUT": str(out / "run.epp"), "EPPROF_TEST_SEVERITY": "2",
                 "KINETO_PLUGIN_PATH": "", "WORK_DIRECTORY": str(interop.BUILD), "WORK_COUNT": str(COUNT), interop.INSIDE: "1"}
        if name == "jax":
            given["PYTHONPATH"] = str(interop.BUILD / "python")
        program = interop.ROOT / "tests" / "interop" / "hanging_host.py"
        done = subprocess.run([python, program, name], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        return out, json.loads(done.stdout.splitlines()[-1]), done.stderr

    def check(self, name, which):
        out, runs, log = self.run_host(name, which)
        print(name, which, [{key: round(value, 2) for key, value in run.items()} for run in runs])
        for run in runs:
            self.assertEqual(run["units"], COUNT)
            self.assertLess(run["start_s"], LIMIT_MS / 1000 + SLACK_S)
            self.assertLess(run["stop_s"], LIMIT_MS / 1000 + SLACK_S)
        step = "StartProfiling" if which == "start" else "EndProfiling"
        for plugin in NAMES:
            self.assertRegex(log, rf"{plugin}(\.so)?: {step}: it has not returned after {LIMIT_MS} ms")
        trace = out / ("run.1.epp" if name == "pytorch" else "run.epp")
        info = json.loads(subprocess.run([interop.BUILD / "epprof", "info", "--format", "json", "--all", trace], check=True,
                                         stdout=subprocess.PIPE, text=True).stdout)
        self.assertEqual(info["state"], "finished", info)
        text = json.dumps(info)
        self.assertIn(f"{step}: it has not returned after {LIMIT_MS} ms", text)
        self.assertIn("plugin hung", text)

    def test_frameworks(self):
        for name in FRAMEWORKS:
            for which in SETS:
                with self.subTest(framework=name, hangs_at=which):
                    self.check(name, which)


if __name__ == "__main__":
    interop.main()
