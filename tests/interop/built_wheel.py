"""The wheel of this tree, which several tests install."""
import fcntl
import re
import subprocess
import sys
import unittest

import environment
import interop

BUILD_PACKAGES = ("auditwheel", "ziglang", "build")


def make():
    """Returns the path of the wheel.  What an earlier build has compiled is compiled no more."""
    python = environment.python_with(list(BUILD_PACKAGES))
    target = interop.scratch() / "dist"
    with open(interop.ROOT / "build-wheel.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([python, "-m", "build", "--wheel", "--no-isolation", "--outdir", target,
                               interop.ROOT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    missing = re.search(r"the source packages of .* cannot be downloaded.*", done.stdout)
    if missing:
        raise unittest.SkipTest(missing[0])
    if done.returncode != 0:
        raise AssertionError(f"build of the wheel: exit status {done.returncode}: {done.stdout[-4000:]}")
    return next(target.glob("epprof-*.whl"))
