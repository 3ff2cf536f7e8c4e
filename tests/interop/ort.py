"""ONNX Runtime with EP libraries: sessions, small models, and the profiles that it writes."""
import collections
import itertools
import json
import os
import sys

import onnx
import onnxruntime
from onnx import TensorProto, helper

import interop

sys.path.append(str(interop.ROOT / "ep_sample"))
from digits_onnxruntime import digits  # noqa: F401 for the tests

onnxruntime.set_default_logger_severity(int(os.environ.get("EPPROF_TEST_SEVERITY", "3")))

# The µs that the profile's integers may be off at the start and at the end of an EP's event.
START_ERROR_US = 1
END_ERROR_US = 2


class Library:
    """An EP library, registered as long as the context lasts."""

    def __init__(self, name, ep_name):
        self.path = interop.library(name)
        self.ep_name = ep_name

    def __enter__(self):
        onnxruntime.register_execution_provider_library(self.path, self.path)
        return self

    def __exit__(self, *_):
        onnxruntime.unregister_execution_provider_library(self.path)

    def devices(self):
        return [device for device in onnxruntime.get_ep_devices() if device.ep_name == self.ep_name]


_numbers = itertools.count(1)


def session(model, *libraries, profiled=False, prefix=None, **options):
    """A session on the EPs of these libraries, in this order; `options` are attributes of SessionOptions.

    ONNX Runtime names a profile by the millisecond in which the session is made: two of one prefix may write to one file."""
    made = onnxruntime.SessionOptions()
    made.enable_profiling = profiled
    made.profile_file_prefix = f"{prefix or interop.scratch() / 'profile'}_{next(_numbers)}"
    for name, value in options.items():
        setattr(made, name, value)
    for each in libraries:
        made.add_provider_for_devices(each.devices(), {})
    return onnxruntime.InferenceSession(model, made)


def model_of(nodes, inputs, outputs, constants=None):
    """A model as bytes.  Inputs and outputs: {name: shape}; a text in a shape is a dimension that is not known."""
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends.items()]
              for ends in (inputs, outputs)]
    tensors = [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", *values, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


class Profile:
    """A profile that ONNX Runtime wrote."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        self.host = [event for event in events if event["cat"] in ("Session", "Node")]
        self.kernels = [event for event in events if event["cat"] == "Kernel"]
        self.lost = [event for event in events if event["name"] == "epprof.lost"]
        self._by_start = collections.defaultdict(list)
        for event in self.host:
            self._by_start[event["ts"]].append(event)
        # A correlation id is a start on ONNX Runtime's clock.  The first event with kernels is the first of its name; an EP
        # that tells no names has copied constants while the session was initialized.
        first = min(self.kernels, key=lambda event: int(event["args"]["ort_correlation_id"]), default=None)
        self._epoch = 0
        if first:
            name = first["args"].get("ort_event_name", "session_initialization")
            first_us = min(event["ts"] for event in self.host if event["name"] == name)
            self._epoch = int(first["args"]["ort_correlation_id"]) - first_us

    def named(self, name):
        return [event for event in self.kernels if event["name"] == name]

    def parents(self, kernel):
        """The host events that may be the parent: ids are not unique."""
        same_start = self._by_start[int(kernel["args"]["ort_correlation_id"]) - self._epoch]
        name = kernel["args"].get("ort_event_name")
        return [event for event in same_start if name in (None, event["name"])]

    def outside(self):
        """The kernels that lie in no parent of theirs, within the error bound: (kernel, µs too early, µs too late, or None without
        a parent)."""
        found = []
        for kernel in self.kernels:
            misses = [_miss(kernel, parent) for parent in self.parents(kernel)]
            nearest = min(misses, key=sum, default=(None, None))
            if nearest != (0, 0):
                found.append((kernel, *nearest))
        return found


def _miss(kernel, parent):
    """The µs that a kernel starts before its parent and ends after it, beyond the error bound."""
    end, parent_end = (event["ts"] + event["dur"] for event in (kernel, parent))
    return (max(0, parent["ts"] - START_ERROR_US - kernel["ts"]), max(0, end - parent_end - END_ERROR_US))


def profile_of(ended_session):
    return Profile(ended_session.end_profiling())
