"""What the tests with real frameworks have in common.

A test program is a file of unittest cases that begins with `interop.in_each_environment()` and ends with `interop.main()`.
The first, in the Python that somebody started, runs the program in one environment after the other, each with another
version of ONNX Runtime, prints the sum of all as Check does, and exits; there it does nothing, and main runs the tests.

EPPROF_ORT_VERSIONS   the versions, instead of all: "1.30.0 newest"
CI                    set: what could not run is an error, not a skip
BUILD                 the build tree, "build"
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import environment

VERSIONS = ("1.26.0", "1.30.0", "newest")
ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()
DATA = ROOT / "ep_sample" / "data"
INSIDE = "EPPROF_INTEROP_INSIDE"  # set in the processes that run tests


def library(name):
    return str(BUILD / f"{name}.so")


def scratch():
    """A directory that is gone at the end of the process."""
    if not hasattr(scratch, "directory"):
        scratch.directory = tempfile.TemporaryDirectory(prefix="epprof-interop-")
    return Path(scratch.directory.name)


def versions():
    return os.environ.get("EPPROF_ORT_VERSIONS", "").split() or VERSIONS


def _requirements(version):
    package = "onnxruntime" if version == "newest" else f"onnxruntime=={version}"
    return [package, "numpy", "onnx"]


def python_for(version):
    return environment.python_with(_requirements(version))


def _closing(checks, failures, errors):
    percent = (checks - failures - errors) * 100 // checks if checks else 0
    print(f"{percent}%: Checks: {checks}, Failures: {failures}, Errors: {errors}", flush=True)


def _skip(reason):
    """Tells a skip; 1 if it is an error."""
    fails = "CI" in os.environ
    print(f"SKIP: {reason}{' (an error, because CI is set)' if fails else ''}", flush=True)
    return int(fails)


def in_each_environment(environments=None):
    """`environments`: lists of packages, one for each environment; without it those of ONNX Runtime's versions."""
    if INSIDE in os.environ:
        return
    sums = [0, 0, 0]
    for requirements in environments or [_requirements(version) for version in versions()]:
        try:
            python = environment.python_with(requirements)
        except environment.Unavailable as error:
            fails = _skip(str(error))
            sums = [sums[0] + fails, sums[1], sums[2] + fails]
            continue
        print(f"== {requirements[0]}", flush=True)
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


def prepare():
    """Makes all environments, so that no test waits for it."""
    for version in versions():
        try:
            python_for(version)
        except environment.Unavailable:
            pass  # each test says so


if __name__ == "__main__":
    prepare()
