"""What `epprof` records from Python, and what it reads, against the command and against what the program did."""
import asyncio
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import epprof

try:
    import _testcapi
except ImportError:
    _testcapi = None

COMMAND = os.environ["EPPROF_COMMAND"]
OPEN_FLAG = 2
DEPTH_MAX = 64


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="epprof python ")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.epp")

    def record(self, function, **options):
        """Calls a function in a session; returns the events by name, the last one of each."""
        with epprof.session(self.path, **options):
            function()
        return self.events()

    def events(self):
        with epprof.open(self.path) as trace:
            self.assertEqual([finding for finding in trace.validate() if finding.severity != "note"], [])
            return {event.name: event for event in trace.events()}

    def run_program(self, program, *arguments, **environment):
        """Runs a program in another process, in which `path` is the trace's."""
        text = "import os, signal, sys, epprof\npath = sys.argv[1]\n" + program
        return subprocess.run([sys.executable, "-c", text, self.path, *arguments], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class OfRequests(Case):
    PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

    def trace_ids(self):
        text = subprocess.run([COMMAND, "sql", "--format", "json", self.path,
                               "SELECT name, trace_id FROM timeline WHERE kind != 'instant'"],
                              stdout=subprocess.PIPE, check=True).stdout
        return {row["name"]: row["trace_id"] for row in json.loads(text)}

    def test_a_context_has_the_events_inside(self):
        with epprof.session(self.path):
            with epprof.context(self.PARENT, "vendor=1", "served", rows=8):
                with epprof.event("node"):
                    pass
            with epprof.event("alone"):
                pass
            ids = [epprof.context_begin(parent) for parent in (self.PARENT, self.OTHER)]
            with epprof.event("step"):
                epprof.context_attach(*ids)
            for number in ids:
                epprof.async_end(number)
        first, second = self.PARENT[3:35], self.OTHER[3:35]
        self.assertEqual(self.trace_ids(), {"served": first, "node": first, "alone": None, "step": f"{first} {second}",
                                            "request": second})

    def test_an_invalid_traceparent_is_an_error(self):
        def invalid():
            for text in ("", self.PARENT.upper(), "ff" + self.PARENT[2:]):
                with self.assertRaisesRegex(epprof.Error, "traceparent"):
                    with epprof.context(text):
                        self.fail("entered")
        invalid()
        self.record(invalid)
        with self.assertRaises(TypeError):
            epprof.context_set(5)

    def test_the_current_span_of_opentelemetry_is_taken(self):
        done = self.run_program("""
import types
class State:
    def to_header(self): return "vendor=1"
class Span:
    trace_id, span_id, trace_flags, trace_state, is_valid = 0xaf7651916cd43dd8448eb211c80319c, 0xb7ad6b7169203331, 1, State(), True
    def get_span_context(self): return self
module = types.ModuleType("opentelemetry.trace")
module.get_current_span = lambda: Span
Span.get_span_context = classmethod(lambda cls: cls)
sys.modules["opentelemetry.trace"] = module
with epprof.session(path):
    with epprof.context(name="served"):
        pass
    Span.is_valid = False
    with epprof.context(name="alone"):
        pass
""")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.trace_ids(), {"served": self.PARENT[3:35], "alone": None})


class Unprintable:
    def __str__(self):
        raise ValueError("no")


class Number:
    def __index__(self):
        return 41


