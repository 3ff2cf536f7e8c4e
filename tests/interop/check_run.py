#!/usr/bin/env python3
"""epprof run with ONNX Runtime itself: on the CPU and on the sample EP, in all ways of running, and what it refuses."""
import collections
import json
import os
import sys
import unittest
from pathlib import Path

import interop

interop.in_each_environment()
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

import environment
import viewers
from run_command import DIGITS, LIBRARY, LIMIT, epprof, events, run, summary

SAMPLE = interop.library("libsample_ort_ep")


def counts(lines):
    """By name; a kernel has a line for each operator type of its nodes."""
    found = collections.Counter()
    for line in lines:
        found[line["name"]] += line["count"]
    return found


class Runs(unittest.TestCase):
    def check(self, *arguments, runs=10, warmup=1, **environment):
        done = run(DIGITS, "--shape", "x=64,64", "--runs", runs, "--warmup", warmup, *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, LIMIT)
        self.assertIn(f"on ONNX Runtime {onnxruntime.__version__} (", done.stdout)
        self.assertIn(f"  runs    {runs} of {runs} on ", done.stdout)
        valid = epprof("validate", "--strict", "run.epp")
        self.assertEqual(valid.returncode, 0, valid.stdout)
        told = summary()
        self.assertEqual(told["state"], "finished")
        self.assertEqual(told["lost"], 0)
        self.assertEqual(told["unended"], 0)
        self.assertEqual(counts(told["ops"])["model_run"], runs + warmup)
        return done, told

    def check_kernels(self, told, runs):
        kernels = counts(told["kernels"])
        self.assertEqual(kernels["gemm"], 2 * runs)
        self.assertEqual(kernels["bias"], 2 * runs)
        self.assertEqual(kernels["relu"], runs)
        self.assertEqual(kernels["copy_out"], runs)
        self.assertEqual(told["correlated"], told["device_events"])
        self.assertEqual(told["inferred"] + told["uncorrelated"] + told["outside_parent"], 0)

    def test_on_the_cpu(self):
        done, told = self.check()
        self.assertEqual(told["device_events"], 0)
        self.assertIn("kernels none", done.stdout)
        self.assertEqual(counts(told["ops"])["probs"], 11)

    def test_on_the_sample_ep(self):
        done, told = self.check("--ep", SAMPLE, warmup=3)
        self.check_kernels(told, 13)
        self.assertIn("  nodes   3 on SampleEP, 1 on ONNX Runtime's own\n", done.stdout)
        self.assertIn("kernels from the providers\n", done.stdout)
        self.assertIn("By kernel, on devices", done.stdout)

    def test_unusual_devices(self):
        """Late events come before ONNX Runtime's end; a fused node is a graph of five kernels."""
        for option, value in ("LATE_MS", "100"), ("DURATIONS_ONLY", "1"), ("GRAPHS", "1"):
            with self.subTest(option=option):
                _, told = self.check("--ep", SAMPLE, **{"SAMPLE_EP_" + option: value})
                self.check_kernels(told, 11)
        replays = collections.defaultdict(list)
        for event in events():
            if "graph" in event.get("args", {}):
                replays[event["parent"], event["args"]["graph"]].append((event["args"]["graph_node"], event["name"]))
        self.assertEqual(len(replays), 11)
        for nodes in replays.values():
            self.assertEqual(sorted(nodes), list(enumerate(["gemm", "bias", "relu", "gemm", "bias"])))

    def test_a_provider_that_is_named_as_a_plugin_too(self):
        done, told = self.check("--ep", f"{SAMPLE}:SampleEP", EPPROF_PROFILERS=SAMPLE)
        self.check_kernels(told, 11)
        self.assertIn("kernels from the providers", done.stdout)

    def test_it_beside_one_without_the_kit(self):
        """Each event once: the first pushes its events, those of the second are in ONNX Runtime's profile."""
        done = run(DIGITS, "--shape", "x=64,64", "--runs", 2, "--ep", SAMPLE, "--ep",
                   interop.library("tests/plugins/plain_ep"), EPPROF_PROFILERS=SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = summary()
        self.assertEqual((told["lost"], told["inferred"] + told["uncorrelated"]), (0, 0))
        self.assertIn("kernels from the providers, and others' from ONNX Runtime's own profile", done.stdout)
        kernels = counts(told["kernels"])
        self.assertEqual(kernels["kernel of model_run"], 3)
        self.assertEqual(kernels["kernel of session_initialization"], 1)
        self.assertEqual([kernels[name] for name in ("gemm", "bias", "relu", "copy_in", "copy_out")], [6, 6, 3, 3 + 4, 3])

    def test_a_provider_without_the_kit(self):
        done, told = self.check("--ep", interop.library("tests/plugins/formula_ep"))
        kernels = counts(told["kernels"])
        self.assertEqual((kernels["gemm"], kernels["relu"], kernels["copy_out"]), (22, 11, 11))
        self.assertIn("kernels from ONNX Runtime's own profile, in its microseconds\n", done.stdout)

    def test_a_provider_whose_end_fails(self):
        """ONNX Runtime drops its events; the recording had them before."""
        done = run(DIGITS, "--shape", "x=64,64", "--ep", f"{interop.library('tests/plugins/end_fails_ep')}:SampleEP",
                   END_FAILS_DIRECTORY=str(interop.BUILD))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = summary()
        self.check_kernels(told, 11)
        self.assertEqual(told["lost"], 0)
        self.assertIn("ONNX Runtime's profile lacks its events: EndProfiling: the device is gone",
                      epprof("info", "run.epp").stdout)

    def test_the_bound_of_microseconds_is_what_is_known(self):
        self.check("--ep", interop.library("tests/plugins/formula_ep"), runs=100)
        trace = epprof("convert", "-t", "ndjson", "-o", "-", "run.epp").stdout.splitlines()
        (first,) = [event for event in map(json.loads, trace) if event.get("name") == "session_initialization"]
        bracket_us = first["args"]["ort_ts_us"] - first["args"]["ort_started_us"]
        self.assertGreaterEqual(bracket_us, 0)
        self.assertLess(bracket_us, first["args"]["ort_ts_us"])
        # Causes narrow what the comparison of the clocks leaves, to which 500 ppm of the time since then are added: it is made
        # where ONNX Runtime starts the providers, by the host event whose start both recorded with the least delay.  The
        # microseconds stay.
        events = list(map(json.loads, trace))
        kernels = [event for event in events if event.get("stream") is not None]
        self.assertGreaterEqual(min(kernel["start_error_ns"] for kernel in kernels), 1000)
        began_ns = min(event["start_ns"] - event["args"]["ort_ts_us"] * 1000 for event in events
                       if event.get("stream") is None and "ort_ts_us" in event.get("args", {}))
        started_ns = began_ns + first["args"]["ort_started_us"] * 1000
        drifts_ns = [(kernel["start_ns"] - started_ns) / 2000 for kernel in kernels]
        self.assertLessEqual(min(kernel["start_error_ns"] - drift_ns for kernel, drift_ns in zip(kernels, drifts_ns)),
                             bracket_us * 500 + 4000)

    def test_the_bound_of_nanoseconds(self):
        self.check("--ep", SAMPLE, runs=100)
        trace = epprof("convert", "-t", "ndjson", "-o", "-", "run.epp").stdout.splitlines()
        errors_ns = [event["start_error_ns"] for event in map(json.loads, trace) if event.get("stream") is not None]
        self.assertGreater(min(errors_ns), 0)
        self.assertLess(min(errors_ns), 1000)

    def test_threads(self):
        _, told = self.check("--ep", SAMPLE, "--threads", 2, runs=100)
        self.check_kernels(told, 101)
        names = {line["name"] for line in told["threads"]}
        self.assertLessEqual({"run 1", "run 2"}, names)

    def test_parallel(self):
        _, told = self.check("--ep", SAMPLE, "--parallel")
        self.check_kernels(told, 11)

    def test_run_level(self):
        _, told = self.check("--ep", SAMPLE, "--run-level", "--threads", 2, runs=20)
        self.check_kernels(told, 21)
        self.assertNotIn("session_initialization", counts(told["ops"]))

    def test_many_threads(self):
        """At run level with more profilers at once than a trace has accounts."""
        _, told = self.check("--ep", SAMPLE, "--threads", 8, runs=400)
        self.check_kernels(told, 401)
        _, told = self.check("--ep", SAMPLE, "--run-level", "--threads", 40, runs=200)
        self.check_kernels(told, 201)

    def test_the_library_is_found_by_python(self):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = epprof("run", "--force", "-o", "run.epp", DIGITS, PATH=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(LIBRARY), done.stdout)


class Models(unittest.TestCase):
    def save(self, nodes, inputs, outputs, constants=(), opset=17):
        """A model with inputs {name: (type, shape)}."""
        values = [[helper.make_tensor_value_info(name, *each) for name, each in ends.items()] for ends in (inputs, outputs)]
        graph = helper.make_graph(nodes, "g", *values, list(constants))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        path = interop.scratch() / "model.onnx"
        onnx.save(made, path)
        return path

    def test_what_the_kit_records_reaches_the_viewers(self):
        """Names, numbers of each type, counters, submission and queue times, copies and arrows of an EP."""
        path = self.save([helper.make_node("Relu", ["x"], ["y"])], {"x": (TensorProto.FLOAT, [5, 7])}, {"y": (TensorProto.FLOAT, [5, 7])})
        done = run(path, "--ep", interop.library("libsample_cpp_ep"), "--runs", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(epprof("validate", "--strict", "run.epp").returncode, 0)
        streams = json.loads(epprof("sql", "--format", "json", "run.epp", "SELECT name, group_name, track_name, work, count(*) AS n"
                                    " FROM timeline WHERE stream = 0 AND kind = 'slice' GROUP BY 1, 2, 3, 4 ORDER BY 1").stdout)
        count = streams[0]["n"]
        self.assertGreaterEqual(count, 10)
        self.assertEqual([list(row.values()) for row in streams],
                         [["copy_in", "C++ device", "queue of ReLUs", "copy in", count],
                          ["relu", "C++ device", "queue of ReLUs", "kernel", count]])
        self.check_in_perfetto(count)
        self.check_in_chrome(count)

    def check_in_perfetto(self, count):
        python = environment.python_with(list(viewers.PERFETTO), alone=list(viewers.PERFETTO_ALONE))
        wrong, counters, args = viewers.query(
            python, viewers.convert(interop.scratch() / "run.epp", "perfetto"),
            "select name, value from stats where value > 0 and (severity != 'info' or name like '%error%')",
            "select t.name, count(*), max(value) from counter c join track t on c.track_id = t.id group by 1",
            "select s.name, a.key, count(*), count(a.int_value), min(a.real_value) > 0 from slice s join args a using (arg_set_id)"
            " where s.name in ('copy_in', 'relu') group by 1, 2")
        self.assertEqual(wrong, [])
        self.assertEqual(counters, [["memory in use", str(2 * count), 140]])
        found = {(name, key.rsplit(".")[-1]): rest for name, key, *rest in args}
        for name, key in (("copy_in", "bytes"), ("copy_in", "launch_ns"), ("relu", "elements"), ("relu", "queue_ns")):
            self.assertEqual(found[name, key][:2], [str(count), str(count)], (name, key))
        self.assertEqual(found["relu", "gigabytes_per_second"][2], "1")

    def check_in_chrome(self, count):
        with open(viewers.convert(interop.scratch() / "run.epp", "chrome"), encoding="utf-8") as file:
            written = json.load(file)["traceEvents"]
        names = {event["args"]["name"] for event in written if event["ph"] == "M" and "name" in event["args"]}
        self.assertLessEqual({"C++ device (CppEP)", "queue of ReLUs"}, names)
        values = [event["args"]["value"] for event in written if event["ph"] == "C"]
        self.assertEqual((len(values), max(values)), (2 * count, 140))
        starts = {event["id"]: event for event in written if event["ph"] == "s"}
        slices = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in written if event["ph"] == "X"}
        arrows = [(slices.get(tuple(starts[event["id"]][key] for key in ("pid", "tid", "ts"))),
                   slices.get(tuple(event[key] for key in ("pid", "tid", "ts")))) for event in written if event["ph"] == "f"]
        self.assertEqual(arrows.count(("copy_in", "relu")), count)

    def test_dynamic_dimensions(self):
        ends = {"a": (TensorProto.FLOAT, ["batch", 3]), "b": (TensorProto.FLOAT, ["batch", 3])}
        model = self.save([helper.make_node("Add", ["a", "b"], ["y"])], ends, {"y": ends["a"]})
        done = run(model)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("input 'a' has the shape batch,3; it is taken as 1,3", done.stderr)
        done = run(model, "--shape", "b=5,3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("input 'a' has the shape batch,3; it is taken as 5,3", done.stderr)
        numpy.save(interop.scratch() / "a.npy", numpy.ones((7, 3), "f4"))
        done = run(model, "--input", "a=a.npy", "--shape", "b=7,3")
        self.assertEqual((done.returncode, done.stderr), (0, LIMIT))
        done = run(model, "--input", "a=a.npy", "--shape", "b=8,3")  # what does not fit in ONNX Runtime
        self.assertEqual(done.returncode, 1)
        self.assertIn("7 by 8", done.stderr)

    def test_types(self):
        for name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64",
                     "UINT64", "BOOL", "STRING"):
            with self.subTest(type=name):
                kind = (getattr(TensorProto, name), [2, 3])
                model = self.save([helper.make_node("Identity", ["x"], ["y"])], {"x": kind}, {"y": kind})
                done = run(model)
                self.assertEqual((done.returncode, done.stderr), (0, LIMIT))

    def test_files_of_numpy(self):
        for dtype, kind in (("f4", TensorProto.FLOAT), ("f8", TensorProto.DOUBLE), ("f2", TensorProto.FLOAT16),
                            ("i8", TensorProto.INT64), ("u2", TensorProto.UINT16), ("?", TensorProto.BOOL)):
            with self.subTest(dtype=dtype):
                model = self.save([helper.make_node("Identity", ["x"], ["y"])], {"x": (kind, ["n", 3])}, {"y": (kind, ["n", 3])})
                numpy.save(interop.scratch() / "x.npy", numpy.ones((2, 3), dtype))
                done = run(model, "--input", "x.npy")
                self.assertEqual((done.returncode, done.stderr), (0, LIMIT))

    def check_values(self, nodes, kind, array, right):
        """The nodes make 'same' out of the input 'x=a b': a run fails where it is false."""
        nodes = [*nodes, helper.make_node("Not", ["same"], ["differs"]),
                 helper.make_node("Cast", ["differs"], ["index"], to=TensorProto.INT64),
                 helper.make_node("Gather", ["one", "index"], ["y"])]
        constants = [helper.make_tensor("one", TensorProto.INT64, [1], [1])]
        if kind != TensorProto.STRING:
            constants.append(helper.make_tensor("right", kind, array.shape, array.flatten().tolist()))
        model = self.save(nodes, {"x=a b": (kind, array.shape)}, {"y": (TensorProto.INT64, array.shape)}, constants, 20)
        numpy.save(interop.scratch() / "x.npy", array)
        done = run(model, "--input", "x=a b=x.npy")
        if right:
            self.assertEqual((done.returncode, done.stderr), (0, LIMIT))
        else:
            self.assertEqual(done.returncode, 1)
            self.assertIn("Gather", done.stderr)

    def test_values_of_files_arrive(self):
        """In each order of bytes and of elements; the right values are in the model."""
        same = [helper.make_node("Equal", ["x=a b", "right"], ["same"])]
        for dtype, kind in (("<f4", TensorProto.FLOAT), (">f4", TensorProto.FLOAT), (">f8", TensorProto.DOUBLE),
                            (">i8", TensorProto.INT64), (">i4", TensorProto.INT32)):
            for order in (numpy.ascontiguousarray, numpy.asfortranarray):
                with self.subTest(dtype=dtype, order=order.__name__):
                    self.check_values(same, kind, order(numpy.arange(24).reshape((2, 3, 4)).astype(dtype)), True)
        self.check_values([helper.make_node("Less", ["x=a b", "right"], ["same"])], TensorProto.FLOAT,
                          numpy.ones((2,), "f4"), False)

    def test_texts_of_files_arrive(self):
        for pattern, array, right in (("\u20ac?[a-z]\U0001f600", [["\u20acz\U0001f600", "a\U0001f600"]], True),
                                      ("\u20ac", ["\u20ad"], False), ("ab|", [b"ab", b""], True)):
            for order in ("<", ">"):
                with self.subTest(pattern=pattern, order=order):
                    texts = numpy.array(array)
                    texts = texts.astype(texts.dtype.newbyteorder(order))
                    same = [helper.make_node("RegexFullMatch", ["x=a b"], ["same"], pattern=pattern)]
                    self.check_values(same, TensorProto.STRING, texts, right)

    def test_an_ep_that_claims_nothing(self):
        kind = (TensorProto.FLOAT, [2, 3])
        model = self.save([helper.make_node("Sigmoid", ["x"], ["y"])], {"x": kind}, {"y": kind})
        done = run(model, "--ep", SAMPLE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("'SampleEP' claims no node of the model", done.stderr)

    def test_broken_models(self):
        broken = interop.scratch() / "broken.onnx"
        broken.write_bytes(Path(DIGITS).read_bytes()[:500])
        trace = interop.scratch() / "run.epp"
        # What --force was to replace stays as it is; where nothing was, nothing is left.
        for before in (None, b"an older trace"):
            trace.unlink(missing_ok=True)
            if before:
                trace.write_bytes(before)
            done = run(broken)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("broken.onnx", done.stderr)
            self.assertEqual(trace.read_bytes() if trace.exists() else None, before)


class Libraries(unittest.TestCase):
    def test_an_ep_library_that_is_none(self):
        done = run(DIGITS, "--ep", interop.library("libepprof"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("CreateEpFactories", done.stderr)

    def test_a_library_that_is_not_onnx_runtime(self):
        done = run(DIGITS, library=SAMPLE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no symbol 'OrtGetApiBase'", done.stderr)


if __name__ == "__main__":
    interop.main()
