#!/usr/bin/env python3
"""The kit and the sample EP on Windows: built by MinGW, in ONNX Runtime for Windows, under Wine.  The profile has the same events as
one that ONNX Runtime wrote here.  The collector of `make WIN=1` is tried if it was built: its trace has the same events as here."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import interop

interop.in_each_environment(interop.ONNXRUNTIME_WINDOWS)
import onnxruntime

import environment
import ort

HERE = Path(__file__).resolve().parent
RUNS = 50
BATCH = 16
MINGW = "x86_64-w64-mingw32-gcc"
COMMAND = interop.ROOT / "build-windows" / "epprof.exe"
COLLECTOR = interop.ROOT / "build-windows" / "libepprof_ort.dll"
MISSING = [tool for tool in (MINGW, "wine") if not shutil.which(tool)]
# No windows, no .NET, no entries in the desktop's menus.
WINE = {"WINEPREFIX": str(environment.cache() / "wine"), "WINEARCH": "win64", "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;explorer.exe="}


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


def compiled(name, *arguments):
    output = interop.scratch() / name
    subprocess.run([MINGW, "-O2", "-Wall", f"-I{interop.ROOT / 'api'}", "-static", "-o", output, *arguments], check=True)
    return output


def sample_ep():
    """The sample EP with the kit as one file, which needs nothing of POSIX."""
    kit = compiled("ep_kit.o", "-c", "-std=c11", "-Wextra", "-Werror", interop.BUILD / "kit" / "ep_kit.c")
    include = interop.scratch() / "include"
    (include / "sys").mkdir(parents=True)
    headers = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    shutil.copy(next(path for path in (Path("/usr/include") / headers / "sys/queue.h", Path("/usr/include/sys/queue.h"))
                     if path.exists()), include / "sys")
    sample = interop.ROOT / "ep_sample"
    sources = [*sample.glob("ort_ep*.c"), *(path for path in sample.glob("accelerator*.c") if path.stem != "accelerator_profile")]
    return compiled("sample_ep.dll", "-shared", "-std=gnu11", "-Wno-unused-variable", f"-I{include}", "-include",
                    HERE / "windows" / "posix.h", *sources, kit)


def onnxruntime_dll(version):
    """ONNX Runtime's library for Windows, of the wheel for Windows, which is fetched once."""
    folder = environment.cache() / f"onnxruntime-{version}-win_amd64"
    if not folder.exists():
        made = Path(tempfile.mkdtemp(prefix="windows-", dir=environment.cache()))
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--platform", "win_amd64",
                 "--only-binary=:all:", "-d", made, f"onnxruntime=={version}"]
        try:
            subprocess.run(fetch, capture_output=True, text=True, check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(made)
            raise
        wheel = next(made.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(made, [name for name in archive.namelist() if name.endswith(".dll")])
        wheel.unlink()
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder / "onnxruntime" / "capi" / "onnxruntime.dll"


def counts_of(profile):
    """How many events there are of each name.  A fused node's name has a number that differs between processes."""
    return collections.Counter((event["cat"], re.sub(r"_\d{9,}_", "_", event["name"])) for event in profile.host + profile.kernels)


def recorded_in(trace):
    """How many events of each kind, category and name a trace has, with and without a parent, and how many it lost."""
    epprof = interop.BUILD / "epprof"
    subprocess.run([epprof, "validate", "--strict", trace], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run([epprof, "convert", "-t", "ndjson", "-o", "-", trace], capture_output=True, check=True).stdout
    events = [json.loads(line) for line in text.decode().splitlines()]
    lost = sum(sum(event["ledger"]["lost"].values()) for event in events if event["kind"] == "ledger")
    names = collections.Counter((event["kind"], event["category"], re.sub(r"_\d{9,}_", "_", event["name"]), "parent" in event)
                                for event in events if event["kind"] not in ("ledger", "trace"))
    return names, lost


@unittest.skipIf(MISSING, f"not installed: {' '.join(MISSING)} (./setup --interop)")
class Windows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.unavailable = None
        try:
            library = onnxruntime_dll(onnxruntime.__version__)
        except subprocess.CalledProcessError as error:
            cls.unavailable = f"ONNX Runtime for Windows cannot be fetched: {error.stderr.strip()[-200:]}"
            return
        cls.host = compiled("host.exe", "-municode", "-Werror", HERE / "windows" / "host.c")
        cls.arguments = [library, sample_ep(), "SampleEP", interop.DATA / "digits.onnx", interop.DATA / "digits_test.bin"]
        cls.output = cls.run_host("windows")
        cls.path = interop.scratch() / re.search(r"^profile .*\\(.*\.json)", cls.output, re.MULTILINE)[1]
        cls.profile = ort.Profile(cls.path)

    @classmethod
    def run_host(cls, prefix, *collector, **variables):
        """What host.exe prints."""
        arguments = [*cls.arguments, interop.scratch() / prefix, str(RUNS), *collector]
        done = subprocess.run(["wine", cls.host, *(windows_path(each) if isinstance(each, Path) else each for each in arguments)],
                              env={**os.environ, **WINE, **variables}, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise AssertionError(f"host.exe: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def setUp(self):
        if self.unavailable:
            self.skipTest(self.unavailable)

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["wineserver", "-w"], env={**os.environ, **WINE}, check=False)  # so that nothing of it is left running

    def test_it_computes_what_it_computes_here(self):
        images, answers = ort.digits()
        with ort.Library("libsample_ort_ep", "SampleEP") as sample:
            session = ort.session(str(interop.DATA / "digits.onnx"), sample, profiled=True)
            right = 0
            for i in range(RUNS):
                first = i * BATCH % len(images)
                batch = slice(first, first + BATCH)
                right += int((session.run(None, {"x": images[batch]})[0].argmax(axis=1) == answers[batch]).sum())
            here = ort.profile_of(session)
            del session
        self.assertIn(f"ONNX Runtime {onnxruntime.__version__}", self.output)
        self.assertIn(f"right {right}\n", self.output.replace("\r", ""))
        self.assertEqual(counts_of(self.profile), counts_of(here))
        self.assertEqual(len(self.profile.named("gemm")), 2 * RUNS)

    def test_the_collector_records_what_it_records_here(self):
        if not COLLECTOR.exists():
            self.skipTest("no collector for Windows (make WIN=1)")
        there, here = interop.scratch() / "there.epp", interop.scratch() / "here.epp"
        output = self.run_host("collected", COLLECTOR, EPPROF_OUTPUT=windows_path(there))
        self.assertRegex(output, r"(?m)^profile ")
        images = ort.digits()[0]
        os.environ["EPPROF_OUTPUT"] = str(here)
        with ort.Library("libsample_ort_ep", "SampleEP") as sample, ort.Library("libepprof_ort", "epprof") as collector:
            session = ort.session(str(interop.DATA / "digits.onnx"), sample, collector, profiled=True)
            for i in range(RUNS):
                session.run(None, {"x": images[i * BATCH % len(images):][:BATCH]})
            session.end_profiling()
            del session
        del os.environ["EPPROF_OUTPUT"]
        names, lost = recorded_in(there)
        info = subprocess.run([interop.BUILD / "epprof", "info", there], check=True, capture_output=True, text=True).stdout
        self.assertIn(f"{there}, finished", info)
        self.assertEqual((names, lost), recorded_in(here))
        self.assertEqual(lost, 0)
        self.assertEqual(sum(count for (_, _, name, has_parent), count in names.items() if name == "gemm" and has_parent), 2 * RUNS)

    def run_command(self, trace, *options):
        """`epprof.exe run` of the digits model on the sample EP: what it prints."""
        if not COMMAND.exists():
            self.skipTest("no epprof.exe (make WIN=1)")
        library, sample = self.arguments[:2]
        command = ["wine", COMMAND, "run", "--force", "--runs", str(RUNS), "--ort", windows_path(library), "--ep",
                   f"{windows_path(sample)}:SampleEP", *options, "-o", windows_path(trace), windows_path(interop.DATA / "digits.onnx")]
        done = subprocess.run(command, env={**os.environ, **WINE}, capture_output=True, text=True, errors="replace", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_epprof_run_records_what_it_records_here(self):
        library = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
        for options in ([], ["--run-level"], ["--threads", "2"]):
            with self.subTest(options=options):
                there, here = interop.scratch() / "run_there.epp", interop.scratch() / "run_here.epp"
                printed = self.run_command(there, *options)
                command = [interop.BUILD / "epprof", "run", "--force", "--runs", str(RUNS), "--ort", library, "--ep",
                           interop.BUILD / "libsample_ort_ep.so", *options, "-o", here, interop.DATA / "digits.onnx"]
                subprocess.run(command, check=True, capture_output=True)
                names, lost = recorded_in(there)
                self.assertEqual((names, lost), recorded_in(here))
                self.assertEqual(lost, 0)
                self.assertEqual(sum(count for (_, _, name, _), count in names.items() if name == "gemm"), 2 * (RUNS + 1))
                self.assertIn(f"runs    {RUNS} of {RUNS}", printed)
                self.assertIn("kernels from the providers", printed)

    def probe(self, *arguments, folder=None):
        """The exit status of `epprof.exe probe`, and what it prints."""
        if not COMMAND.exists():
            self.skipTest("no epprof.exe (make WIN=1)")
        done = subprocess.run(["wine", COMMAND, "probe", *arguments], env={**os.environ, **WINE}, capture_output=True, text=True,
                              errors="replace", check=False, cwd=folder)
        return done.returncode, done.stdout + done.stderr

    def test_epprof_probe_prints_what_it_prints_here(self):
        here = subprocess.run([interop.BUILD / "epprof", "probe", interop.BUILD / "libsample_ort_ep.so"], capture_output=True, text=True,
                              check=True).stdout
        code, there = self.probe(windows_path(self.arguments[1]))
        self.assertEqual((code, there.splitlines()[1:]), (0, here.splitlines()[1:]))
        code, there = self.probe("--try", "--work", "epp_sample_work", windows_path(self.arguments[1]))
        self.assertEqual(code, 0, there)
        self.assertRegex(there, r"tried for 1 s as ort: \d+ events, [1-9]\d* kernels")
        code, there = self.probe("--device", "gpu", self.arguments[1].name, folder=interop.scratch())
        self.assertEqual(code, 1)
        self.assertIn("does not support the offered device (GPU)", there)

    def test_epprof_probe_loads_nothing_from_the_working_folder(self):
        folder = Path(tempfile.mkdtemp(dir=interop.scratch()))
        (folder / "needed.c").write_text("__declspec(dllexport) int needed(void) { return 1; }\n", encoding="utf-8")
        (folder / "plugin.c").write_text("int needed(void);\n"
                                         "__declspec(dllexport) int GetPjrtApi(void) { return needed(); }\n", encoding="utf-8")
        needed = compiled("needed.dll", "-shared", folder / "needed.c")
        plugin = compiled("plugin.dll", "-shared", folder / "plugin.c", needed)
        self.assertIn("exports GetPjrtApi", self.probe(windows_path(plugin))[1])
        alone = folder / "alone"
        alone.mkdir()
        shutil.copy(plugin, alone)
        code, printed = self.probe("alone\\plugin.dll", folder=folder)
        shutil.copy(needed, folder)
        self.assertEqual((code, printed), (1, "alone\\plugin.dll\nepprof: plugin.dll: dlopen: Module not found\n"))
        self.assertEqual(self.probe("alone\\plugin.dll", folder=folder), (code, printed))

    def test_events_lie_within_their_parents(self):
        self.assertEqual(self.profile.lost, [])
        self.assertEqual(self.profile.outside()[:5], [])
        self.assertEqual({event["args"]["device_name"] for event in self.profile.kernels}, {"Sample accelerator"})

    def test_epprof_reads_the_profile(self):
        events = interop.imported(self.path)
        self.assertEqual(sum(event["name"] == "gemm" for event in events), 2 * RUNS)


if __name__ == "__main__":
    interop.main()
