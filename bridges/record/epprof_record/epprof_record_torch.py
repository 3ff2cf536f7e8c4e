"""PyTorch under `epprof record`: its profiler runs from the import to the end.  With plugins, the bridge is loaded, and writes a trace
of PyTorch's operations and of the plugins' events."""
import functools
import os
from pathlib import Path

from epprof_record_hooks import FOLDER, begins_later, note
from epprof_record_session import WITHOUT_PLUGINS, Session, add_bridges, has_plugins


def _load_bridge():
    """A wheel's bridge is compiled here when it is first used."""
    try:
        add_bridges()
        import epprof_kineto  # pylint: disable=import-outside-toplevel,unused-import
        return True
    except Exception as error:  # pylint: disable=broad-exception-caught
        note(f"PyTorch {WITHOUT_PLUGINS}: {error}; docs/pytorch.md shows how to make the bridge")
        return False


class _Session(Session):
    def __init__(self, torch):
        super().__init__("PyTorch")
        self._torch = torch

    def config(self):
        return self._torch.profiler._ExperimentalConfig(profile_all_threads=True)

    def begin(self):
        config = self.config()
        if has_plugins() and _load_bridge():
# torch.profiler has the device PrivateUse1 only after the program has renamed it.
            session = self._torch.autograd.profiler.profile(use_kineto=True, experimental_config=config)
            session.profiler_kind = self._torch.autograd.ProfilerState.KINETO_PRIVATEUSE1
            session.kineto_activities.add(self._torch.profiler.ProfilerActivity.PrivateUse1)
        else:
            session = self._torch.profiler.profile(experimental_config=config)
        session.__enter__()
        return session

    def end(self, session, path):
        session.__exit__(None, None, None)
# If no plugin could be loaded, the bridge has written no trace, so the profile is needed.
        if not any(Path(FOLDER).glob(f"*.{os.getpid()}.*.epp")):
            session.export_chrome_trace(path)


def set_up(torch):
    import torch.profiler  # pylint: disable=import-outside-toplevel,redefined-outer-name
    session = _Session(torch)
    if begins_later():
# Starting the first profile of a process takes seconds.  It is done here, so that the recording begins in time.
        with torch.profiler.profile(experimental_config=session.config()):
            pass
    session.start()
    profile = torch.autograd.profiler.profile
    original = profile._prepare_trace

    @functools.wraps(original)
    def prepare(self):
        session.give_way()
        original(self)
    profile._prepare_trace = prepare
