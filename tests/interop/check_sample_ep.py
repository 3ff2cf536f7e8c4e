#!/usr/bin/env python3
"""The sample EPs in ONNX Runtime: what they compute, on all threads, and where their events stand."""
import threading
import unittest

import interop

interop.in_each_environment()
import numpy
import onnxruntime
from onnx import TensorProto, helper

import ort

DIGITS = str(interop.DATA / "digits.onnx")
node = helper.make_node


def setUpModule():
    global sample, cpp
    sample = ort.Library("libsample_ort_ep", "SampleEP").__enter__()
    cpp = ort.Library("libsample_cpp_ep", "CppEP").__enter__()


def tearDownModule():
    sample.__exit__()
    cpp.__exit__()


def random(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("f4")


def in_threads(count, function):
    """Runs function(number) in so many threads; an exception of one is the caller's."""
    errors = []

    def run(number):
        try:
            function(number)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Digits(unittest.TestCase):
    def check_answers(self, session):
        images, answers = ort.digits()
        results = session.run(None, {"x": images})[0]
        self.assertEqual(int((results.argmax(axis=1) == answers).sum()), 62)

    def test_profiled(self):
        session = ort.session(DIGITS, sample, profiled=True)
        self.check_answers(session)
        profile = ort.profile_of(session)
        providers = {event["args"]["op_name"][:8]: event["args"]["provider"]
                     for event in profile.host if event["cat"] == "Node"}
        self.assertEqual(providers, {"SampleEP": "SampleEP", "Softmax": "CPUExecutionProvider"})
        names = sorted(event["name"] for event in profile.kernels)
        self.assertEqual(names, ["bias"] * 2 + ["copy_in"] * 5 + ["copy_out"] + ["gemm"] * 2 + ["relu"])
        self.assertEqual(profile.outside(), [])
        self.assertEqual([event["args"]["node"] for event in profile.named("relu")], ["fc1_relu"])
        parents = [profile.parents(event)[0]["name"] for event in profile.named("copy_in")]
        self.assertEqual(parents.count("session_initialization"), 4)  # the constants

    def test_not_profiled(self):
        self.check_answers(ort.session(DIGITS, sample))

    def test_each_session_has_the_events_of_its_own_runs(self):
        sessions = [ort.session(DIGITS, sample, profiled=True) for _ in range(2)]
        for number in range(12):
            self.check_answers(sessions[number % 3 % 2])
        for session, runs in zip(sessions, (8, 4)):
            profile = ort.profile_of(session)
            self.assertEqual(len(profile.named("relu")), runs)
            self.assertEqual(profile.outside(), [])


class Threads(unittest.TestCase):
    THREADS = 4
    RUNS = 150

    def run_in_threads(self, sessions, wanted, images):
        def run(number):
            for i in range(self.RUNS):
                batch = slice((number + i) % 4 * 16, (number + i) % 4 * 16 + 16)
                results = sessions[number % len(sessions)].run(None, {"x": images[batch]})[0]
                numpy.testing.assert_allclose(results, wanted[batch], atol=1e-5)

        in_threads(self.THREADS, run)

    def check(self, sessions_count, **options):
        images, _ = ort.digits()
        wanted = ort.session(DIGITS).run(None, {"x": images})[0]
        sessions = [ort.session(DIGITS, sample, profiled=True, **options) for _ in range(sessions_count)]
        self.run_in_threads(sessions, wanted, images)
        for session in sessions:
            profile = ort.profile_of(session)
            runs = self.THREADS * self.RUNS // sessions_count
            self.assertEqual(len(profile.named("gemm")), 2 * runs)
            self.assertEqual(len(profile.named("copy_out")), runs)
            self.assertEqual(profile.outside()[:5], [])
            self.assertEqual(profile.lost, [])

    def test_of_one_session(self):
        self.check(1)

    def test_of_two_sessions(self):
        self.check(2)

    def test_parallel_execution(self):
        self.check(1, execution_mode=onnxruntime.ExecutionMode.ORT_PARALLEL, inter_op_num_threads=2)


class Models(unittest.TestCase):
    """Against ONNX Runtime's own CPU kernels."""

    def check(self, model, claimed=None, **feeds):
        """`claimed`: how many kernels the device runs, all in all."""
        wanted = ort.session(model).run(None, feeds)
        session = ort.session(model, sample, profiled=True)
        for result, right in zip(session.run(None, feeds), wanted):
            self.assertEqual(result.shape, right.shape)
            numpy.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-4)
        profile = ort.profile_of(session)
        if claimed is not None:
            kernels = [event["name"] for event in profile.kernels if not event["name"].startswith("copy")]
            self.assertEqual(len(kernels), claimed, kernels)
        self.assertEqual(profile.outside(), [])

    def check_node(self, op, x, operands, claimed, shape=None, **attributes):
        """One node on x, whose dimensions the model does not know where `shape` has texts, and on constants."""
        constants = {f"c{i}": operand for i, operand in enumerate(operands)}
        rank = max([x.ndim, *(operand.ndim for operand in operands)])
        model = ort.model_of([node(op, ["x", *constants], ["y"], **attributes)],
                             {"x": shape or x.shape}, {"y": [None] * rank}, constants)
        self.check(model, claimed, x=x)

    def test_matmul(self):
        self.check_node("MatMul", random(5, 7), [random(7, 3)], 1)
        self.check_node("MatMul", random(2, 3, 5, 7), [random(7, 3)], 1, ["a", "b", "c", 7])
        self.check_node("MatMul", random(2, 5, 7), [random(2, 7, 3)], 0)  # a stack of weights

    def test_gemm(self):
        self.check_node("Gemm", random(5, 7), [random(7, 3), random(3)], 2, ["n", 7])
        self.check_node("Gemm", random(5, 7), [random(7, 3), random(1, 3)], 2)
        self.check_node("Gemm", random(5, 7), [random(7, 3)], 1)
        self.check_node("Gemm", random(5, 7), [random(3, 7), random(3)], 2, transB=1)
        self.check_node("Gemm", random(7, 5), [random(7, 3), random(3)], 0, transA=1)
        self.check_node("Gemm", random(5, 7), [random(7, 3), random(3)], 0, alpha=0.5)
        self.check_node("Gemm", random(5, 7), [random(7, 3), random(5, 1)], 0)  # a bias of rows

    def test_add_and_relu(self):
        self.check_node("Add", random(5, 7), [random(7)], 1, ["n", 7])
        self.check_node("Add", random(4, 5, 7), [random(5, 7)], 1, ["n", 5, 7])
        self.check_node("Add", random(4, 5, 7), [random(1, 5, 7)], 1)
        self.check_node("Add", random(4, 5, 7), [random(5, 1)], 0)
        self.check_node("Add", random(5, 7), [random(2, 5, 7)], 0)  # x is the one that is repeated, and not constant
        self.check_node("Relu", random(4, 5, 7), [], 1, ["n", "m", 7])
        self.check_node("Relu", random(5, 7), [], 0, ["n", "m"])
        self.check(ort.model_of([node("Add", ["c", "x"], ["y"])], {"x": ["n", 7]}, {"y": ["n", 7]}, {"c": random(7)}),
                   1, x=random(5, 7))

    def test_no_rows(self):
        model = ort.model_of([node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])],
                             {"x": ["n", 7]}, {"y": ["n", 3]}, {"w": random(7, 3)})
        self.check(model, 0, x=random(0, 7))
        self.check(model, 2, x=random(1, 7))

    def test_operands_that_are_no_constants(self):
        model = ort.model_of([node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["y"])],
                             {"x": ["n", 7], "w": [7, 3], "b": [3]}, {"y": ["n", 3]})
        self.check(model, 2, x=random(5, 7), w=random(7, 3), b=random(3))
        model = ort.model_of([node("Add", ["x", "x"], ["y"])], {"x": [5, 7]}, {"y": [5, 7]})
        self.check(model, 1, x=random(5, 7))

    def test_fused_are_paths_alone(self):
        """a goes to two nodes, b is an output: neither is inside a fused node, and no two wait for each other."""
        model = ort.model_of(
            [node("Relu", ["x"], ["a"]), node("MatMul", ["a", "w"], ["b"]), node("Sigmoid", ["b"], ["c"]),
             node("MatMul", ["a", "w"], ["d"]), node("Add", ["d", "c"], ["e"]), node("Relu", ["e"], ["y"])],
            {"x": [5, 7]}, {"b": [5, 7], "y": [5, 7]}, {"w": random(7, 7)})
        self.check(model, 5, x=random(5, 7))

    def test_branches(self):
        branches = [helper.make_graph([node(op, ["x", "w"], ["v"])], op, [],
                                      [helper.make_tensor_value_info("v", TensorProto.FLOAT, [7, 7])])
                    for op in ("Add", "MatMul")]
        nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["more"]),
                 node("If", ["more"], ["r"], then_branch=branches[0], else_branch=branches[1]), node("Relu", ["r"], ["y"])]
        model = ort.model_of(nodes, {"x": [7, 7]}, {"y": [7, 7]}, {"w": random(7, 7), "zero": numpy.float32(0)})
        self.check(model, 2, x=random(7, 7) + 3)
        self.check(model, 2, x=random(7, 7) - 3)

    def test_random_graphs(self):
        for seed in range(40):
            with self.subTest(seed=seed):
                dice = numpy.random.default_rng(seed)
                widths, nodes, constants = {"x": 6}, [], {}
                for i in range(dice.integers(2, 12)):
                    source = str(dice.choice(list(widths)[-3:]))
                    width, y = widths[source], f"v{i}"
                    op = str(dice.choice(["Relu", "Add", "Add2", "MatMul", "Gemm", "Sigmoid"]))
                    inputs = [source]
                    if op in ("MatMul", "Gemm"):
                        constants[f"w{i}"] = random(width, 2 + i % 4, seed=seed + i) / 3
                        inputs.append(f"w{i}")
                    elif op == "Add":
                        constants[f"b{i}"] = random(width, seed=seed + i)
                        inputs.insert(int(dice.integers(2)), f"b{i}")
                    elif op == "Add2":
                        inputs.append(str(dice.choice([name for name in widths if widths[name] == width])))
                    nodes.append(node(op.rstrip("2"), inputs, [y]))
                    widths[y] = 2 + i % 4 if op in ("MatMul", "Gemm") else width
                used = {name for each in nodes for name in each.input}
                outputs = {name: ["n", width] for name, width in widths.items()
                           if name != "x" and (name not in used or dice.integers(5) == 0)}
                self.check(ort.model_of(nodes, {"x": [4, 6]}, {name: [4, outputs[name][1]] for name in outputs}, constants),
                           x=random(4, 6, seed=seed))

    def test_a_long_path(self):
        nodes = [node("Relu" if i % 2 else "Add", [f"v{i}", "b"][:2 - i % 2], [f"v{i + 1}"]) for i in range(300)]
        model = ort.model_of(nodes, {"v0": ["n", 8]}, {"v300": ["n", 8]}, {"b": random(8)})
        self.check(model, 300, v0=random(3, 8))

    def test_more_rows_than_the_device_takes(self):
        model = ort.model_of([node("Relu", ["x"], ["y"])], {"x": ["n", 1]}, {"y": ["n", 1]})
        session = ort.session(model, sample)
        session.disable_fallback()  # to the CPU, which Python has
        with self.assertRaisesRegex(Exception, "65536 rows"):
            session.run(None, {"x": random(65537, 1)})
        self.assertEqual(session.run(None, {"x": random(65536, 1)})[0].shape, (65536, 1))


