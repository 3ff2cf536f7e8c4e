"""What the tests with real frameworks have in common.

A test program is a file of unittest cases that begins with `interop.in_each_environment()` and ends with `interop.main()`.
The first, in the Python that somebody started, runs the program in one environment after the other, each with another
version of the framework, prints the sum of all as Check does, and exits; there it does nothing, and main runs the tests.

EPPROF_ORT_VERSIONS         the versions, instead of all: "1.30.0 newest"
EPPROF_TENSORFLOW_VERSIONS  likewise, of TensorFlow
EPPROF_TORCH_VERSIONS       likewise, of PyTorch
EPPROF_JAX_VERSIONS         likewise, of JAX
EPPROF_VENDORS_VERSIONS     likewise, of OpenVINO's execution provider
EPPROF_PJRT_VENDORS_VERSIONS  likewise, of the CUDA plugin for JAX
CI                          set: what could not run is an error, not a skip
BUILD                       the build tree, "build"
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import environment

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
DATA = ROOT / "ep_sample" / "data"
INSIDE = "EPPROF_INTEROP_INSIDE"  # set in the processes that run tests


def library(name):
    return str(BUILD / f"{name}.so")


def moved(path):
    """A copy of a library with another name, alone in a folder, as somebody puts it among a framework's."""
    folder = Path(tempfile.mkdtemp(prefix="moved ", dir=scratch()))
    return str(shutil.copy(path, folder / f"copy of {Path(path).name}"))


def scratch():
    """A directory that is gone at the end of the process."""
    if not hasattr(scratch, "directory"):
        scratch.directory = tempfile.TemporaryDirectory(prefix="epprof-interop-")
    return Path(scratch.directory.name)


