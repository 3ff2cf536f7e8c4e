"""TensorFlow under `epprof record`: its profiler runs from the import to the end."""
import os
import shutil
from pathlib import Path

from epprof_record_hooks import FOLDER
from epprof_record_session import XspaceSession, add_bridges, has_plugins

OPTIONS = {"host_tracer_level": 2, "python_tracer_level": 0, "device_tracer_level": 1}


class _Session(XspaceSession):
    def begin(self):
        session = self.make()
        session.start(self._logs(), OPTIONS)
        return session

    @staticmethod
    def _logs():
        return os.path.join(FOLDER, f"TensorFlow.{os.getpid()}")

    def write(self, session, path):
        session.export_to_tb()
        for written in Path(self._logs()).glob("plugins/profile/*/*.xplane.pb"):
            os.replace(written, path)
        shutil.rmtree(self._logs(), ignore_errors=True)


def set_up(_tensorflow):
    # pylint: disable=import-outside-toplevel
    from tensorflow.python.profiler.internal import _pywrap_profiler
    if has_plugins():
        add_bridges()
        import epprof_tensorflow  # noqa: F401 loads the bridge  # pylint: disable=unused-import
    session = _Session("TensorFlow", _pywrap_profiler)
    session.follow()
    session.start()
