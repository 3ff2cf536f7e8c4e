"""epprof in JAX: with the folder above `jax_plugins` in PYTHONPATH, JAX calls initialize(), which adds libepprof_pjrt.so to its
profilers, and wraps its profiler sessions to record the host's operations (epprof_host.py).  User code does not change.

The library is the file that EPPROF_PJRT_LIBRARY names or, without it, the one in the folder of this file or in one of
the four folders above it.  If there is no library, or if JAX has no such profilers, nothing is added, and the reason is logged.
"""
import logging
import os
from pathlib import Path

LIBRARY = "libepprof_pjrt.so"
FOLDERS_MAX = 5

_log = logging.getLogger(__name__)
_was_called = False  # a library that is registered twice creates two profilers


def _find():
    named = os.environ.get("EPPROF_PJRT_LIBRARY")
    if named:
        return Path(named).resolve()
    for folder in list(Path(__file__).absolute().parents)[:FOLDERS_MAX]:
        for path in folder / LIBRARY, folder / "epprof/lib" / LIBRARY:  # the second path is that in a wheel
            if path.is_file():
                return path.resolve()  # links are resolved, because the libraries that it needs are in the real folder
    raise FileNotFoundError(f"no {LIBRARY} beside {Path(__file__).parent} or above; EPPROF_PJRT_LIBRARY can name it")


def initialize():
    """Called by JAX when it looks for devices.  JAX's register_plugin is not used, because it would add a device."""
    global _was_called
    if _was_called:
        return
    _was_called = True
    try:
        from jax._src.lib import _profiler, xla_client  # pylint: disable=import-outside-toplevel
        library = _find()
        _profiler.register_plugin_profiler(xla_client.load_pjrt_plugin_dynamically("epprof", str(library)))
        _log.debug("registered %s", library)
    except Exception as error:  # pylint: disable=broad-exception-caught
        _log.warning("JAX goes on without epprof: %s", error)
        return
    try:
        import epprof_host  # pylint: disable=import-outside-toplevel
        epprof_host.follow(_profiler, library)
    except Exception as error:  # pylint: disable=broad-exception-caught
        _log.warning("the trace will have no operations of JAX's: %s", error)
