"""Passes the finished profile of TensorFlow or JAX to epprof's bridge, which records the host's operations in the trace of
EPPROF_OUTPUT.  The framework gives plugins no access to its operations before that.

The framework's ProfilerSession is replaced by a wrapper, which looks for the file that the session wrote.  A failure here
does not affect the program; the trace then has no operations, and the log names the command that imports them.
"""
import collections
import ctypes
import logging
import mmap
import os
import threading
from pathlib import Path

SWITCH = "EPPROF_HOST_OPERATIONS"  # the environment variable; 0: sessions are not wrapped
TEXT_BYTES = 2048
THREADS_MAX = 4096  # the size of the bridge's table of threads, too (xspace_threads.c)
ANY = "HOST.xplane.pb"  # placeholder in messages if the file is unknown
RECORDED, NOT_WANTED, FAILED = range(3)

_log = logging.getLogger("epprof")
# The last THREADS_MAX threads that Python has started: pthread_t and the system's thread id.  A deque, because several
# threads may append to it at the same time.
_threads = collections.deque(maxlen=THREADS_MAX)


def _note_threads():
    """Stores the numbers of all threads that exist, and of each thread that begins later, also after its end."""
    if _threads:
        return
    _threads.extend((thread.ident, thread.native_id) for thread in threading.enumerate() if thread.ident and thread.native_id)
    set_native_id = getattr(threading.Thread, "_set_native_id", None)  # a new thread calls it, in CPython from 3.8 on
    if not set_native_id:
        return

    def noted(self):
        set_native_id(self)
        _threads.append((self.ident, self.native_id))

    threading.Thread._set_native_id = noted  # pylint: disable=protected-access


class Bridge:
    """A bridge that the framework has loaded, by its path."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._profile = self._library.epprof_host_profile
        self._profile.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        self._library.epprof_host_expect.restype = None
        self._thread = self._library.epprof_host_thread
        self._thread.argtypes, self._thread.restype = [ctypes.c_uint64, ctypes.c_uint32], None

    def expect(self):
        self._library.epprof_host_expect()

    def _give(self, address, count):
        for handle, thread in list(_threads) if address else ():
            self._thread(handle, thread)
        text = ctypes.create_string_buffer(TEXT_BYTES)
        result = self._profile(address, count, text, TEXT_BYTES)
        return result, text.value.decode(errors="replace")

    def give(self, path):
        """Passes a file.  Returns the result, and a text: what was recorded, or the reason why not."""
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
            held = ctypes.c_char.from_buffer(mapped)
            try:
                return self._give(ctypes.addressof(held), len(mapped))
            finally:
                del held  # a mapping cannot be closed while there is a reference to it

    def give_bytes(self, profile):
        """Passes a profile in memory; returns as give()."""
        return self._give(ctypes.cast(ctypes.c_char_p(profile), ctypes.c_void_p), len(profile))

    def give_nothing(self):
        """Ends the run without a profile.  Returns False if no run was waiting for one."""
        return self._give(None, 0)[0] != NOT_WANTED


def _profiles(folder):
    """Returns the profiles in a log folder, each with its time, size and inode, which change when it is written."""
    found = {}
    for path in Path(folder).glob("plugins/profile/*/*.xplane.pb"):
        stat = path.stat()
        found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found


def _missing(why, path=ANY):
    _log.warning("%s has no operations of the host: %s.  `epprof import -o operations.epp %s` makes a trace of them.",
                 os.environ.get("EPPROF_OUTPUT"), why, path)


class Session:
    """Wraps a framework's session and passes its profile to the bridge."""

    def __init__(self, session, bridge):
        self._session = session
        self._bridge = bridge
        self._folder = None

    def __getattr__(self, name):
        return getattr(self._session, name)

    def start(self, folder, *more):
        """TensorFlow's."""
        self._folder = folder
        return self._session.start(folder, *more)

    def export_to_tb(self):
        """TensorFlow's."""
        self._stop(self._session.export_to_tb, self._folder)

    def stop_and_export(self, folder):
        """JAX's."""
        self._stop(lambda: self._session.stop_and_export(folder), folder)

    def stop(self):
        """TensorFlow's and JAX's: returns the profile."""
        return self._stop(self._session.stop)

    def _stop(self, stop, folder=None):
        before = self._look(folder) if folder is not None else {}
        try:
            profile = stop()
        except BaseException:
            self._bridge.give_nothing()
            raise
        try:
            if folder is None:
                self._tell(*self._bridge.give_bytes(profile))
            else:
                self._give(folder, before)
        except Exception as error:  # pylint: disable=broad-exception-caught
            if self._bridge.give_nothing():
                _missing(error)
        return profile

    @staticmethod
    def _look(folder):
        try:
            return _profiles(folder)
        except (OSError, TypeError, ValueError):  # `folder` is not a local path
            return {}

    def _give(self, folder, before):
        written = {path: stat for path, stat in _profiles(folder).items() if before.get(path) != stat}
        if not written:
            raise FileNotFoundError(f"no profile was written in {folder}")
        path = max(written, key=written.get)
        try:
            result, text = self._bridge.give(path)
        except (OSError, ValueError) as error:
            result, text = (FAILED if self._bridge.give_nothing() else NOT_WANTED), error
        self._tell(result, text, path)

    @staticmethod
    def _tell(result, text, path=ANY):
        if result == FAILED:
            _missing(text, path)
        elif result == RECORDED:
            _log.debug("%s: %s", path, text)


def follow(module, path):
    """Wraps the ProfilerSession of a framework's module; `path`: the bridge."""
    if os.environ.get(SWITCH) == "0":
        return
    bridge, original = Bridge(path), module.ProfilerSession
    _note_threads()
    module.ProfilerSession = lambda *args, **kwargs: Session(original(*args, **kwargs), bridge)
    bridge.expect()
