"""A program whose sessions have the collector: collector_host.py SCENARIO PREFIX.  The tests run it with EPPROF_OUTPUT set.

Prints the profiles that ONNX Runtime wrote, one a line.
"""
import ctypes
import os
import sys
import threading

import numpy
import onnxruntime
from onnx import TensorProto, helper

import interop
import ort

SHAPE = (3, 4)
HOSTILE = (('quote"', b'quote"'), ("tab\there", b"tab\there"), ("back\\slash", b"back\\slash"), ("line\nbreak", b"line\nbreak"),
           ("badNAME", b"bad\xff\xfeME"))


def chain(count, op="Neg", names=None):
    """A path of nodes that no optimizer shortens."""
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=names[i] if names else f"n{i}") for i in range(count)]
    return ort.model_of(nodes, {"v0": SHAPE}, {f"v{count}": SHAPE})


def wide(rows=SHAPE[0]):
    """Four paths that meet: something to run in parallel."""
    nodes = [helper.make_node("Neg", [f"v{path}_{i}" if i else "v0"], [f"v{path}_{i + 1}"], name=f"n{path}_{i}")
             for path in range(4) for i in range(20)]
    nodes.append(helper.make_node("Sum", [f"v{path}_20" for path in range(4)], ["y"], name="sum"))
    return ort.model_of(nodes, {"v0": (rows, 4)}, {"y": (rows, 4)})


def branches():
    """An If in the branch of an If."""
    def branch(name, nodes, output):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, SHAPE)])

    inner = [branch(f"inner_{op}", [helper.make_node(op, ["v0"], [f"i{op}"], name=f"inner_{op}")], f"i{op}")
             for op in ("Neg", "Abs")]
    outer = [branch("outer", [helper.make_node("If", ["more"], ["o"], name="inner_if", then_branch=inner[0], else_branch=inner[1])],
                    "o"),
             branch("other", [helper.make_node("Exp", ["v0"], ["p"], name="other")], "p")]
    nodes = [helper.make_node("ReduceSum", ["v0"], ["s"], name="sum", keepdims=0),
             helper.make_node("Greater", ["s", "zero"], ["more"], name="more"),
             helper.make_node("If", ["more"], ["y"], name="outer_if", then_branch=outer[0], else_branch=outer[1])]
    return ort.model_of(nodes, {"v0": SHAPE}, {"y": SHAPE}, {"zero": numpy.float32(0)})