class Recording(Case):
    def test_args_of_each_type(self):
        args = {"integer": -3, "large": 2**64 - 1, "real": 1.5, "text": 'a "quoted" text\0é', "yes": True, "bytes": b"raw"}
        others = {"huge": 2**64, "list": [1], "none": None, "index": Number(), "broken": Unprintable(), "half": "\ud800"}

        def program():
            with epprof.event("op", **args, **others) as event:
                event.add(late=7)
        found = self.record(program)["op"].args
        self.assertEqual(found, {**args, "bytes": "raw", "yes": 1, "huge": str(2**64), "list": "[1]", "none": "None",
                                 "index": 41, "broken": "(no text)", "half": "?", "late": 7})

    def test_more_args_than_an_event_holds(self):
        args = {f"key {i}": f"value {i}" for i in range(300)}

        def program():
            with epprof.event("op", **args):
                pass
        found = self.record(program)["op"].args
        self.assertGreater(len(found), 100)
        self.assertLessEqual(found.items(), args.items())

    def test_names_that_are_hard_to_hold(self):
        names = ['a "quoted" <b>name</b>', "", "é\U0001f600", "x" * 1000, "a\0b"]

        def program():
            for name in names:
                with epprof.event(name):
                    pass
        self.assertEqual(set(self.record(program)), set(names))

    def test_nesting_categories_and_flows(self):
        def program():
            with epprof.event("launch", epprof.Category.KERNEL) as outer:
                self.assertNotEqual(outer.id, 0)
                inner = epprof.event_begin("inner", epprof.Category.API)
                epprof.flow_record(outer.id, inner)
                epprof.event_end(inner, rows=2)
            self.assertEqual(outer.id, 0)
            epprof.instant_record("now", n=1)
            epprof.counter_record("queue", 3)
            epprof.counter_record("load", 0.5)
        found = self.record(program)
        self.assertEqual((found["launch"].category, found["inner"].category), ("Kernel", "Api"))
        self.assertEqual((found["inner"].parent, found["inner"].args), (found["launch"].id, {"rows": 2}))
        self.assertEqual((found["now"].kind, found["now"].args), ("instant", {"n": 1}))
        self.assertEqual((found["queue"].args["queue"], found["load"].args["load"]), (3, 0.5))
        with epprof.open(self.path) as trace:
            self.assertEqual(trace.sql("SELECT from_id, to_id FROM flows").rows,
                             [(found["launch"].id, found["inner"].id)])

    def test_threads_and_async_events(self):
        def program():
            request = epprof.async_begin("request")

            def work():
                with epprof.event("work"):
                    epprof.async_end(request, status=200)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        found = self.record(program)
        self.assertEqual((found["request"].kind, found["request"].args), ("async", {"status": 200}))
        self.assertNotEqual(found["work"].track, found["request"].track)

    def test_an_event_that_is_not_entered_and_one_of_an_earlier_session(self):
        def program():
            epprof.event("never")
        self.assertEqual(self.record(program), {})
        with epprof.session(self.path):
            event = epprof.event("left open")
            event.__enter__()
        event.__exit__(None, None, None)
        self.assertEqual(len(self.events()), 1)

    def test_the_decorator(self):
        @epprof.trace
        def plain(a, b=2):
            """Adds."""
            return a + b

        @epprof.trace("named", epprof.Category.API)
        def fails():
            raise KeyError("x")

        @epprof.trace
        async def waits():
            await asyncio.sleep(0)
            return 5

        def program():
            self.assertEqual((plain(1), plain(1, b=4), plain.__doc__), (3, 5, "Adds."))
            self.assertRaises(KeyError, fails)
            self.assertEqual(asyncio.run(waits()), 5)
        found = self.record(program)
        self.assertEqual(found["named"].category, "Api")
        names = sorted((event.name.rsplit(".")[-1], event.kind) for event in found.values())
        self.assertEqual(names, [("named", "slice"), ("plain", "slice"), ("waits", "async")])

    def test_nothing_records(self):
        self.assertFalse(epprof.is_recording())
        with epprof.event("op", rows=1) as event:
            event.add(late=1)
            self.assertEqual(event.id, 0)
        self.assertEqual(epprof.event_begin("op"), 0)
        epprof.event_end(0)
        epprof.instant_record("op")
        epprof.counter_record("op", 1)
        epprof.flow_record(0, 0)

    def test_wrong_arguments(self):
        with epprof.session():
            self.assertRaises(TypeError, epprof.event)
            self.assertRaises(TypeError, epprof.event, 5)
            self.assertRaises(TypeError, epprof.event, "op", "category")
            self.assertRaises(ValueError, epprof.event, "op", 4)
            self.assertRaises(TypeError, epprof.event_end, "id")
            self.assertRaises(OverflowError, epprof.event_end, -1)
            self.assertRaises(TypeError, epprof.counter_record, "op", "text")
            self.assertRaises(TypeError, epprof.flow_record, 1)
            with epprof.event("op") as event:
                self.assertRaises(TypeError, event.add, 1)

    def test_losses_are_counted(self):
        def program():
            events = [epprof.event("deep") for _ in range(DEPTH_MAX + 3)]
            for event in events:
                event.__enter__()
            for event in reversed(events):
                event.__exit__(None, None, None)
        with epprof.session(self.path) as session:
            program()
            self.assertEqual(session.lost(), 3)
        with epprof.open(self.path) as trace:
            thread = next(entry for entry in trace.ledger() if entry.track)
        self.assertEqual(thread.lost, {"too deep": 3})
        self.assertTrue(thread.balanced)
        self.assertEqual(thread.emitted, thread.written + thread.lost_total + thread.open)

    @unittest.skipUnless(_testcapi, "this Python has no _testcapi")
    def test_without_memory(self):
        def program():
            for failing in range(40):
                _testcapi.set_nomemory(failing, failing + 1)
                try:
                    with epprof.event("op", one="text", two=2**63, three=[], four=1.5, five=5, six=6, seven=7, eight=8):
                        pass
                except MemoryError:
                    pass
                finally:
                    _testcapi.remove_mem_hooks()
            with epprof.event("after"):
                pass
        self.assertIn("after", self.record(program))


