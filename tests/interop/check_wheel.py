#!/usr/bin/env python3
"""The wheel: its tag against auditwheel, its size, and in an empty environment the package, the command and the bridges."""
import os
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

import built_wheel
import interop
import viewers

viewers.in_environment(*built_wheel.BUILD_PACKAGES)

BYTES_MAX = 4_000_000
LIBRARIES = ("libepprof.so.0", "libepprof-trace.so.0", "libepprof_ort.so", "libepprof_tf.so", "libepprof_pjrt.so",
             "libepprof_preload.so", "libepprof_cupti.so", "libepprof_cupti_ort.so", "epprof")
PROGRAM = """
import epprof, jax_plugins.epprof
with epprof.session("run.epp"), epprof.event("op", rows=1): pass
with epprof.open("run.epp") as trace:
    print([(event.name, event.args) for event in trace.events()])
print(epprof.bridge("ort"))
print(jax_plugins.epprof._find())
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}: {done.stdout[-4000:]}")
    return done.stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheel = built_wheel.make()
        cls.environment = interop.scratch() / "clean"
        run(sys.executable, "-m", "venv", cls.environment)
        page = (interop.ROOT / "docs/python.md").read_text(encoding="utf-8")
        line = re.search(r"<!-- interop: check_wheel.py -->\n```sh\n(.*?)\n```", page, re.DOTALL).group(1)
        run("bash", "-c", f"PATH='{cls.environment}/bin':$PATH; {line}",
            env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(cls.wheel.parent)})
        cls.clean = {name: value for name, value in os.environ.items()
                     if not name.startswith(("EPPROF_", "PYTHONPATH", "LD_LIBRARY_PATH"))}

    def inside(self, *command):
        return run(self.environment / "bin" / command[0], *command[1:], env=self.clean, cwd=interop.scratch())

    def test_what_it_claims(self):
        self.assertLess(self.wheel.stat().st_size, BYTES_MAX)
        shown = run(sys.executable, "-m", "auditwheel", "show", self.wheel)
        tag = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_x86_64.whl$", self.wheel.name)
        claimed = re.search(r'tag:\s*"manylinux_(\d+)_(\d+)_x86_64"', shown.replace("\n", " "))
        self.assertTrue(claimed, shown)
        self.assertGreaterEqual(tuple(map(int, tag.groups())), tuple(map(int, claimed.groups())), shown)

    def test_what_is_in_it(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            self.assertIsNone(wheel.testzip())
            names = set(wheel.namelist())
        for name in (*(f"epprof/lib/{library}" for library in LIBRARIES), "epprof/kit/ep_kit.c", "epprof/kit/epprof_ep.h",
                     "epprof/completion/_epprof", "jax_plugins/epprof/__init__.py", "epprof_tensorflow.py",
                     "epprof_kineto.py", "epprof/lib/kineto/bridges/pytorch/kineto.cc", "epprof/lib/kineto/api/epprof/epprof.h"):
            self.assertIn(name, names)
        for package in ("libbsd", "libmd", "yajl", "sqlite3", "libzstd", "zlib"):
            self.assertTrue([name for name in names if name.endswith(f"dist-info/licenses/{package}")], names)

    def test_recording_and_reading(self):
        lines = self.inside("python", "-c", PROGRAM).splitlines()
        self.assertEqual(lines[0], "[('op', {'rows': 1})]")
        for path, library in zip(lines[1:], ("libepprof_ort.so", "libepprof_pjrt.so")):
            self.assertTrue(path.endswith(f"site-packages/epprof/lib/{library}"), path)
        self.assertIn("op", self.inside("epprof", "summary", "run.epp"))
        self.assertTrue(self.inside("epprof", "--bridge", "tf").strip().endswith("epprof/lib/libepprof_tf.so"))

    def test_the_command_needs_no_module_of_the_package(self):
        """Another Python than CPython cannot load the extension modules."""
        site = next(self.environment.glob("lib/python*/site-packages"))
        other = interop.scratch() / "other"
        shutil.copytree(site, other, ignore=shutil.ignore_patterns("*.abi3.so"))
        environ = {**self.clean, "PYTHONPATH": str(other)}
        version = run(sys.executable, "-c", "import epprof_command; epprof_command.main()", "--version", env=environ)
        self.assertRegex(version, r"^epprof \d")
        done = subprocess.run([sys.executable, "-c", "import epprof"], env=environ, capture_output=True, text=True, check=False)
        self.assertIn("ImportError: epprof: this Python cannot load epprof._record", done.stderr)

    def test_every_library_loads(self):
        program = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]"
        folder = next(self.environment.glob("lib/python*/site-packages/epprof/lib"))
        self.inside("python", "-c", program, *(folder / library for library in LIBRARIES if ".so" in library))


if __name__ == "__main__":
    interop.main()
