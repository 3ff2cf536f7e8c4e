#!/usr/bin/env python3
"""OTLP of requests in JSON and in protobuf, read with OpenTelemetry's own protobuf definitions."""
import base64
import contextlib
import ctypes
import http.server
import json
import math
import os
import socketserver
import subprocess
import threading
import unittest

import interop
import viewers

viewers.in_environment("opentelemetry-proto")

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

A = "0af7651916cd43dd8448eb211c80319c"
B = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT_A, PARENT_B = "b7ad6b7169203331", "00f067aa0ba902b7"
NAME = 'quote " and \\ and line\n'
LARGE = 2**63 - 1
# Keys and values of the node's args: some keys come twice, one is an attribute of epprof's.
ARGS = (("rows", 1), ("epprof.category", b"mine"), ("text", 'a "quote" \0 \u00e4'.encode()), ("rows", 3), ("no UTF-8", b"\xff\xfe."),
        ("least", -2**63), ("large", 2**64 - 1), ("ratio", 0.1), ("none", math.nan), ("empty", b""), ("rows", b"last"))


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("defaults", ctypes.c_uint64 * 14)]


class TrackOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("group", ctypes.c_char_p),
                ("ticks_per_second", ctypes.c_uint64), ("clock_kind", ctypes.c_uint32), ("clock_bits", ctypes.c_uint32),
                ("device", ctypes.c_int32), ("clock_of", ctypes.c_uint32), ("stream", ctypes.c_int64)]


class Value(ctypes.Union):
    _fields_ = [("i64", ctypes.c_int64), ("u64", ctypes.c_uint64), ("f64", ctypes.c_double), ("text", ctypes.c_char_p)]


class Arg(ctypes.Structure):
    _fields_ = [("key", ctypes.c_uint32), ("type", ctypes.c_uint32), ("value", Value), ("text_bytes", ctypes.c_size_t)]


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

    def end(self, event, *args):
        """`args`: keys and values; an integer above those with a sign is one without."""
        array = (Arg * len(args))()
        for arg, (key, value) in zip(array, args):
            arg.key = self.library.epp_name_intern(key.encode())
            if isinstance(value, bytes):
                arg.type, arg.value.text, arg.text_bytes = 3, value, len(value)
            elif isinstance(value, float):
                arg.type, arg.value.f64 = 2, value
            elif value > LARGE:
                arg.type, arg.value.u64 = 1, value
            else:
                arg.type, arg.value.i64 = 0, value
        self.library.epp_event_end(self.session, event, array, ctypes.c_size_t(len(args)))

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
    recording.end(node, *ARGS)
    recording.end(run)
    contexts = (ctypes.c_uint64 * 2)()
    for i, parent in enumerate((f"00-{A}-{PARENT_A}-01", f"00-{B}-{PARENT_B}-00")):
        recording.do("epp_context_begin", recording.session, parent.encode(), (b"first=1", None)[i], ctypes.byref(contexts, 8 * i))
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


def protobuf_of(path):
    data = TracesData()
    data.ParseFromString(path.read_bytes())
    return data


def as_one(messages):
    """The messages of JSON as the one that protobuf has; equal floats that are no numbers have equal bytes."""
    data = TracesData()
    for message in messages:
        data.resource_spans.extend(message.resource_spans)
    return data.SerializeToString(deterministic=True)


def attributes_of(holder):
    attributes = {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in holder.attributes}
    assert len(attributes) == len(holder.attributes), holder
    return attributes


