"""Runs models on the sample EP for OpenCL or Vulkan in ONNX Runtime, for device_ep.py, in a process of its own: a process has one set of
runtimes.  Prints what came as JSON."""
import json
import sys

import interop

import numpy
from onnx import helper

import ort

RUNS = 200
DIGITS = str(interop.DATA / "digits.onnx")
node = helper.make_node


def random(*shape, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("f4")


def one(op, x, *operands, **attributes):
    constants = {f"c{i}": operand for i, operand in enumerate(operands)}
    return ort.model_of([node(op, ["x", *constants], ["y"], **attributes)], {"x": x.shape}, {"y": [None] * x.ndim}, constants), x


MODELS = {
    "MatMul": one("MatMul", random(70, 130), random(130, 33)),
    "MatMul of a stack": one("MatMul", random(3, 5, 7), random(7, 9)),
    "Gemm": one("Gemm", random(5, 7), random(7, 3), random(3)),
    "Gemm, transposed": one("Gemm", random(5, 7), random(3, 7), random(3), transB=1),
    "Add": one("Add", random(64, 100), random(100)),
    "Relu": one("Relu", random(64, 100)),
    "Softmax": one("Softmax", 9 * random(64, 100)),
    "Softmax of the last axis": one("Softmax", 9 * random(4, 5, 6), axis=2),
    "Softmax of another axis": one("Softmax", random(4, 5, 6), axis=1),
}


def main(library, ep_name):
    told = {"off": {}, "kernels": {}}
    with ort.Library(library, ep_name) as device:
        for name, (model, x) in MODELS.items():
            wanted = ort.session(model).run(None, {"x": x})[0]
            session = ort.session(model, device, profiled=True)
            got = session.run(None, {"x": x})[0]
            told["off"][name] = float(numpy.abs(got - wanted).max()) if got.shape == wanted.shape else 1e9
            told["kernels"][name] = [event["name"] for event in ort.profile_of(session).kernels if not event["name"].startswith("copy")]
            del session
        images, answers = ort.digits()
        session = ort.session(DIGITS, device, profiled=True)
        for _ in range(RUNS):
            results = session.run(None, {"x": images})[0]
        told["right"] = int((results.argmax(axis=1) == answers).sum())
        profile = ort.profile_of(session)
        del session
    told["names"] = sorted({event["name"] for event in profile.kernels})
    told["rows"] = sorted({event["tid"] for event in profile.kernels})
    told["kernels_count"] = len(profile.kernels)
    told["lost"] = len(profile.lost)
    told["outside"] = [[event["name"], early, late] for event, early, late in profile.outside()]
    told["too_early"] = sum("reported_too_early_ns" in event["args"] for event in profile.kernels)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
