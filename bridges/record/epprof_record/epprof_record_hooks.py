"""Import hooks of `epprof record`: when the program imports a framework, a function of this folder prepares its profiling.

EPPROF_RECORD    the folder of the recording.  Its file `notes` has a line for each thing that the user should see at the end.
EPPROF_ONLY_PID  only the process with this pid is recorded
EPPROF_RANKS     only the processes with these ranks are recorded: 0,7
EPPROF_FROM_NS   the time, of CLOCK_MONOTONIC, at which the recording begins
EPPROF_UNTIL_NS  the time at which it ends
EPPROF_START_PAUSED  1: it begins at `epprof ctl resume`
A failure here does not affect the program: a line in `notes` reports it, and the framework runs unprofiled.
"""
import importlib
import os
import sys
import threading
import time
from pathlib import Path

FOLDER = os.environ.get("EPPROF_RECORD", "")
HOOKS = {name: f"epprof_record_{name}" for name in ("onnxruntime", "tensorflow", "jax", "torch")}  # modules with set_up()
FOLDERS_MAX = 5
RESUME_POLL_S = 0.02
RANKS = "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK", "SLURM_PROCID"
_STARTS_PAUSED = os.environ.get("EPPROF_START_PAUSED") == "1"
_FROM_NS, _UNTIL_NS = (int(os.environ.get(name) or 0) for name in ("EPPROF_FROM_NS", "EPPROF_UNTIL_NS"))


def is_recorded():
    """Returns False if the options exclude this process.  libepprof has the same rule for its sessions."""
    pid, ranks = os.environ.get("EPPROF_ONLY_PID"), os.environ.get("EPPROF_RANKS")
    if pid and int(pid) != os.getpid():
        return False
    values = (os.environ.get(name, "") for name in RANKS)
    rank = next((int(value) for value in values if value.isascii() and value.isdigit()), None)
    return not ranks or rank in map(int, ranks.split(","))


def begins_later():
    return _STARTS_PAUSED or time.monotonic_ns() < _FROM_NS


def call_at_begin(function):
    """Calls a function when the recording begins, on a thread for which the program does not wait; at once if it has begun."""
    if _STARTS_PAUSED:
        _call_when_resumed(function)
    else:
        call_in((_FROM_NS - time.monotonic_ns()) / 1e9, function)


def call_in(seconds, function):
    if seconds <= 0:
        function()
        return
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()


def _call_when_resumed(function):
    """Calls a function after `epprof ctl resume`.  libepprof handles this request; its session is paused until then."""
    import ctypes  # imported here, because most programs do not need it # pylint: disable=import-outside-toplevel
    recording_count = ctypes.c_uint32.in_dll(ctypes.CDLL(find_library("libepprof.so.0")), "epp_recording_count")

    def wait():
        while not recording_count.value:
            time.sleep(RESUME_POLL_S)
        function()
    threading.Thread(target=wait, daemon=True).start()


def seconds_to_end():
    """Returns 0 if the recording has ended; None if it ends with the program."""
    return max(0, (_UNTIL_NS - time.monotonic_ns()) / 1e9) if _UNTIL_NS else None


def note(text):
    """Adds a line that `epprof record` prints at the end."""
    try:
        fd = os.open(os.path.join(FOLDER, "notes"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, (" ".join(str(text).split()) + "\n").encode(errors="replace"))
        finally:
            os.close(fd)
    except OSError:
        pass  # the folder does not exist any more: this process runs longer than the recording


def find_library(name):
    """Returns the path of a bridge: it is in a folder above this file, in a build tree and where epprof is installed."""
    for folder in list(Path(__file__).resolve().parents)[:FOLDERS_MAX]:
        if (folder / name).is_file():
            return str(folder / name)
    raise FileNotFoundError(f"no {name} in a folder above {__file__}")


def _set_up(module):
    try:
        if is_recorded():
            importlib.import_module(HOOKS[module.__name__]).set_up(module)
    except Exception as error:  # pylint: disable=broad-exception-caught
        note(f"{module.__name__} runs unprofiled: {error}")


class _Finder:
    """Finds modules as the other finders do, and calls the hook after the module has run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in HOOKS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is _Finder else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        run = getattr(spec.loader, "exec_module", None)
        if run:
            def run_and_set_up(module):
                run(module)
                _set_up(module)
            spec.loader.exec_module = run_and_set_up
        return spec


def install():
    sys.meta_path.insert(0, _Finder)
