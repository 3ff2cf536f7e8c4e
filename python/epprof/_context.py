"""The requests that events belong to."""
import sys
from types import TracebackType
from typing import Any, Optional, Tuple, Type

from . import _record
from ._session import Category


class context:  # pylint: disable=invalid-name
    """Records an event that belongs to the request of a W3C traceparent, as all events inside it do.

        with epprof.context(headers["traceparent"]):
            session.run(...)

    Without a traceparent it is that of OpenTelemetry's current span, if the program uses opentelemetry and a span is
    current; otherwise only the event is recorded.  A traceparent that does not follow the grammar raises `epprof.Error`.
    The event begins and ends on one thread, and other tasks of this thread must not run in between.
    """

    def __init__(self, traceparent: Optional[str] = None, tracestate: Optional[str] = None, name: str = "request",
                 **args: Any) -> None:
        self._parent, self._state = (traceparent, tracestate) if traceparent is not None else _current_span()
        self._event = _record.event(name, int(Category.SESSION), **args)

    def __enter__(self) -> _record.Event:
        event = self._event.__enter__()
        try:
            # A filter may leave the event out; the request then has none.
            if self._parent is not None and (event.id or not _record.is_recording()):
                _record.context_set(self._parent, self._state)
        except BaseException:
            event.__exit__(None, None, None)
            raise
        return event

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType], /) -> None:
        self._event.__exit__(kind, error, traceback)


def _current_span() -> Tuple[Optional[str], Optional[str]]:
    # A program that has a current span has imported the package.
    opentelemetry = sys.modules.get("opentelemetry.trace")
    if opentelemetry is None or not _record.is_recording():
        return None, None
    span = opentelemetry.get_current_span().get_span_context()
    if not span.is_valid:
        return None, None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}", span.trace_state.to_header() or None
