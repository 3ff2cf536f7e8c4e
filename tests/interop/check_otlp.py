#!/usr/bin/env python3
"""OTLP/JSON of requests, read with OpenTelemetry's own protobuf definitions."""
import base64
import ctypes
import http.server
import json
import os
import subprocess
import threading
import unittest

import interop
import viewers

viewers.in_environment("opentelemetry-proto")

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

A = "0af7651916cd43dd8448eb211c80319c"
B = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT_A, PARENT_B = "b7ad6b7169203331", "00f067aa0ba902b7"
NAME = 'quote " and \\ and line\n'


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("defaults", ctypes.c_uint64 * 14)]


class TrackOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("group", ctypes.c_char_p),
                ("ticks_per_second", ctypes.c_uint64), ("clock_kind", ctypes.c_uint32), ("clock_bits", ctypes.c_uint32),
                ("device", ctypes.c_int32), ("clock_of", ctypes.c_uint32), ("stream", ctypes.c_int64)]


class Recording:
    def __init__(self, path):
        self.library = ctypes.CDLL(interop.library("libepprof"))
        for name in "epp_event_begin", "epp_event_record", "epp_host_ticks":
            getattr(self.library, name).restype = ctypes.c_uint64
        self.session = ctypes.c_void_p()
        self.do("epp_session_create", ctypes.byref(Options(ctypes.sizeof(Options), os.fsencode(path))), ctypes.byref(self.session))
        self.do("epp_session_start", self.session)

    def do(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        assert not function(*arguments), name

    def begin(self, name, category=0):
        return ctypes.c_uint64(self.library.epp_event_begin(self.session, category,
                                                            self.library.epp_name_intern(name.encode())))

    def kernel(self, name, parent):
        """A kernel on a stream of its own."""
        options, track = TrackOptions(), ctypes.c_uint32()
        self.library.epp_track_options_init(ctypes.byref(options))
        options.name, options.group, options.device, options.stream = b"stream 3", b"device", 0, 3
        self.do("epp_track_create", self.session, ctypes.byref(options), ctypes.byref(track))
        now = self.library.epp_host_ticks()
        assert self.library.epp_event_record(self.session, track, 2, self.library.epp_name_intern(name.encode()),
                                             ctypes.c_uint64(now), ctypes.c_uint64(now + 1000), parent, None,
                                             ctypes.c_size_t(0))

    def end(self, event):
        self.library.epp_event_end(self.session, event, None, ctypes.c_size_t(0))

    def close(self):
        self.do("epp_session_end", self.session)
        self.library.epp_session_destroy(self.session)


def record(path):
    """A run with a request of its own; a batch of two requests that wait; an event without a request."""
    recording = Recording(path)
    run = recording.begin("run")
    recording.do("epp_context_set", recording.session, f"00-{A}-{PARENT_A}-01".encode(), b"vendor=1,other=2")
    node = recording.begin(NAME, 1)
    recording.kernel("gemm", node)
    recording.end(node)
    recording.end(run)
    contexts = (ctypes.c_uint64 * 2)()
    for i, parent in enumerate((f"00-{A}-{PARENT_A}-01", f"00-{B}-{PARENT_B}-00")):
        recording.do("epp_context_begin", recording.session, parent.encode(), None, ctypes.byref(contexts, 8 * i))
    step = recording.begin("step")
    recording.do("epp_context_attach", recording.session, contexts, ctypes.c_size_t(2))
    recording.end(recording.begin("step's node", 1))
    recording.end(step)
    alone = recording.begin("step of one")
    recording.do("epp_context_attach", recording.session, ctypes.byref(contexts, 8), ctypes.c_size_t(1))
    recording.end(alone)
    for context in contexts:
        recording.library.epp_async_end(recording.session, ctypes.c_uint64(context), None, ctypes.c_size_t(0))
    recording.end(recording.begin("without a request"))
    recording.close()


def as_protobuf_json(value):
    """OTLP/JSON has ids in hex, where JSON of protobuf has base64."""
    if isinstance(value, list):
        return [as_protobuf_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId", "parentSpanId")
            else as_protobuf_json(item) for key, item in value.items()}


def requests_of(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json_format.ParseDict(as_protobuf_json(json.loads(line)), ExportTraceServiceRequest())


def attributes_of(holder):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in holder.attributes}


class Otlp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.epp = interop.scratch() / "requests.epp"
        record(cls.epp)
        cls.messages = list(requests_of(viewers.convert(cls.epp, "otlp")))
        cls.spans = {}
        for message in cls.messages:
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        cls.spans.setdefault(span.name, []).append(span)

    def span(self, name):
        (span,) = self.spans[name]
        return span

    def test_every_event_of_a_request_is_a_span(self):
        self.assertEqual({name: len(spans) for name, spans in self.spans.items()},
                         {"run": 1, NAME: 1, "request": 2, "step": 1, "step's node": 1, "step of one": 1})
        every = [span for spans in self.spans.values() for span in spans]
        self.assertEqual(len({span.span_id for span in every}), len(every))
        for span in every:
            self.assertEqual((len(span.trace_id), len(span.span_id)), (16, 8))
            self.assertLessEqual(span.start_time_unix_nano, span.end_time_unix_nano)

    def test_a_run_with_a_request_continues_its_trace(self):
        run, node = self.span("run"), self.span(NAME)
        self.assertEqual(run.trace_id.hex(), A)
        self.assertEqual(run.parent_span_id.hex(), PARENT_A)
        self.assertEqual(run.trace_state, "vendor=1,other=2")
        self.assertEqual(node.trace_id.hex(), A)
        self.assertEqual(node.parent_span_id, run.span_id)
        self.assertEqual(len(run.links), 0)
        self.assertEqual(attributes_of(node)["epprof.category"], "Node")

    def test_kernels_are_spans_on_demand(self):
        self.assertNotIn("gemm", self.spans)
        messages = requests_of(viewers.convert(self.epp, "otlp", "--kernels"))
        (gemm,) = [span for message in messages for span in message.resource_spans[0].scope_spans[0].spans
                   if span.name == "gemm"]
        self.assertEqual((gemm.trace_id.hex(), gemm.parent_span_id), (A, self.span(NAME).span_id))
        self.assertEqual(attributes_of(gemm)["epprof.stream"], 3)

    def test_a_batch_links_to_its_requests(self):
        a, b = self.spans["request"]
        self.assertEqual((a.trace_id.hex(), b.trace_id.hex()), (A, B))
        self.assertEqual((a.parent_span_id.hex(), b.parent_span_id.hex()), (PARENT_A, PARENT_B))
        self.assertEqual((a.kind, b.kind), (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_SERVER))
        self.assertGreaterEqual(attributes_of(a)["epprof.queue_ns"], 0)
        step, node, alone = self.span("step"), self.span("step's node"), self.span("step of one")
        self.assertNotIn(step.trace_id.hex(), (A, B))
        self.assertEqual(step.parent_span_id, b"")
        self.assertEqual([(link.trace_id, link.span_id) for link in step.links],
                         [(a.trace_id, a.span_id), (b.trace_id, b.span_id)])
        self.assertEqual((node.trace_id, node.parent_span_id), (step.trace_id, step.span_id))
        self.assertEqual(len(node.links), 0)
        self.assertEqual((alone.trace_id, alone.parent_span_id), (b.trace_id, b.span_id))

    def test_the_resource_is_the_process(self):
        for message in self.messages:
            for resource in message.resource_spans:
                attributes = attributes_of(resource.resource)
                self.assertEqual(attributes["process.pid"], os.getpid())
                self.assertEqual(attributes["telemetry.sdk.name"], "epprof")
                self.assertTrue(attributes["service.name"])

    def test_the_last_line_has_the_ledger(self):
        (resource,) = self.messages[-1].resource_spans
        self.assertEqual(len(resource.scope_spans[0].spans), 0)
        attributes = attributes_of(resource.resource)
        self.assertEqual(attributes["epprof.state"], "finished")
        self.assertTrue(all(entry["balanced"] for entry in json.loads(attributes["epprof.ledger"])))

    def test_a_trace_id_selects(self):
        path = viewers.convert(self.epp, "otlp", "--trace-id", B)
        names = [span.name for message in requests_of(path) for span in message.resource_spans[0].scope_spans[0].spans]
        self.assertEqual(sorted(names), ["request", "step", "step of one", "step's node"])
        done = subprocess.run([viewers.EPPROF, "summary", "--trace-id", A[:-1] + "0", self.epp], capture_output=True, text=True,
                              check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no request", done.stderr)

    def test_posts_to_a_collector(self):
        bodies, codes = [], [200]

        class Collector(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append((self.path, self.headers["Content-Type"],
                               self.rfile.read(int(self.headers["Content-Length"])).decode()))
                self.send_response(codes[0])
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Collector) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            url = f"http://127.0.0.1:{server.server_port}"
            try:
                done = [self.post(url)]
                codes[0] = 503
                done.append(self.post(url + "/other/path"))
            finally:
                server.shutdown()
                thread.join()
        self.assertEqual((done[0].returncode, done[1].returncode), (0, 1), done)
        self.assertIn("/other/path: 503", done[1].stderr)
        self.assertEqual([path for path, _, _ in bodies], ["/v1/traces", "/v1/traces", "/other/path"])
        self.assertEqual(bodies[0][1], "application/json")
        self.assertEqual(bodies[0][2] + "\n" + bodies[1][2] + "\n", viewers.convert(self.epp, "otlp").read_text(encoding="utf-8"))
        refused = self.post(url)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(url, refused.stderr)
        self.assertNotEqual(self.post("https://127.0.0.1").returncode, 0)

    def post(self, url):
        return subprocess.run([viewers.EPPROF, "convert", "-t", "otlp", "--post", url, self.epp], capture_output=True, text=True,
                              check=False)

    def test_lines_are_short(self):
        path = interop.scratch() / "many.epp"
        recording = Recording(path)
        run = recording.begin("run")
        recording.do("epp_context_set", recording.session, f"00-{A}-{PARENT_A}-01".encode(), None)
        for _ in range(2000):
            recording.end(recording.begin("node", 1))
        recording.end(run)
        recording.close()
        counts = [len(message.resource_spans[0].scope_spans[0].spans) for message in requests_of(viewers.convert(path, "otlp"))]
        self.assertEqual(counts, [512, 512, 512, 465, 0])


if __name__ == "__main__":
    interop.main()
