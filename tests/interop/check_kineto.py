#!/usr/bin/env python3
"""libepprof_kineto.so in PyTorch: events of plugins in torch.profiler's output, and what must not disturb it.

Each case is a program of its own, since PyTorch takes one device and one profiler for the life of a process.
"""
import json
import os
import subprocess
import unittest

import interop

interop.in_each_environment(interop.TORCH)
import torch_bridge
from torch_bridge import Run, SAMPLE, plugin


def setUpModule():
    torch_bridge.make()


THREE_HUNDRED = """
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 300)
    with record_function("region"):
        torch.ops.sample.work(torch.ones(3), 7)
trace(p)
for average in p.key_averages():
    print("=" + json.dumps([average.key, average.count, average.self_device_time_total]))
"""


class ThreeHundredEvents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = Run(THREE_HUNDRED, SAMPLE)

    def test_each_is_there_once(self):
        kernels = self.run_.of("kernel")
        self.assertEqual(len(kernels), 307)
        self.assertEqual({event["name"] for event in kernels}, {"relu"})
        self.assertEqual(len(self.run_.of("privateuse1_runtime", "sampleLaunch")), 307)
        self.assertEqual(len(self.run_.of("gpu_memcpy")), 4)
        self.assertEqual(len(self.run_.of("gpu_memset", "fill")), 2)
        self.assertEqual(self.run_.ledger(), {"sample_pu1_ep": {"emitted": 626, "written": 626, "lost": 0, "errors": 0}})

    def test_streams_and_correlations(self):
        kernels = sorted(self.run_.of("kernel"), key=lambda event: event["args"]["correlation"])
        self.assertEqual([event["tid"] for event in kernels], [i % 2 for i in range(300)] + [i % 2 for i in range(7)])
        self.assertEqual({event["pid"] for event in kernels}, {0})
        self.assertTrue(all(event["args"]["stream"] == event["tid"] for event in kernels))
        calls = {event["args"]["correlation"]: event for event in self.run_.of("privateuse1_runtime")}
        self.assertEqual(len(calls), 313)
        for kernel in kernels:
            call = calls[kernel["args"]["correlation"]]
            self.assertEqual(call["name"], "sampleLaunch")
            error_us = (kernel["args"]["error (ns)"] + 1) / 1000
            self.assertGreaterEqual(kernel["ts"] + error_us, call["ts"])

    def test_times(self):
        ops = {event["args"]["External id"]: event for event in self.run_.of("cpu_op", "sample::work")}
        self.assertEqual(len(ops), 2)
        for event in self.run_.of("kernel") + self.run_.of("gpu_memcpy") + self.run_.of("gpu_memset"):
            op = ops[event["args"]["External id"]]
            self.assertGreaterEqual(event["dur"], 0)
            error_us = (event["args"]["error (ns)"] + 2) / 1000
            self.assertGreaterEqual(event["ts"] + error_us, op["ts"])
            self.assertLessEqual(event["ts"] + event["dur"] - error_us, op["ts"] + op["dur"])
        for call in self.run_.of("privateuse1_runtime"):
            self.assertIn(call["args"]["External id"], ops)

    def test_arrows(self):
        starts = [event for event in self.events_of("s")]
        ends = {event["id"]: event for event in self.events_of("f")}
        self.assertEqual(len(starts), 313)
        self.assertEqual({event["id"] for event in starts}, set(ends))

    def events_of(self, phase):
        return [event for event in self.run_.events if event["ph"] == phase and event.get("cat") == "ac2g"]

    def test_rows_have_names(self):
        names = {(event["pid"], event["tid"]): event["args"]["name"] for event in self.run_.events
                 if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertEqual([names[0, stream] for stream in range(3)], ["stream 0", "stream 1", "stream 2"])

    def test_self_device_time_by_op(self):
        averages = {name: (count, time_us) for name, count, time_us in self.run_.said}
        self.assertEqual(averages["sample::work"][0], 2)
        device_us = sum(event["dur"] for event in self.run_.events
                        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
        self.assertGreater(device_us, 0)
        self.assertAlmostEqual(averages["sample::work"][1], device_us, delta=0.5)
        self.assertEqual(averages["aten::clone"][1], 0)


class Sessions(unittest.TestCase):
    def test_sessions_one_after_the_other_and_without_the_device(self):
        run = Run("""
for i in range(3):
    lib.epp_sample_work(50)   # nobody's
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ops.sample.work(torch.ones(3), 10 + i)
    print("=" + str(sum(event.name == "relu" for event in p.events())))
    with profile(activities=[CPU]) as q:
        torch.ops.sample.work(torch.ones(3), 5)
    print("=" + str(sum(event.name == "relu" for event in q.events())))
trace(p)
""", SAMPLE)
        self.assertEqual(run.said, [10, 0, 11, 0, 12, 0])

    def test_a_schedule(self):
        run = Run("""
counts = []
def ready(p):
    counts.append(sum(event.name == "relu" for event in p.events()))
    trace(p)
with profile(activities=[CPU, DEVICE], schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
             on_trace_ready=ready) as p:
    for step in range(9):
        torch.ops.sample.work(torch.ones(3), 10)
        p.step()
print("=" + json.dumps(counts))
""", SAMPLE)
        self.assertEqual(run.said, [[20, 20]])

    def test_sessions_leave_nothing_behind(self):
        run = Run("""
import gc, os, time
class Allocated(ctypes.Structure):  # struct mallinfo2
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                     "uordblks", "fordblks", "keepcost")]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Allocated
def held():
    with open("/proc/self/maps") as file:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(file.readlines())
def grown(count):
    gc.collect()
    before = libc.mallinfo2().uordblks
    sessions(count)
    gc.collect()
    return libc.mallinfo2().uordblks - before
def sessions(count):
    for i in range(count):
        with profile(activities=[CPU, DEVICE]) as p:
            torch.ops.sample.work(torch.ones(3), 10)
    return p
sessions(5)
before = held()
p = sessions(25)
after = held()
for _ in range(50):  # a thread that is no longer needed ends by itself
    if after[1] <= before[1]:
        break
    time.sleep(0.1)
    after = held()
# Tables grow now and then; what leaks grows each time.
print("=" + json.dumps([before, after, min(grown(25) for _ in range(4))]))
trace(p)
""", SAMPLE)
        ((files, threads, maps), (files_then, threads_then, maps_then), grown), = run.said
        self.assertLess(grown, 25 * 1024)
        self.assertLessEqual(files_then, files)
        self.assertLessEqual(threads_then, threads)
        self.assertLess(maps_then, maps + 25)  # PyTorch's own memory, too
        self.assertEqual(len(run.of("kernel", "relu")), 10)

    def test_threads(self):
        run = Run("""
from torch._C._profiler import _ExperimentalConfig
def loop():
    for i in range(20):
        torch.ops.sample.work(torch.ones(3), 5)
with profile(activities=[CPU, DEVICE], experimental_config=_ExperimentalConfig(profile_all_threads=True)) as p:
    threads = [threading.Thread(target=loop) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
trace(p)
""", SAMPLE)
        kernels = run.of("kernel", "relu")
        self.assertEqual(len(kernels), 400)
        ops = {event["args"]["External id"]: event["tid"] for event in run.of("cpu_op", "sample::work")}
        self.assertEqual(len(ops), 80)
        self.assertEqual({event["args"]["External id"] for event in kernels}, set(ops))
        for call in run.of("privateuse1_runtime"):
            self.assertEqual(ops[call["args"]["External id"]], call["tid"])


class Output(unittest.TestCase):
    def test_each_session_leaves_a_trace(self):
        run = Run("""
for i in range(2):
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ops.sample.work(torch.ones(3), 300)
trace(p)
""", SAMPLE, EPPROF_OUTPUT=str(interop.scratch() / "run.epp"))
        self.assertEqual(len(run.of("kernel", "relu")), 300)
        command = str(interop.BUILD / "epprof")
        for number in (1, 2):
            path = str(interop.scratch() / f"run.{number}.epp")
            subprocess.run([command, "validate", path], check=True, stdout=subprocess.DEVNULL)
            text = subprocess.run([command, "convert", "-t", "chrome", "-o", "-", path], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
            events = json.loads(text)["traceEvents"]
            self.assertEqual(sum(event["name"] == "relu" and event["ph"] == "X" for event in events), 300)
        # The last one in Kineto's words, as in PyTorch's own file.
        text = subprocess.run([command, "convert", "-t", "kineto", "-o", "-", path], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        events = json.loads(text)["traceEvents"]
        for category in "kernel", "gpu_memcpy", "gpu_memset", "privateuse1_runtime":
            self.assertEqual(sum(event.get("cat") == category and event["ph"] == "X" for event in events),
                             len(run.of(category)))
        self.assertEqual(sum(event["ph"] == "f" and event.get("cat") == "ac2g" for event in events),
                         sum(event["ph"] == "f" and event.get("cat") == "ac2g" for event in run.events))
        self.assertFalse((interop.scratch() / "run.epp").exists())

    def test_what_another_process_writes_is_left_alone(self):
        folder = interop.scratch() / "taken"
        folder.mkdir()
        run = Run("""
import fcntl, os
with open(os.environ["EPPROF_OUTPUT"].replace(".epp", ".1.epp"), "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ops.sample.work(torch.ones(3), 300)
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 300)
trace(p)
print("=" + str(os.getpid()))
""", SAMPLE, EPPROF_OUTPUT=str(folder / "run.epp"))
        (pid,) = run.said
        self.assertEqual({file.name for file in folder.iterdir()}, {"run.1.epp", f"run.{pid}.1.epp", f"run.{pid}.2.epp"})
        self.assertEqual((folder / "run.1.epp").stat().st_size, 0)

    def test_what_an_earlier_process_wrote_is_left_alone(self):
        folder = interop.scratch() / "earlier"
        folder.mkdir()
        program = """
import os
for i in range(2):
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ops.sample.work(torch.ones(3), 30)
trace(p)
print("=" + str(os.getpid()))
"""
        first = Run(program, SAMPLE, EPPROF_OUTPUT=str(folder / "run.epp"))
        self.assertNotIn("another process", first.log)
        written = {file.name: file.read_bytes() for file in folder.iterdir()}
        self.assertEqual(set(written), {"run.1.epp", "run.2.epp"})
        second = Run(program, SAMPLE, EPPROF_OUTPUT=str(folder / "run.epp"))
        (pid,) = second.said
        self.assertEqual({file.name for file in folder.iterdir()}, {*written, f"run.{pid}.1.epp", f"run.{pid}.2.epp"})
        self.assertEqual({name: (folder / name).read_bytes() for name in written}, written)
        self.assertEqual(second.log.count(f"run.1.epp belongs to another process, this one writes {folder}/run.{pid}.1.epp"), 1)


class Plugins(unittest.TestCase):
    EMPTY = """
for i in range(2):
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ones(3).add(1)
trace(p)
"""
    NOTHING = "epprof: EPPROF_PROFILERS and KINETO_PLUGIN_PATH name no plugin, nothing is profiled"

    def test_none(self):
        folder = interop.scratch() / "no plugin"
        folder.mkdir()
        run = Run(self.EMPTY, path="", EPPROF_OUTPUT=str(folder / "run.epp"))
        self.assertTrue(run.of("cpu_op", "aten::add"))
        self.assertNotIn("epprof_ledger", run.trace)
        self.assertEqual(list(folder.iterdir()), [])
        self.assertEqual(run.log.count(self.NOTHING + "\n"), 1)

    def test_some_that_are_none(self):
        run = Run(self.EMPTY, path=f"{plugin('missing_pu1')}:/nowhere.so:{interop.ROOT}/Makefile")
        self.assertTrue(run.of("cpu_op", "aten::add"))
        self.assertNotIn("epprof_problems", run.trace)  # without a plugin there is no session
        self.assertEqual(run.log.count(self.NOTHING), 1)
        for why in ("missing_pu1.so: ", "/nowhere.so: ", f"{interop.ROOT}/Makefile: "):
            self.assertIn("; KINETO_PLUGIN_PATH: " + why, run.log)

    def test_named_as_for_the_other_bridges(self):
        program = """
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 50)
trace(p)
"""
        tf, bridge = interop.library("libsample_tf_ep"), interop.library("libepprof_tf")
        for path in ("", SAMPLE):
            run = Run(program, SAMPLE, path=path, EPPROF_PROFILERS=f"{tf}:{SAMPLE}:{bridge}")
            self.assertEqual(len(run.of("kernel", "relu")), 50)
            self.assertEqual(set(run.ledger()), {"ACCELERATOR", "sample_pu1_ep"})
            self.assertEqual(run.trace["epprof_problems"], [f"EPPROF_PROFILERS: {bridge}: is a bridge itself"])
            self.assertEqual(run.log.count(f"epprof: EPPROF_PROFILERS: {bridge}: is a bridge itself"), 1)

    def test_two_whose_devices_and_launches_have_the_same_numbers(self):
        other = interop.moved(SAMPLE)
        run = Run("""
both = [lib, ctypes.CDLL(%r)]
@torch.library.custom_op("sample::other", mutates_args=())
def other(x: torch.Tensor, count: int) -> torch.Tensor:
    assert both[1].epp_sample_work(count) == 0
    return x.clone()
with profile(activities=[CPU, DEVICE]) as p:
    for i in range(3):
        torch.ops.sample.work(torch.ones(3), 10)
        torch.ops.sample.other(torch.ones(3), 10)
trace(p)
""" % other, SAMPLE, path=f"{SAMPLE}:{other}")
        kernels = run.of("kernel", "relu")
        self.assertEqual(len(kernels), 60)
        ops = {event["args"]["External id"]: event["name"] for event in run.of("cpu_op")
               if event["name"] in ("sample::work", "sample::other")}
        names = {event["pid"]: event["args"]["name"] for event in run.events
                 if event["ph"] == "M" and event["name"] == "process_name"}
        devices = {op: {kernel["pid"] for kernel in kernels if ops[kernel["args"]["External id"]] == op}
                   for op in ("sample::work", "sample::other")}
        self.assertEqual([len(pids) for pids in devices.values()], [1, 1])
        ((first,), (second,)) = devices.values()
        self.assertEqual({first, second}, {0, 1})
        self.assertTrue(all(kernel["args"]["device"] == kernel["pid"] for kernel in kernels))
        self.assertIn("sample_pu1_ep", names[first])
        self.assertNotEqual(names[first], names[second])
        calls = {event["args"]["correlation"]: event for event in run.of("privateuse1_runtime")}
        self.assertEqual(len(calls), 78)
        for kernel in kernels:
            call = calls[kernel["args"]["correlation"]]
            self.assertEqual(call["args"]["External id"], kernel["args"]["External id"])
        self.assertEqual(len({call["args"]["epprof.plugin"] for call in calls.values()}), 2)
        self.assertEqual(sum(event["ph"] == "f" and event.get("cat") == "ac2g" for event in run.events), 78)

    def test_launch_numbers_of_an_xspace_draw_arrows(self):
        run = Run("""
with profile(activities=[CPU, DEVICE]) as p:
    torch.ones(3).add(1)
trace(p)
""", path=plugin("tf_calls"))
        calls = {event["args"]["correlation"]: event for event in run.of("privateuse1_runtime")}
        self.assertEqual(len(calls), 2)
        (gemm,) = run.of("kernel", "gemm")
        self.assertIn(gemm["args"]["correlation"], calls)
        (start,) = [event for event in run.events if event["ph"] == "s" and event.get("cat") == "ac2g"]
        self.assertEqual(start["id"], gemm["args"]["correlation"])

    def test_one_that_fails_loses_its_own_events_alone(self):
        run = Run("""
lib = ctypes.CDLL(%r)
for i in range(2):
    with profile(activities=[CPU, DEVICE]) as p:
        torch.ops.sample.work(torch.ones(3), 50)
trace(p)
""" % SAMPLE, path=f"{plugin('tf_fault')}:{plugin('pjrt_fault')}:{SAMPLE}", TF_FAULT="huge", PJRT_FAULT="start")
        self.assertEqual(len(run.of("kernel", "relu")), 50)
        self.assertEqual(run.ledger()["sample_pu1_ep"], {"emitted": 106, "written": 106, "lost": 0, "errors": 0})
        # The first is told in words, the others are counted.
        self.assertEqual([run.ledger()[name]["errors"] for name in ("XPU", "pjrt_fault.so")], [1, 1])
        problems = run.trace["epprof_problems"]
        self.assertEqual(len(problems), 1)
        self.assertIn("pjrt_fault.so: StartProfiling: start: code 13", problems[0])

    def test_texts_of_any_bytes(self):
        run = Run("""
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 10)
trace(p)
""", plugin("names_pu1"), path=plugin("names_pu1"))
        kernels = run.of("kernel")
        self.assertEqual(len(kernels), 80)
        names = {event["name"] for event in kernels}
        self.assertIn("plain", names)
        self.assertIn("%s %n {} {0}", names)
        self.assertIn("?t?", names)
        self.assertNotIn("unknown", names)
        self.assertEqual(len(names), 8)
        # An arrow would have eleven ends.
        self.assertEqual([event for event in run.events if event.get("cat") == "ac2g"], [])

    def test_an_execution_provider_of_onnx_runtime(self):
        run = Run("""
class Node(ctypes.Structure):
    _fields_ = [("op", ctypes.c_char_p), ("x", ctypes.c_void_p), ("weights", ctypes.c_void_p), ("y", ctypes.c_void_p),
                ("rows", ctypes.c_uint32), ("columns", ctypes.c_uint32), ("outputs", ctypes.c_uint32),
                ("stream", ctypes.c_uint32)]
lib.sample_ep_run.restype = ctypes.c_char_p
x = torch.ones(4, 4)
node = Node(b"Relu", x.data_ptr(), None, x.data_ptr(), 4, 4, 0, 1)
with profile(activities=[CPU, DEVICE]) as p:
    with record_function("region"):
        for i in range(100):
            assert lib.sample_ep_run(ctypes.byref(node)) is None
trace(p)
""", interop.library("libsample_ort_ep"))
        kernels = run.of("kernel")
        self.assertEqual(len([event for event in kernels if event["name"] == "relu"]), 100)
        self.assertEqual(len(kernels), 300)
        (region,) = run.of("user_annotation", "region")
        self.assertEqual({event["args"]["External id"] for event in kernels}, {region["args"]["External id"]})


class Closed(unittest.TestCase):
    def test_while_its_threads_live_on(self):
        """Whoever opened the bridge may let go of it while threads are inside it; Kineto keeps pointers into it."""
        run = Run("""
done, closed = [0, 0], threading.Event()
def work_on(index):
    while not closed.is_set():
        torch.ops.sample.work(torch.ones(3), 1)
        done[index] += 1
    torch.ops.sample.work(torch.ones(3), 1)

def more():
    before = sum(done)
    while sum(done) < before + 20:
        pass

RTLD_NOLOAD = 4
libc = ctypes.CDLL(None)
libc.dlclose.argtypes = [ctypes.c_void_p]
with profile(activities=[CPU, DEVICE]) as p:
    threads = [threading.Thread(target=work_on, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    more()
    handle = ctypes.CDLL(sys.argv[2], mode=RTLD_NOLOAD | ctypes.DEFAULT_MODE)._handle
    # Ours and PyTorch's.
    assert libc.dlclose(handle) == 0 and libc.dlclose(handle) == 0
    more()
    closed.set()
    for thread in threads:
        thread.join()
    torch.ops.sample.work(torch.ones(3), 300)
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 300)
trace(p)
""", SAMPLE)
        self.assertEqual(len(run.of("kernel")), 300)
        self.assertEqual(run.ledger()["sample_pu1_ep"]["lost"], 0)


class Places(unittest.TestCase):
    """Where the bridge may be."""
    PROGRAM = """
with profile(activities=[CPU, DEVICE]) as p:
    torch.ops.sample.work(torch.ones(3), 30)
trace(p)
"""

    def test_a_copy_alone_in_a_folder(self):
        run = Run(self.PROGRAM, SAMPLE, bridge=interop.moved(torch_bridge.PATH))
        self.assertEqual(len(run.of("kernel", "relu")), 30)

    def test_installed(self):
        prefix = interop.scratch() / "an installation"
        subprocess.run(["make", "-s", "install", f"BUILD={interop.BUILD}", f"PREFIX={prefix}", f"BINDIR={prefix}/bin",
                        f"LIBDIR={prefix}/lib", f"INCLUDEDIR={prefix}/include"], cwd=interop.ROOT, check=True)
        bridge = subprocess.run([prefix / "bin/epprof", "--bridge", "kineto"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.strip()
        self.assertEqual(bridge, str(prefix / "lib/libepprof_kineto.so"))
        for path in bridge, interop.moved(bridge):
            run = Run(self.PROGRAM + """
print("=" + json.dumps([line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "libepprof.so" in line]))
""", SAMPLE, bridge=path)
            self.assertEqual(len(run.of("kernel", "relu")), 30)
            self.assertEqual({os.path.dirname(path) for path in run.said[0]}, {str(prefix / "lib")})


class Page(unittest.TestCase):
    def test_what_it_shows(self):
        folder, log = interop.do_as_page(
            "docs/pytorch.md", make=("make kineto", f"make -s -C {interop.ROOT} kineto BUILD={interop.BUILD}"),
            plugin=("/opt/vendor/libvendor_profiler.so", SAMPLE),
            work=("    torch.mm(", f"    assert __import__('ctypes').CDLL({SAMPLE!r}).epp_sample_work(300) == 0\n    torch.mm("))
        self.assertIn("aten::mm", log)
        events = json.loads((folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
        self.assertEqual(sum(event.get("cat") == "kernel" for event in events), 300)
        # What the page does with that file: imported, summed up and converted.
        self.assertRegex(log, r"joined +[0-9]+ device events to the host event that caused them")
        self.assertTrue((folder / "run.pftrace").exists())


if __name__ == "__main__":
    interop.main()
