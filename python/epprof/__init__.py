"""Records events of a Python program into a .epp trace, and reads traces.

    import epprof

    with epprof.session("run.epp"):
        with epprof.event("tokenize", batch=8):
            ...

    trace = epprof.open("run.epp")
    print(trace.summary())

The names are those of the C API, whose headers are the reference.  Functions that record cost a fraction of a
microsecond; while nothing records they do nothing.  Errors of the library are raised as `epprof.Error`.

Threads: every function may be called from any thread.  An event of `event` begins and ends on one thread; code with
`await`, where several tasks share a thread, uses `async_event`.
"""
try:
    from . import _record
except ImportError as error:
    raise ImportError("epprof: this Python cannot load epprof._record, which needs CPython with the GIL; "
                      f"the command `epprof` needs no such Python: {error}") from error
from ._context import context
from ._frameworks import attach, bridge
from ._reader import (Event, Finding, LedgerEntry, Report, Rows, Summary, SummaryLine, Trace, TraceInfo, Track, open,
                      snapshot)
from ._record import (async_begin, async_end, async_event, context_attach, context_begin, context_set, counter_record,
                      event, event_begin, event_end, flow_record, instant_record, is_recording)
from ._session import Category, Policy, Session, session
from ._traced import trace
from .errors import Code, Error

__all__ = [
    "Category", "Code", "Error", "Event", "Finding", "LedgerEntry", "Policy", "Report", "Rows", "Session", "Summary",
    "SummaryLine", "Trace", "TraceInfo", "Track", "async_begin", "async_end", "async_event", "attach", "bridge",
    "context", "context_attach", "context_begin", "context_set", "counter_record", "event", "event_begin", "event_end",
    "flow_record", "instant_record", "is_recording", "open", "session", "snapshot", "trace",
]