class Sessions(Case):
    def test_errors(self):
        with self.assertRaises(epprof.Error) as raised:
            epprof.session(os.path.join(self.path, "missing", "run.epp"))
        self.assertEqual(raised.exception.code, epprof.Code.NOT_FOUND)
        self.assertIn("missing", str(raised.exception))
        epprof.session(self.path).close()
        with self.assertRaises(epprof.Error) as raised:
            epprof.session(self.path, overwrite=False)
        self.assertIn(os.strerror(errno.EEXIST), str(raised.exception))
        self.assertFalse(epprof.is_recording())

    def test_the_inner_session_has_the_events(self):
        with epprof.session(self.path) as outer:
            with epprof.session() as inner:
                self.assertEqual((outer.lost(), inner.lost()), (0, 0))
                with epprof.event("inner"):
                    pass
            inner.close()
            with epprof.event("outer"):
                pass
        self.assertEqual(set(self.events()), {"outer"})

    def test_sessions_closed_in_the_order_of_their_creation(self):
        first, second = epprof.session(), epprof.session(self.path)
        first.close()
        with epprof.event("op"):
            pass
        second.close()
        with epprof.event("after"):
            pass
        self.assertEqual(set(self.events()), {"op"})

    def test_a_ring(self):
        def program():
            for number in range(200000):
                epprof.instant_record("op", number=number)
        # Lossless, because a late helper thread would cost the last event.
        found = self.record(program, policy=epprof.Policy.RING, max_bytes=4 << 20, lossless=True)
        self.assertEqual(found["op"].args, {"number": 199999})

    def test_events_are_left_out_by_name(self):
        def program():
            with epprof.event("outer"):
                for name in ("op_a", "op_b", "copy"):
                    with epprof.event(name):
                        pass
        found = self.record(program, include="op_*;outer", exclude="op_b")
        self.assertEqual(set(found), {"outer", "op_a"})
        self.assertEqual(found["op_a"].parent, found["outer"].id)

    def test_steps_of_a_schedule(self):
        def program():
            for number in range(8):
                with epprof.event("step", number=number):
                    with epprof.event(f"op {number}"):
                        pass
        found = self.record(program, schedule="skip=1,warmup=1,active=2,repeat=2", step="step")
        self.assertEqual({name for name in found if name != "step"}, {"op 2", "op 3", "op 5", "op 6"})
        for wrong in ("active=0", "skip=2", "active=2;skip=1", "active=-1", "active=1,wait=2"):
            with self.assertRaises(epprof.Error) as raised:
                epprof.session(self.path, schedule=wrong)
            self.assertEqual(raised.exception.code, epprof.Code.INVALID_ARGUMENT)

    def test_a_budget_for_overhead(self):
        def program():
            for number in range(3):
                with epprof.event("step", number=number):
                    pass
        self.assertEqual(self.record(program, max_overhead=0.5)["step"].weight, 1)
        for wrong in (-0.1, 0.6, float("nan")):
            with self.assertRaises(epprof.Error) as raised:
                epprof.session(self.path, max_overhead=wrong)
            self.assertEqual(raised.exception.code, epprof.Code.INVALID_ARGUMENT)
        with self.assertRaises(epprof.Error):
            epprof.session(self.path, max_overhead=0.01, schedule="active=1")

    def test_a_snapshot(self):
        with self.assertRaises(epprof.Error) as raised:
            epprof.snapshot(self.path)
        self.assertEqual(raised.exception.code, epprof.Code.INVALID_ARGUMENT)
        with epprof.session():
            with epprof.event("before"):
                pass
            epprof.snapshot(self.path, last=3600)
            with self.assertRaises(epprof.Error) as raised:
                epprof.snapshot(self.path)
        self.assertEqual(raised.exception.code, epprof.Code.EXISTS)
        self.assertEqual(set(self.events()), {"before"})

    def test_a_failed_write(self):
        done = self.run_program("""
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = epprof.session(path)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(path).st_size + 4096,) * 2)
for _ in range(200000):
    epprof.instant_record("op", text="x" * 100)
try:
    session.close()
except epprof.Error as error:
    print(error.code.name, error)
session.close()
""")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout, f"IO {self.path}: {os.strerror(errno.EFBIG)}\n")

    def test_the_default_session(self):
        done = self.run_program("with epprof.event('op'): pass", EPPROF_OUTPUT=self.path)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(set(self.events()), {"op"})

    def test_a_killed_process(self):
        done = self.run_program("""
epprof.session(path)
with epprof.event("done"): pass
with epprof.event("open"): os.kill(os.getpid(), signal.SIGKILL)
""")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        with epprof.open(self.path) as trace:
            self.assertEqual(trace.info.state, "cut off")
            found = {event.name: event.flags & OPEN_FLAG for event in trace.events()}
        self.assertEqual(found, {"done": 0, "open": OPEN_FLAG})

    def test_a_process_that_does_not_close_its_session(self):
        done = self.run_program("session = epprof.session(path)\nwith epprof.event('op'): pass")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(set(self.events()), {"op"})
        with epprof.open(self.path) as trace:
            self.assertEqual(trace.info.state, "finished")

    def test_a_forked_child_records_nothing(self):
        done = self.run_program("""
with epprof.session(path):
    child = os.fork()
    with epprof.event("child" if child == 0 else "parent"): pass
    if child == 0: os._exit(0)
    sys.exit(os.waitpid(child, 0)[1])
""")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(set(self.events()), {"parent"})


