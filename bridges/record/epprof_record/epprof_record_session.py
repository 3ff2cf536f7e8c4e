"""The framework's own profiler under `epprof record`: it runs from start() to the end of the process, within the time range of the
recording, or until the program uses the profiler itself, because a framework has one profile at a time.

The profile becomes FRAMEWORK.PID.profile in the folder of the recording, and `epprof record` imports it.  With plugins
(EPPROF_PROFILERS), the framework's bridge records its operations beside the plugins' events, and no file is written.
"""
import atexit
import os
import sys
import threading
from pathlib import Path

from epprof_record_hooks import FOLDER, call_at_begin, call_in, note, seconds_to_end

WITHOUT_PLUGINS = "is recorded without the plugins of --profilers"


def has_plugins():
    return bool(os.environ.get("EPPROF_PROFILERS") or os.environ.get("KINETO_PLUGIN_PATH"))


def add_bridges():
    """Makes the bridges' Python files importable."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))


class Session:
    """Subclasses have begin(), which returns the framework's session, and end(session, path), which writes the profile to the path."""

    def __init__(self, framework):
        self._framework = framework
        self._lock = threading.RLock()
        self._session = None
        self._pid = None  # process that started the profiler; a forked child has no profile
        self._is_over = False

    def start(self):
        """The first call starts the profiler, or a thread that will."""
        with self._lock:
            if self._pid is None:
                self._pid = os.getpid()
                atexit.register(self.stop)
                self._try(call_at_begin, self._begin)

    def _begin(self):
        with self._lock:
            if self._is_over or seconds_to_end() == 0:
                return
            self._session = self._try(self.begin)
            if seconds_to_end() is not None:
                call_in(seconds_to_end(), self.stop)

    def stop(self):
        with self._lock:
            self._is_over = True
            session, self._session = self._session, None
            if session and self._pid == os.getpid():
                self._try(self.end, session, os.path.join(FOLDER, f"{self._framework}.{self._pid}.profile"))

    def give_way(self):
        """Stops the profile, because the program is about to use the profiler."""
        with self._lock:
            if self._session and self._pid == os.getpid():
                note(f"{self._framework} is recorded until the program used its profiler")
            self.stop()

    def _try(self, function, *arguments):
        try:
            return function(*arguments)
        except Exception as error:  # pylint: disable=broad-exception-caught
            note(f"{self._framework} runs unprofiled: {error}")
            return None


class XspaceSession(Session):
    """A session of TensorFlow or JAX.  The class ProfilerSession of `module` is replaced: when the program creates one, this
    session ends first.  Subclasses have write(session, path), which ends the session and writes its XSpace."""

    def __init__(self, framework, module):
        super().__init__(framework)
        self._module = module
        self.make = None

    def follow(self):
        """If there is a bridge, call this after the bridge has replaced the class."""
        self.make = self._module.ProfilerSession

        def make_for_program(*args, **kwargs):
            self.give_way()
            return self.make(*args, **kwargs)
        self._module.ProfilerSession = make_for_program

    def end(self, session, path):
        bridge = getattr(session, "_bridge", None)  # epprof_host.Session
        self.write(getattr(session, "_session", session), path)
        if bridge:
            import epprof_host  # pylint: disable=import-outside-toplevel
            if bridge.give(path)[0] == epprof_host.RECORDED:
                os.unlink(path)
