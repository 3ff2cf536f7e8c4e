"""epprof in TensorFlow: importing this module adds libepprof_tf.so to TensorFlow's profilers, and TensorFlow's own operations to the
trace of EPPROF_OUTPUT.

If TensorFlow has not loaded the library (TF_PLUGGABLE_DEVICE_LIBRARY_PATH, or a copy in tensorflow-plugins/), it is loaded from
EPPROF_TF_LIBRARY, from the folder of this file, or from up to four folders above it.
"""
import ctypes
import logging
import os
from pathlib import Path

import epprof_host

LIBRARY = "libepprof_tf.so"
FOLDERS_MAX = 5

_log = logging.getLogger(__name__)


def _is_bridge(path):
    """Returns True if a library in the process is the bridge: only the bridge exports both functions."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        return hasattr(library, "TF_InitProfiler") and hasattr(library, "epprof_host_profile")
    except OSError:
        return False


def _find_loaded():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.rstrip("\n").split(maxsplit=5)[5] for line in maps if ".so" in line and line.count("/")}
    return next((path for path in sorted(paths) if _is_bridge(path)), None)


def _find():
    named = os.environ.get("EPPROF_TF_LIBRARY")
    if named:
        return str(Path(named).resolve())
    for folder in list(Path(__file__).absolute().parents)[:FOLDERS_MAX]:
        for path in folder / LIBRARY, folder / "epprof/lib" / LIBRARY:  # the second path is that in a wheel
            if path.is_file():
                return str(path.resolve())
    raise FileNotFoundError(f"no {LIBRARY} beside {__file__} or above; EPPROF_TF_LIBRARY can name it")


def _set_up():
    # pylint: disable=import-outside-toplevel
    import tensorflow  # pylint: disable=unused-import
    from tensorflow.python.framework.load_library import load_pluggable_device_library
    from tensorflow.python.profiler.internal import _pywrap_profiler
    path = _find_loaded()
    if not path:
        path = _find()
        load_pluggable_device_library(path)
    epprof_host.follow(_pywrap_profiler, path)
    _log.debug("follows the profiles of %s", path)


try:
    _set_up()
except Exception as error:  # pylint: disable=broad-exception-caught
    _log.warning("TensorFlow goes on without epprof: %s", error)