class Reading(Case):
    def setUp(self):
        super().setUp()
        with epprof.session(self.path, label="a <label>"):
            for number in range(5):
                with epprof.event("<op>", number=number):
                    pass

    def test_the_events_are_the_command_s(self):
        done = subprocess.run([COMMAND, "convert", "-t", "ndjson", "-o", "-", self.path], stdout=subprocess.PIPE, check=True)
        rows = [row for row in map(json.loads, done.stdout.splitlines()) if row["kind"] not in ("ledger", "trace")]
        with epprof.open(self.path) as trace:
            found = [(e.kind, e.name, e.start_ns, e.duration_ns, e.id, e.args) for e in trace.events()]
            track = trace.tracks()[next(trace.events()).track]
        self.assertEqual(found, [(r["kind"], r["name"], r["start_ns"], r["duration_ns"], int(r["id"]), r["args"]) for r in rows])
        self.assertEqual((track.kind, track.pid), ("thread", os.getpid()))

    def test_a_part_of_the_time(self):
        with epprof.open(Path(self.path)) as trace:
            third = list(trace.events())[2]
            self.assertEqual(list(trace.events(third.start_ns, third.start_ns + 1)), [third])
            self.assertEqual(list(trace.events(run=7)), [])

    def test_summary_and_sql(self):
        with epprof.open(self.path) as trace:
            summary = trace.summary()
            rows = trace.sql("SELECT name, count(*) AS n, sum(duration_ns), NULL, 0.5 FROM timeline GROUP BY name")
            with self.assertRaises(epprof.Error) as raised:
                trace.sql("SELECT nothing FROM nowhere")
            self.assertRaises(epprof.Error, trace.sql, "DELETE FROM names")
            self.assertRaises(epprof.Error, trace.sql, "-- nothing")
            self.assertRaises(TypeError, trace.sql, 5)
        self.assertEqual((summary.host_events, summary.ops[0].name, summary.ops[0].count), (5, "<op>", 5))
        self.assertEqual(rows.columns[:2], ("name", "n"))
        self.assertEqual(rows.rows, [("<op>", 5, summary.ops[0].total_ns, None, 0.5)])
        self.assertEqual(raised.exception.code, epprof.Code.INVALID_ARGUMENT)

    def test_pages(self):
        with epprof.open(self.path) as trace:
            page = trace._repr_html_()
            self.assertIn("&lt;op&gt;", page)
            self.assertNotIn("<op>", page)
            self.assertIn("&lt;op&gt;", trace.sql("SELECT DISTINCT name FROM timeline")._repr_html_())
            report = trace.report()
            written = Path(self.path).with_suffix(".html")
            trace.report(written)
            self.assertEqual(written.read_text(encoding="utf-8"), report.html)
            self.assertNotIn("<script", report._repr_html_().split("srcdoc=")[1])

    def test_exports(self):
        with epprof.open(self.path) as trace:
            target = self.path + ".json"
            self.assertEqual(trace.export("chrome", target), [])
            with self.assertRaises(epprof.Error) as raised:
                trace.export("chrome", target)
            self.assertEqual(raised.exception.code, epprof.Code.EXISTS)
            self.assertRaises(epprof.Error, trace.export, "nothing", target, True)
            with open(target, encoding="utf-8") as file:
                self.assertEqual(sum(e["name"] == "<op>" for e in json.load(file)["traceEvents"]), 5)

    def test_an_arrow_stream_that_nobody_takes(self):
        trace = epprof.open(self.path)
        capsule = trace.__arrow_c_stream__()
        self.assertIn("arrow_array_stream", repr(capsule))
        trace.close()
        del capsule
        self.assertRaises(ValueError, trace.__arrow_c_stream__)

    def test_a_closed_trace(self):
        trace = epprof.open(self.path)
        events = trace.events()
        first = next(events)
        trace.close()
        trace.close()
        self.assertRaises(ValueError, trace.summary)
        self.assertRaises(ValueError, trace.events)
        self.assertEqual([event.name for event in [first, *events]], ["<op>"] * 5)

    def test_files_that_are_cut(self):
        whole = Path(self.path).read_bytes()
        for length in (0, 10, len(whole) // 2, len(whole) - 1):
            Path(self.path).write_bytes(whole[:length])
            try:
                with epprof.open(self.path) as trace:
                    self.assertTrue(trace.info.is_truncated or trace.info.state == "cut off")
                    self.assertLessEqual(sum(1 for _ in trace.events()), 5)
            except epprof.Error as error:
                self.assertEqual(error.code, epprof.Code.CORRUPT)
                self.assertLess(length, len(whole) // 2 + 1)

    def test_no_file(self):
        with self.assertRaises(epprof.Error) as raised:
            epprof.open(self.path + ".missing")
        self.assertEqual(raised.exception.code, epprof.Code.NOT_FOUND)


class Package(Case):
    def test_everything_public_is_described(self):
        for name in epprof.__all__:
            self.assertTrue(getattr(epprof, name).__doc__, name)

    def test_the_codes_are_the_header_s(self):
        header = (Path(__file__).parents[2] / "api/epprof/status.h").read_text(encoding="utf-8")
        for code in epprof.Code:
            self.assertIn(f"EPP_{code.name} = {code.value}", header)

    def test_recording_loads_no_reader(self):
        done = self.run_program("""
with epprof.session(path), epprof.event("op"): pass
print("libepprof-trace" in open("/proc/self/maps").read(), end="")
""")
        self.assertEqual(done.stdout, "False")

    def test_the_bridges(self):
        self.assertTrue(os.path.samefile(epprof.bridge("ort"), Path(COMMAND).with_name("libepprof_ort.so")))
        self.assertRaises(FileNotFoundError, epprof.bridge, "nothing")


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    result = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    for _, reason in result.skipped:
        print(f"SKIP: {reason}")
    checks, failures, errors = result.testsRun - len(result.skipped), len(result.failures), len(result.errors)
    print(f"{(checks - failures - errors) * 100 // max(checks, 1)}%: Checks: {checks}, Failures: {failures}, Errors: {errors}")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