class Cpp(unittest.TestCase):
    def test_relu(self):
        model = ort.model_of([node("Relu", ["x"], ["a"]), node("Sigmoid", ["a"], ["y"])], {"x": [5, 7]}, {"y": [5, 7]})
        session = ort.session(model, cpp, profiled=True)
        result = session.run(None, {"x": random(5, 7)})[0]
        numpy.testing.assert_allclose(result, ort.session(model).run(None, {"x": random(5, 7)})[0], rtol=1e-6)
        profile = ort.profile_of(session)
        self.assertEqual([event["name"] for event in profile.kernels], ["copy_in", "relu"])
        relu = profile.named("relu")[0]
        self.assertEqual(relu["args"]["elements"], "35")
        self.assertGreater(float(relu["args"]["gigabytes_per_second"]), 0)
        self.assertEqual(profile.outside(), [])

    def test_two_profiled_eps_in_both_orders(self):
        model = ort.model_of([node("MatMul", ["x", "w"], ["a"]), node("Sigmoid", ["a"], ["b"]), node("Relu", ["b"], ["y"])],
                             {"x": [5, 7]}, {"y": [5, 7]}, {"w": random(7, 7)})
        for libraries in (sample, cpp), (cpp, sample):
            session = ort.session(model, *libraries, profiled=True)
            session.run(None, {"x": random(5, 7)})
            profile = ort.profile_of(session)
            self.assertEqual([len(profile.named(name)) for name in ("gemm", "relu")], [1, 1])
            # The first takes it; only the one in C++ says how many elements there were.
            self.assertEqual("elements" in profile.named("relu")[0]["args"], libraries[0] is cpp)
            self.assertEqual(profile.outside(), [])


if __name__ == "__main__":
    interop.main()
