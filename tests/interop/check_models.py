#!/usr/bin/env python3
"""Trained models on providers: they compute what ONNX Runtime's own provider computes, and in the trace of epprof run each event of a
device is under the event that launched it."""
import os
import unittest

import interop

interop.in_each_environment(interop.ONNXRUNTIME_NEWEST)
import numpy
import onnx

import environment
import models
import opencl
import ort
from run_command import epprof, run, summary

RUNS = 3


def feeds_of(path, shapes):
    """Random inputs; free dimensions are 1."""
    random = numpy.random.default_rng(3)
    graph = onnx.load(path).graph
    constants = {each.name for each in graph.initializer}
    feeds = {}
    for each in graph.input:
        if each.name in constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        shape = shapes.get(each.name, [dimension.dim_value or 1 for dimension in each.type.tensor_type.shape.dim])
        if kind == numpy.float32:
            feeds[each.name] = random.random(shape, kind)
        else:  # the bytes of a file for magika; a sample rate
            feeds[each.name] = numpy.asarray(random.integers(0, 257, shape) if shape else 16000, kind)
    return feeds


class Provider:
    """The tests, for each provider."""
    TOLERANCE = {"rtol": 1e-3, "atol": 2e-4}

    def library(self):
        """The path without .so, and the name of the provider."""
        raise NotImplementedError

    def check_results(self, path, options=()):
        library, name = self.library()
        shapes = dict(option.split("=") for option in options[1::2])
        feeds = feeds_of(path, {key: [int(side) for side in shape.split(",")] for key, shape in shapes.items()})
        wanted = ort.session(path).run(None, feeds)
        with ort.Library(library, name) as devices:
            got = ort.session(path, devices).run(None, feeds)
        self.assertGreater(sum(each.size for each in wanted), 0)
        for one, other in zip(wanted, got):
            self.assertTrue(numpy.isfinite(one).all())
            numpy.testing.assert_allclose(other, one, **self.TOLERANCE)

    def recorded(self, path, options=()):
        """The summary of a run, and how many nodes the provider had."""
        library, _ = self.library()
        done = run(path, *options, "--runs", RUNS, "--ep", f"{library}.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(epprof("validate", "--strict", "run.epp").returncode, 0)
        told = summary()
        self.assertEqual((told["lost"], told["unended"]), (0, 0))
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("  nodes ")]
        return told, int(line.split()[1])


class Devices(Provider):
    """Of providers that have no part of some models."""

    def check_model(self, name, nodes, events):
        path, options = models.path_of(self, name), models.OPTIONS[name]
        self.check_results(path, options)
        told, claimed = self.recorded(path, options)
        joined = [told[key] for key in ("correlated", "inferred", "uncorrelated", "outside_parent")]
        print(f"{name}: {claimed} nodes, {told['device_events']} device events: {joined[0]} joined by their token, {joined[1]} by time, "
              f"{joined[2]} not, {joined[3]} outside their parent", flush=True)
        self.assertEqual(claimed > 0, nodes)
        self.assertGreaterEqual(told["device_events"], events * RUNS)
        self.assertEqual(joined, [told["device_events"], 0, 0, 0])

    def test_detection(self):
        self.check_model("detection", True, 30)

    def test_recognition(self):
        self.check_model("recognition", True, 10)

    def test_direction(self):
        self.check_model("direction", True, 30)

    def test_magika(self):
        self.check_model("magika", True, 10)

    def test_silero(self):
        self.check_model("silero", False, 0)


class Sample(Devices, unittest.TestCase):
    def library(self):
        return str(interop.BUILD / "libsample_ort_ep"), "SampleEP"


class OpenCl(Devices, unittest.TestCase):
    def library(self):
        if opencl.missing():
            self.skipTest(opencl.missing())
        return str(interop.BUILD / "libsample_opencl_ep"), "OpenCLEP"


class Ggml(Provider, unittest.TestCase):
    """It takes models that it supports as a whole, and has no profiler.  It computes with numbers of 16 bits."""
    TOLERANCE = {"rtol": 1e-2, "atol": 2e-3}

    def library(self):
        try:
            packages = interop.VENDORS.python_for(interop.VENDORS.versions()[0]).parents[1]
        except environment.Unavailable as error:
            self.skipTest(str(error))
        (library,) = packages.glob("lib/python*/site-packages/onnxruntime_ggml/lib/libonnxruntime_ggml.so")
        return os.path.splitext(library)[0], str(library)  # its name is the one that it is registered with

    def test_a_model_that_it_has(self):
        path = models.feed_forward("Relu")
        self.check_results(path)
        told, claimed = self.recorded(path)
        self.assertEqual((claimed, told["device_events"]), (24, 0))

    def test_models_that_it_leaves(self):
        for name in models.FILES:
            with self.subTest(model=name):
                told, claimed = self.recorded(models.path_of(self, name), models.OPTIONS[name])
                self.assertEqual((claimed, told["device_events"]), (0, 0))


class Example(unittest.TestCase):
    def test_the_page(self):
        """What docs/example.md shows: the advice, and that the change helps."""
        if opencl.missing():
            self.skipTest(opencl.missing())
        model = models.path_of(self, "direction")
        _, text = interop.do_as_page("docs/example.md", download=("pip download -q --no-deps rapidocr-onnxruntime==1.4.4\n", ""),
                                     unzip=("unzip -qjo rapidocr_onnxruntime-1.4.4-*.whl '*/ch_ppocr_mobile_v2.0_cls_infer.onnx'", f"cp '{model}' ."),
                                     provider=("build/libsample", f"{interop.BUILD}/libsample"))
        self.assertIn("warm-up: the measurement includes a warm-up", text)
        self.assertIn("Faster: the time of a run changed by -", text)
        self.assertIn("wrote slow.html", text)


if __name__ == "__main__":
    interop.main()
