#!/usr/bin/env python3
"""epprof record with ONNX Runtime in C++: a program that does not mention epprof, linked to ONNX Runtime or opening it."""
import json
import os
import subprocess
import unittest
from pathlib import Path

import interop
from record_command import Recorded

interop.in_each_environment()
import onnxruntime

DIGITS = interop.DATA / "digits.onnx"
SAMPLE = interop.library("libsample_ort_ep")
HEADERS = interop.ROOT.parent / "shared" / "third_party" / "onnxruntime"
RUNS = 10


def setUpModule():
    """Builds both programs.  The package has the library by its full name alone."""
    global linked, opened
    found = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.1*"))
    folder = interop.scratch() / "host"
    folder.mkdir()
    (folder / "libonnxruntime.so.1").symlink_to(found)
    linked, opened = folder / "linked", folder / "opened"
    build = [os.environ.get("CXX", "c++"), "-std=c++17", "-pthread", "-isystem", HEADERS, f"-I{interop.ROOT / 'api'}",
             interop.ROOT / "tests" / "interop" / "record_host.cc"]
    subprocess.run([*build, "-o", linked, f"-L{folder}", "-l:libonnxruntime.so.1", f"-Wl,-rpath,{folder}"], check=True)
    subprocess.run([*build, "-o", opened, f'-DOPENED="{found}"', "-ldl"], check=True)


class Programs(unittest.TestCase):
    def recorded(self, program, sessions, *arguments, status=0, **environ):
        """The program's results are those that it has without the command."""
        command = [program, str(sessions), DIGITS, *arguments]
        alone = subprocess.run(command, env={**os.environ, **environ}, cwd=interop.scratch(), capture_output=True, text=True,
                               check=False)
        self.assertEqual((alone.returncode, len(alone.stdout.splitlines())), (status, sessions), alone)
        recorded = Recorded("", command=command, **environ)
        self.assertEqual((recorded.done.returncode, recorded.done.stdout), (status, alone.stdout), recorded.done.stderr)
        self.assertNotIn("unprofiled", recorded.done.stderr)
        counts = recorded.counts()
        self.assertEqual({name: counts[name] for name in ("session_initialization", "model_run", "probs")},
                         {"session_initialization": sessions, "model_run": sessions * RUNS, "probs": sessions * RUNS})
        return recorded

    def test_linked(self):
        self.recorded(linked, 1)

    def test_opened(self):
        self.recorded(opened, 1)

    def test_threads_create_sessions(self):
        self.recorded(linked, 4)

    def test_kernels_of_the_programs_own_provider(self):
        for program in linked, opened:
            summary = json.loads(self.recorded(program, 2, SAMPLE).epprof("summary", "--format", "json"))
            counts = {kernel["name"]: kernel["count"] for kernel in summary["kernels"]}
            self.assertEqual({name: counts[name] for name in ("gemm", "relu", "copy_out")},
                             {"gemm": 4 * RUNS, "relu": 2 * RUNS, "copy_out": 2 * RUNS})

    def test_a_profile_of_the_program_itself(self):
        """Without the command and with it, the program writes the same profile."""
        folder = interop.scratch() / "profiles"
        folder.mkdir()
        self.recorded(linked, 1, HOST_PROFILE=str(folder / "own"))
        events = [sorted(event["name"] for event in json.loads(profile.read_text(encoding="utf-8")))
                  for profile in folder.glob("own*")]
        self.assertEqual(len(events), 2)
        self.assertEqual(events[0], events[1])
        self.assertEqual(events[0].count("model_run"), RUNS)

    def test_the_exit_status_is_passed_on(self):
        self.recorded(opened, 1, HOST_STATUS="9", status=9)

    def test_a_model_that_cannot_be_loaded(self):
        recorded = Recorded("", command=[linked, "1", "none.onnx"])
        self.assertEqual(recorded.done.returncode, 3, recorded.done.stderr)
        self.assertIn("none.onnx", recorded.done.stdout)
        self.assertNotIn("unprofiled", recorded.done.stderr)

    def test_the_library_of_the_user_is_preloaded_too(self):
        """It is found after this one; a name that does not exist makes the loader print a line."""
        recorded = Recorded("", command=[linked, "1", DIGITS], LD_PRELOAD="/nowhere/libuser.so")
        self.assertEqual(recorded.done.returncode, 0)
        self.assertRegex(recorded.done.stderr, "libuser.so.*cannot be preloaded")
        self.assertEqual(recorded.counts()["model_run"], RUNS)


if __name__ == "__main__":
    interop.main()
