#!/usr/bin/env python3
"""digits in ONNX Runtime: the same model, as digits.onnx, on the sample EP, profiled by ONNX Runtime itself.

digits_onnxruntime.py EP_LIBRARY PROFILE_PREFIX
"""
import collections
import json
import struct
import sys
from pathlib import Path

import numpy
import onnxruntime as ort

DATA = Path(__file__).resolve().parent / "data"
RIGHT = 62


def digits():
    data = (DATA / "digits_test.bin").read_bytes()
    count, pixels = struct.unpack_from("<II", data)
    images = numpy.frombuffer(data, "<f4", count * pixels, 8).reshape(count, pixels)
    return images, numpy.frombuffer(data, "<i8", count, 8 + images.nbytes)


def main(library, prefix):
    ort.set_default_logger_severity(3)
    ort.register_execution_provider_library("sample", str(Path(library).resolve()))
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = prefix
    options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "SampleEP"], {})
    session = ort.InferenceSession(str(DATA / "digits.onnx"), options)
    images, answers = digits()
    for _ in range(50):
        right = int((session.run(None, {"x": images})[0].argmax(axis=1) == answers).sum())
    profile = session.end_profiling()

    print(f"ONNX Runtime {ort.__version__}: {right} of {len(answers)} right, profile in {profile}")
    durations = collections.defaultdict(list)
    for event in json.loads(Path(profile).read_text(encoding="utf-8")):
        if event["cat"] in ("Node", "Kernel"):
            durations[event["cat"], event["name"]].append(event["dur"])
    print(f"{'':8}{'count':>7}{'total us':>10}{'mean us':>9}")
    for (category, name), us in sorted(durations.items(), key=lambda item: (item[0][0] != "Node", -sum(item[1]))):
        print(f"{category:8}{len(us):7}{sum(us):10}{sum(us) / len(us):9.1f}  {name}")
    return 0 if right == RIGHT else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
