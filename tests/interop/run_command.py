"""`epprof run` with the ONNX Runtime of this environment, in the scratch folder, and what it wrote."""
import json
import os
import subprocess
from pathlib import Path

import onnxruntime

import interop

DIGITS = str(interop.DATA / "digits.onnx")
EPPROF = str(interop.BUILD / "epprof")
LIMIT = "epprof: the trace keeps the newest 2.0 GiB (--max-bytes sets the limit, 0 is none)\n"
LIBRARY = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))


def epprof(*arguments, **environment):
    return subprocess.run([EPPROF, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=interop.scratch(), env={**os.environ, **environment}, check=False, timeout=300)


def run(model, *arguments, library=LIBRARY, **environment):
    """Runs a model; the trace is run.epp."""
    return epprof("run", "--ort", library, "--force", "-o", "run.epp", model, *arguments, **environment)


def summary():
    return json.loads(epprof("summary", "--format", "json", "run.epp").stdout)


def events():
    """The lines of the trace as NDJSON."""
    return [json.loads(line) for line in epprof("convert", "-t", "ndjson", "-o", "-", "run.epp").stdout.splitlines()]