def imported(profile):
    """The events of another profiler's file as a trace has them, but the importer's own."""
    epprof, trace = BUILD / "epprof", scratch() / "imported.epp"
    for arguments in ("import", "--force", "-o", trace, profile), ("validate", trace):
        done = subprocess.run([epprof, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"epprof {arguments[0]}: {done.stdout}{done.stderr}")
    text = subprocess.run([epprof, "convert", "-t", "ndjson", "-o", "-", trace], capture_output=True, check=True).stdout
    events = [json.loads(line) for line in text.decode().splitlines()]
    return [event for event in events if event["kind"] not in ("ledger", "trace")
            and event["track_name"] not in ("import", "properties")]


class Framework:
    def __init__(self, name, variable, versions, requirements):
        self.name = name
        self.variable = variable
        self.all_versions = versions
        self.requirements = requirements

    def versions(self):
        return os.environ.get(self.variable, "").split() or self.all_versions

    def python_for(self, version):
        return environment.python_with(self.requirements(version))


def _onnxruntime(version):
    return ["onnxruntime" if version == "newest" else f"onnxruntime=={version}", "numpy", "onnx"]


ONNXRUNTIME = Framework("ONNX Runtime", "EPPROF_ORT_VERSIONS", ("1.26.0", "1.30.0", "newest"), _onnxruntime)
ONNXRUNTIME_NEWEST = Framework("ONNX Runtime", "EPPROF_ORT_VERSIONS", ("newest",), _onnxruntime)
ONNXRUNTIME_WINDOWS = Framework("ONNX Runtime for Windows", "EPPROF_ORT_VERSIONS", ("1.26.0", "newest"), _onnxruntime)
TENSORFLOW = Framework("TensorFlow", "EPPROF_TENSORFLOW_VERSIONS", ("2.21.0",), lambda v: [f"tensorflow-cpu=={v}"])
TORCH = Framework("PyTorch", "EPPROF_TORCH_VERSIONS", ("2.15.0",), environment.torch)
JAX = Framework("JAX", "EPPROF_JAX_VERSIONS", ("newest",),
                lambda version: ["jax" if version == "newest" else f"jax=={version}", "numpy"])
VENDORS = Framework("EPs of vendors", "EPPROF_VENDORS_VERSIONS", ("1.8.1",),
                    lambda version: [f"onnxruntime-ep-openvino=={version}", "onnxruntime-ep-webgpu==0.4.0",
                                     "onnxruntime-ggml==0.2.0", "--no-deps"])
PJRT_VENDORS = Framework("PJRT plugins of vendors", "EPPROF_PJRT_VENDORS_VERSIONS", ("0.12.0.1",),
                         lambda version: [f"jax-cuda12-pjrt=={version}", "libtpu==0.0.52", "--no-deps"])
ALL = [ONNXRUNTIME, TENSORFLOW, TORCH, JAX]
FRAMEWORKS = {"check_advice_models.py": [ONNXRUNTIME_NEWEST], "check_models.py": [ONNXRUNTIME_NEWEST, VENDORS], "check_arm64.py": [ONNXRUNTIME_NEWEST], "check_hanging.py": ALL, "check_hta_torch.py": [TORCH], "check_kineto.py": [TORCH], "check_kineto_ops.py": [TORCH], "check_matrix.py": ALL,
              "check_pjrt.py": [JAX], "check_record_frameworks.py": [TENSORFLOW, JAX, TORCH], "check_torch_import.py": [TORCH],
              "check_probe.py": [VENDORS], "check_conform_vendors.py": [VENDORS, PJRT_VENDORS], "check_tf_bridge.py": [TENSORFLOW],
              "check_tf_plugin.py": [TENSORFLOW], "check_wheel_kineto.py": [TORCH],
              "check_windows.py": [ONNXRUNTIME_WINDOWS]}  # of tests with others than ONNX Runtime


def _closing(checks, failures, errors):
    percent = (checks - failures - errors) * 100 // checks if checks else 0
    print(f"{percent}%: Checks: {checks}, Failures: {failures}, Errors: {errors}", flush=True)


def _skip(reason):
    """Tells a skip; 1 if it is an error."""
    fails = "CI" in os.environ
    print(f"SKIP: {reason}{' (an error, because CI is set)' if fails else ''}", flush=True)
    return int(fails)


def in_each_environment(framework=ONNXRUNTIME):
    if INSIDE in os.environ:
        return
    sums = [0, 0, 0]
    for version in framework.versions():
        try:
            python = framework.python_for(version)
        except environment.Unavailable as error:
            fails = _skip(str(error))
            sums = [sums[0] + fails, sums[1], sums[2] + fails]
            continue
        print(f"== {framework.name} {version}", flush=True)
        done = subprocess.run([python, *sys.argv], env={**os.environ, INSIDE: "1"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        print(done.stdout, end="", flush=True)
        closing = re.findall(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", done.stdout, re.MULTILINE)
        counts = [int(count) for count in closing[-1]] if closing else [1, 0, 1]
        if done.returncode != 0 and counts[1] + counts[2] == 0:  # it died at its end
            counts = [counts[0] + 1, counts[1], counts[2] + 1]
        sums = [a + b for a, b in zip(sums, counts)]
    if sums[0] == 0:
        sys.exit(77)
    _closing(*sums)
    sys.exit(0 if sums[1] + sums[2] == 0 else 1)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    errors = len(result.errors) + sum(_skip(f"{test}: {reason}") for test, reason in result.skipped)
    checks = result.testsRun - len(result.skipped) + errors - len(result.errors)
    _closing(checks, len(result.failures), errors)
    sys.exit(0 if result.wasSuccessful() and errors == 0 else 1)


def do_as_page(page, **replacements):
    """Does what a page of docs/ shows: writes its programs in Python, by the names in their first lines, and runs its shell lines
    in their folder.  Each replacement, given as name=(text, other), must stand somewhere.  Returns the folder and what was printed."""
    folder = scratch() / Path(page).stem
    folder.mkdir()
    samples = re.findall(r"^<!-- interop: \S+ -->\n```(\w+)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"),
                         re.DOTALL | re.MULTILINE)
    for text, other in replacements.values():
        if not any(text in sample for _, sample in samples):
            raise AssertionError(f"{page}: no {text!r} in what it shows")
        samples = [(language, sample.replace(text, other)) for language, sample in samples]
    for language, sample in samples:
        if language == "python":
            (folder / re.match(r"# (\w+\.py)\n", sample)[1]).write_text(sample, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), str(BUILD), os.environ["PATH"]])
    done = subprocess.run(["bash", "-eu"], input="".join(sample for language, sample in samples if language == "sh"), cwd=folder,
                          env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        raise AssertionError(f"{page}: exit status {done.returncode}:\n{done.stdout[-4000:]}")
    return folder, done.stdout


def prepare(programs):
    """Makes all environments that these programs want, so that no test waits for it."""
    for framework in {each for program in programs for each in FRAMEWORKS.get(program, [ONNXRUNTIME])}:
        for version in framework.versions():
            try:
                framework.python_for(version)
            except environment.Unavailable:
                pass  # each test says so


if __name__ == "__main__":
    prepare(sys.argv[1:])
