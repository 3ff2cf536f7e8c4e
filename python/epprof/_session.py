"""Sessions: they record the events of all threads into a file or into memory."""
import enum
import os
from types import TracebackType
from typing import List, Optional, Type, Union

from . import _record


class Category(enum.IntEnum):
    """The category of an event, ONNX Runtime's."""

    SESSION = 0
    NODE = 1
    KERNEL = 2
    API = 3


class Policy(enum.IntEnum):
    """What happens when a trace reaches its maximum size."""

    STREAM = 0  # it has none: only the disk limits it
    RING = 1  # the newest `max_bytes` are kept
    STOP = 2  # the oldest `max_bytes` are kept


_open: List["Session"] = []  # those with a path, for attach()


class Session:
    """A session that records, from its creation to close() or the end of `with`.

    Events of the program go to the session that was created last and is not closed.  A session with a path is shared
    with the bridges: if EPPROF_OUTPUT names the same path, a framework's events are in the same trace, and the trace
    ends when the framework has released its session, too.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None, *, label: Optional[str] = None,
                 policy: Policy = Policy.STREAM, max_bytes: int = 0, memory_bytes: int = 0, overwrite: bool = True,
                 sync_ms: int = 0, lossless: bool = False, buffer_bytes: int = 0,
                 include: Optional[str] = None, exclude: Optional[str] = None, schedule: Optional[str] = None,
                 step: Optional[str] = None, max_overhead: float = 0.0) -> None:
        """Creates a session and starts it.

        path          the .epp to write; %pid% and %hostname% are expanded.  None: record in memory
        overwrite     False: an existing file is an error
        the others    as in epp_session_options of epprof/session.h
        """
        self.path = None if path is None else os.fspath(path)
        self._session = _record.Session(self.path, label, memory_bytes, max_bytes, policy, overwrite, sync_ms, lossless,
                                        buffer_bytes, include, exclude, schedule, step, max_overhead)
        if self.path is not None:
            _open.append(self)

    def close(self) -> None:
        """Ends the recording and finishes the file.  Raises Error if a write failed; the ledger counts what was lost.
        A second call does nothing."""
        if self in _open:
            _open.remove(self)
        self._session.close()

    def lost(self) -> int:
        """Returns the number of events lost so far, for all reasons."""
        return self._session.lost()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()


session = Session


def open_path() -> Optional[str]:
    """Returns the path of the session with a path that was created last, if one is open."""
    return _open[-1].path if _open else None
