"""Models that are trained and in use, from packages on PyPI, and one that is made here."""
import functools
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import environment
import interop

# They are wanted for their files only.
PACKAGES = ("rapidocr-onnxruntime==1.4.4", "magika==1.0.3", "silero-vad==6.2.3", "--no-deps")
FILES = {"detection": "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
         "recognition": "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
         "direction": "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "magika": "magika/models/standard_v3_3/model.onnx",
         "silero": "silero_vad/data/silero_vad_16k_op15.onnx"}
# What they need beside their defaults, as options of epprof run.
OPTIONS = {"detection": ["--shape", "x=1,3,320,320"], "recognition": ["--shape", "x=1,3,48,320"],
           "direction": ["--shape", "x=1,3,48,192"], "magika": [], "silero": ["--shape", "input=1,576"]}


@functools.lru_cache
def _packages():
    (folder,) = environment.python_with(list(PACKAGES)).parent.parent.glob("lib/python*/site-packages")
    return folder


def path_of(test, name):
    """The path of a model in FILES; the test is skipped if the packages cannot be had."""
    try:
        return str(_packages() / FILES[name])
    except environment.Unavailable as error:
        test.skipTest(str(error))


def feed_forward(activation, blocks=6, rows=32, width=32, hidden=64, replaceable=False):
    """The feed-forward layers of a transformer, with residuals.  `activation` is Relu, or Clip for ReLU6: with the default sizes no
    value reaches 6, so that both give the same.  A caller may replace the weights of a `replaceable` model.  Returns the path."""
    random = numpy.random.default_rng(1)
    nodes, constants, x = [], [], "x"
    for block in range(blocks):
        for name, shape in (("up", (width, hidden)), ("down", (hidden, width))):
            values = random.standard_normal(shape).astype("f4") * 0.5 / numpy.sqrt(shape[0]).astype("f4")
            constants += [numpy_helper.from_array(values, f"{name}{block}"),
                          numpy_helper.from_array(numpy.full(shape[1], 0.1, "f4"), f"{name}_bias{block}")]
        limits = ["zero", "six"] if activation == "Clip" else []
        nodes += [helper.make_node("MatMul", [x, f"up{block}"], [f"a{block}"]),
                  helper.make_node("Add", [f"a{block}", f"up_bias{block}"], [f"b{block}"]),
                  helper.make_node(activation, [f"b{block}", *limits], [f"c{block}"], name=f"activation {block}"),
                  helper.make_node("MatMul", [f"c{block}", f"down{block}"], [f"d{block}"]),
                  helper.make_node("Add", [f"d{block}", f"down_bias{block}"], [f"e{block}"]),
                  helper.make_node("Add", [f"e{block}", x], [f"y{block}"])]
        x = f"y{block}"
    constants += [numpy_helper.from_array(numpy.float32(limit), name) for name, limit in zip(limits, (0, 6))]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width])] for name in ("x", x)]
    if replaceable:
        ends[0] += [helper.make_tensor_value_info(each.name, TensorProto.FLOAT, each.dims) for each in constants]
    made = helper.make_model(helper.make_graph(nodes, "feed forward", *ends, constants),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = os.path.join(interop.scratch(), f"{activation}{replaceable}{width}.onnx")
    onnx.save(made, path)
    return path