@contextlib.contextmanager
def serving(server_class, handler):
    """A server on a free port; gives its URL."""
    with server_class(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


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
        attributes = attributes_of(node)
        self.assertEqual(attributes["epprof.category"], "Node")
        self.assertTrue(math.isnan(attributes.pop("none")))
        self.assertEqual({key: attributes[key] for key in attributes if "." not in key},
                         {"rows": "last", "text": 'a "quote" \0 \u00e4', "no UTF-8": "\ufffd\ufffd.", "least": -2**63,
                          "large": str(2**64 - 1), "ratio": 0.1, "empty": ""})

    def test_keys_that_come_twice_are_reported(self):
        for form in "otlp", "otlp-proto":
            done = subprocess.run([viewers.EPPROF, "convert", "-t", form, "-o", "-", self.epp], capture_output=True, check=True)
            self.assertIn(b"3 args left out, whose key the span has twice", done.stderr)

    def test_protobuf_has_the_content_of_json(self):
        for options in (), ("--kernels",), ("--trace-id", A), ("--trace-id", B, "--kernels"), ("--name", "without a request"):
            messages = list(requests_of(viewers.convert(self.epp, "otlp", *options)))
            data = protobuf_of(viewers.convert(self.epp, "otlp-proto", *options))
            self.assertEqual(data.SerializeToString(deterministic=True), as_one(messages), options)
            self.assertEqual(len(data.resource_spans), len(messages))

    def test_the_ending_of_a_file_chooses_the_format(self):
        for ending, form in (".otlp.pb", "otlp-proto"), (".otlp.jsonl", "otlp"):
            path = interop.scratch() / f"by_ending{ending}"
            subprocess.run([viewers.EPPROF, "convert", "--force", "-o", path, self.epp], check=True, stderr=subprocess.DEVNULL)
            self.assertEqual(path.read_bytes(), viewers.convert(self.epp, form).read_bytes())

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
        self.assertEqual([link.trace_state for link in step.links], ["first=1", ""])
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
                bodies.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(codes[0])
                self.end_headers()

            def log_message(self, *_):
                pass

        with serving(http.server.HTTPServer, Collector) as url:
            done = [self.post(url, "-t", "otlp"), self.post(url)]
            codes[0] = 503
            done.append(self.post(url + "/other/path"))
        self.assertEqual([one.returncode for one in done], [0, 0, 1], done)
        self.assertIn("/other/path: 503", done[2].stderr)
        self.assertEqual([(path, kind) for path, kind, _ in bodies],
                         [("/v1/traces", "application/json")] * 2 + [("/v1/traces", "application/x-protobuf")] * 2 +
                         [("/other/path", "application/x-protobuf")])
        self.assertEqual(b"".join(body + b"\n" for _, _, body in bodies[:2]), viewers.convert(self.epp, "otlp").read_bytes())
        self.assertEqual(b"".join(body for _, _, body in bodies[2:4]), viewers.convert(self.epp, "otlp-proto").read_bytes())
        for (_, _, body), message in zip(bodies[2:4], self.messages):
            request = ExportTraceServiceRequest.FromString(body)
            self.assertEqual(request.SerializeToString(deterministic=True), message.SerializeToString(deterministic=True))
        refused = self.post(url)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(url, refused.stderr)
        self.assertNotEqual(self.post("https://127.0.0.1").returncode, 0)

    def test_a_slow_collector_does_not_hold_it(self):
        """A server that neither ends its answer's first line nor closes: each byte is early enough, all together are not."""
        ended = threading.Event()

        class Slow(socketserver.BaseRequestHandler):
            def handle(self):
                while not ended.wait(0.05):
                    try:
                        self.request.sendall(b"H")
                    except OSError:
                        return

        class Deaf(socketserver.BaseRequestHandler):
            def handle(self):
                ended.wait()

        for handler in Slow, Deaf:
            ended.clear()
            with serving(socketserver.ThreadingTCPServer, handler) as url:
                try:
                    done = self.post(url, "--post-limit", "500ms")
                finally:
                    ended.set()
            self.assertEqual(done.returncode, 1)
            self.assertIn(url + "/v1/traces: Connection timed out", done.stderr)
        for limit in "soon", "0", "-1s":
            self.assertEqual(self.post("http://127.0.0.1", "--post-limit", limit).returncode, 2)

    def post(self, url, *options):
        return subprocess.run([viewers.EPPROF, "convert", "--post", url, *options, self.epp], capture_output=True, text=True,
                              check=False)

    def test_messages_are_short(self):
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
        data = protobuf_of(viewers.convert(path, "otlp-proto"))
        self.assertEqual([len(resource.scope_spans[0].spans) for resource in data.resource_spans], counts)

    def test_messages_with_long_args_are_short(self):
        """Both forms end a message by its bytes, at other spans."""
        path = interop.scratch() / "long.epp"
        recording = Recording(path)
        run = recording.begin("run")
        recording.do("epp_context_set", recording.session, f"00-{A}-{PARENT_A}-01".encode(), None)
        for number in range(200):
            recording.end(recording.begin("node", 1), ("text", b"\n" * 20000), ("number", number))
        recording.end(run)
        recording.close()
        messages = list(requests_of(viewers.convert(path, "otlp")))
        data = protobuf_of(viewers.convert(path, "otlp-proto"))
        self.assertLess(max(message.ByteSize() for message in messages), 2**20)
        self.assertLess(max(resource.ByteSize() for resource in data.resource_spans), 2**20)
        self.assertGreater(len(data.resource_spans), 5)
        spans = [span for resource in data.resource_spans for span in resource.scope_spans[0].spans]
        self.assertEqual(spans, [span for message in messages for span in message.resource_spans[0].scope_spans[0].spans])
        self.assertEqual(len(spans), 201)


if __name__ == "__main__":
    interop.main()