def run_in_threads(sessions, runs, threads=2):
    def run(session):
        for _ in range(runs):
            session.run(None, {"v0": numpy.ones(SHAPE, "f4")})

    all_threads = [threading.Thread(target=run, args=(session,)) for session in sessions for _ in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()


class Host:
    def __init__(self, prefix, *libraries):
        self.prefix, self.libraries = prefix, libraries

    def session(self, model, **options):
        return ort.session(model, *self.libraries, profiled=True, prefix=self.prefix,
                           graph_optimization_level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, **options)

    def one(self):
        sessions = [self.session(chain(10))]
        run_in_threads(sessions, 200)
        return sessions

    def two(self):
        sessions = [self.session(chain(10)), self.session(chain(7, "Abs"))]
        run_in_threads(sessions, 100)
        return sessions

    def parallel(self):
        sessions = [self.session(wide(), execution_mode=onnxruntime.ExecutionMode.ORT_PARALLEL, inter_op_num_threads=3)]
        run_in_threads(sessions, 30)
        return sessions

    def parallel_requests(self, sessions_count=3):
        """Three threads whose requests have inputs of 1, 2 and 3 rows, on one or three parallel sessions."""
        sessions = [self.session(wide("rows"), execution_mode=onnxruntime.ExecutionMode.ORT_PARALLEL, inter_op_num_threads=3)
                    for _ in range(sessions_count)]

        def run(rows):
            for number in range(20):
                options = onnxruntime.RunOptions()
                options.logid = f'rows "{rows}"'
                options.add_run_config_entry("traceparent", f"00-{rows:016x}{number + 1:016x}-{1:016x}-01")
                sessions[rows % len(sessions)].run(None, {"v0": numpy.ones((rows, 4), "f4")}, options)

        all_threads = [threading.Thread(target=run, args=(rows,)) for rows in (1, 2, 3)]
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join()
        return sessions

    def parallel_requests_of_one(self):
        return self.parallel_requests(1)

    def requests(self):
        """Runs with a traceparent on several threads, one run without, and one with a traceparent that is none."""
        session = self.session(chain(5))

        def run(first):
            for number in range(first, first + 50):
                options = onnxruntime.RunOptions()
                if number:
                    options.add_run_config_entry("traceparent", f"00-{number:032x}-{number:016x}-01" if number > 1 else "00-no")
                    options.add_run_config_entry("tracestate", f"vendor={number}")
                session.run(None, {"v0": numpy.ones(SHAPE, "f4")}, options)

        all_threads = [threading.Thread(target=run, args=(50 * i,)) for i in range(4)]
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join()
        return [session]

    def branches(self):
        sessions = [self.session(branches())]
        run_in_threads(sessions, 30)
        return sessions

    def branches_once(self):
        sessions = [self.session(branches())]
        run_in_threads(sessions, 1, threads=1)
        return sessions

    def hostile(self):
        model = chain(len(HOSTILE), names=[name for name, _ in HOSTILE])
        for name, raw in HOSTILE:
            model = model.replace(name.encode(), raw)
        sessions = [self.session(model)]
        run_in_threads(sessions, 1, threads=1)
        return sessions

    def provider(self):
        sessions = [self.session(chain(10, "Relu"))]
        run_in_threads(sessions, 50)
        return sessions

    def provider_again(self):
        """One session after the other; each profile is removed at once."""
        for _ in range(3):
            session = self.session(chain(10, "Relu"))
            run_in_threads([session], 50)
            os.remove(session.end_profiling())
            del session
        return []

    def provider_exit(self):
        """The session is not released before the process exits."""
        session = self.session(chain(10, "Relu"))
        run_in_threads([session], 50)
        print(session.end_profiling(), flush=True)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
        ctypes.CDLL(None).exit(0)

    def provider_endless(self):
        session = self.session(chain(10, "Relu"), intra_op_num_threads=1)
        for runs in range(1, 1000000):
            session.run(None, {"v0": numpy.ones(SHAPE, "f4")})
            print(runs, flush=True)

    def providers(self):
        """Three sessions at once on one provider."""
        sessions = [self.session(chain(10, "Relu")) for _ in range(3)]
        run_in_threads(sessions, 50, threads=8)
        return sessions

    def sharing(self):
        """Two sessions at once whose nodes give work to one set of plugins, one Run at a time."""
        nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"], name=kind) for i, kind in enumerate(("pu1", "tf", "pjrt"))]
        sessions = [self.session(ort.model_of(nodes, {"v0": (1,)}, {"v3": (1,)})) for _ in range(2)]
        for session in sessions:
            session.run(None, {"v0": numpy.ones((1,), "f4")})
        print(sessions[0].end_profiling(), flush=True)
        sessions[1].run(None, {"v0": numpy.ones((1,), "f4")})
        return sessions[1:]

    def many(self):
        sessions = [self.session(chain(2100), intra_op_num_threads=1)]
        run_in_threads(sessions, 500, threads=1)
        return sessions

    def endless(self):
        session = self.session(chain(100), intra_op_num_threads=1)
        for runs in range(1, 1000000):
            session.run(None, {"v0": numpy.ones(SHAPE, "f4")})
            print(runs, flush=True)


def main(scenario, prefix):
    libraries = {"collector": ort.Library("libepprof_ort", "epprof"), "sample": ort.Library("libsample_ort_ep", "SampleEP"),
                 "formula": ort.Library("tests/plugins/formula_ep", "SampleEP"),
                 "kernels": ort.Library("tests/plugins/official_kernels_ep", "KernelsEP"),
                 "work": ort.Library("tests/plugins/work_ep", "WorkEP")}
    name, _, order = scenario.partition(":")
    names = order.split(",") if order else ["collector"]
    for each in names:
        libraries[each].__enter__()
    for session in getattr(Host(prefix, *(libraries[each] for each in names)), name)():
        print(session.end_profiling(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
