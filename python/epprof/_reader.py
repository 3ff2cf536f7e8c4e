"""Traces: their description, events, summary, ledger, SQL, and exports."""
import builtins
import os
import tempfile
from types import TracebackType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Type, Union

from . import _html, _record

_Path = Union[str, "os.PathLike[str]"]
_ALL_NS = 2**64 - 1


class TraceInfo(NamedTuple):
    """The description of a trace; `epp_trace_info` of epprof/trace_reader.h."""

    path: Optional[str]
    label: str
    program: str
    hostname: str
    file_id: str
    state: str  # "finished", "recording" or "cut off"
    pid: int
    runs_count: int
    clock: str
    ticks_per_second: int
    epoch_unix_ns: int  # the unix time of time 0
    file_bytes: int
    records_count: int
    open_count: int  # events that were open when the trace was read or cut off
    recovered_records_count: int
    damage_count: int
    is_truncated: bool
    missing_bytes: int


class Track(NamedTuple):
    """A row of the timeline; `epp_trace_track`."""

    track: int
    kind: str  # "thread", "device", "custom" or "calls"
    name: str
    group: str  # the process or the device
    source: int
    pid: int
    thread_id: int
    device: int  # -1: none
    stream: int  # of a device
    plugin: Optional[str]


class Event(NamedTuple):
    """An event of the timeline; `epp_event` of epprof/timeline.h."""

    kind: str  # "slice", "instant", "counter", "flow" or "async"
    name: str
    category: str
    start_ns: int  # since epoch_unix_ns
    duration_ns: int
    track: int  # a key of Trace.tracks()
    id: int
    parent: int  # 0: none
    depth: int
    lane: int
    run: int
    placement: str
    start_error_ns: int
    end_error_ns: int
    flags: int  # epp_event_flags
    args: Dict[str, Any]
    weight: int  # how many events of the program it stands for


class LedgerEntry(NamedTuple):
    """The account of a thread, a session or a plugin: emitted = written + lost_total + open."""

    producer: str
    track: int
    is_plugin: bool
    emitted: int
    written: int
    open: int
    lost_total: int
    lost: Dict[str, int]  # by reason, those that are not 0
    errors: int
    balanced: bool
    source: int
    note: str


class Finding(NamedTuple):
    """A finding of validate()."""

    severity: str  # "note", "warning" or "error"
    text: str


class SummaryLine(NamedTuple):
    """A line of a summary; `epp_summary_line` of epprof/summary.h."""

    name: str
    group: Optional[str]
    count: int
    total_ns: int
    self_ns: int
    busy_ns: int
    median_ns: int
    p99_ns: int
    max_ns: int
    device_count: int
    device_ns: int
    op_type: Optional[str]
    provider: Optional[str]
    work: Optional[str]


class Summary(NamedTuple):
    """The events of a trace, added up.  Lines are in the order of their first event."""

    first_ns: int
    last_ns: int
    host_events: int
    device_events: int
    instants: int
    counters: int
    unended: int
    ops: List[SummaryLine]
    kernels: List[SummaryLine]
    streams: List[SummaryLine]
    threads: List[SummaryLine]
    phases: List[SummaryLine]
    op_types: List[SummaryLine]

    def _repr_html_(self) -> str:
        return _html.summary(self)


class Rows(NamedTuple):
    """The result of a query."""

    columns: Tuple[str, ...]
    rows: List[Tuple[Any, ...]]

    def _repr_html_(self) -> str:
        return _html.table(self.columns, self.rows)


class Report:
    """A report of a trace: a page for the browser.  Jupyter shows it in the notebook."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return _html.frame(self.html)


class Trace:
    """An opened trace; close() or the end of `with` closes it.

    Threads: one at a time for one trace; Python's lock sees to it.  A method holds that lock until it returns.
    """

    def __init__(self, path: _Path) -> None:
        """Opens a trace in any state.  Errors: Code.NOT_FOUND, IO, CORRUPT, INCOMPATIBLE."""
        from . import _trace  # pylint: disable=import-outside-toplevel # a program that records needs no libepprof-trace
        self.path = os.fspath(path)
        self._trace = _trace.open(self.path)

    def close(self) -> None:
        """Closes the trace; iterators of events() stay valid.  A second call does nothing."""
        self._trace.close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"epprof.open({self.path!r})"

    @property
    def info(self) -> TraceInfo:
        """The description of the trace."""
        return TraceInfo._make(self._trace.info())

    def tracks(self) -> Dict[int, Track]:
        """Returns the tracks by their numbers."""
        return {track[0]: Track._make(track) for track in self._trace.tracks()}

    def events(self, from_ns: int = 0, to_ns: int = 0, run: int = 0) -> Iterator[Event]:
        """Iterates over the events in order of start: those that overlap [from_ns, to_ns), 0 and 0: all; of one run,
        0: of all."""
        return map(Event._make, self._trace.events(from_ns, to_ns, run))

    def summary(self) -> Summary:
        """Reads the events and adds them up."""
        first, *lines = (part if not isinstance(part, list) else [SummaryLine._make(line) for line in part]
                         for part in self._trace.summary())
        return Summary(first, *lines)

    def ledger(self) -> List[LedgerEntry]:
        """Returns the accounts.  The first call reads the whole trace."""
        return [LedgerEntry._make(entry) for entry in self._trace.ledger()]

    def validate(self) -> List[Finding]:
        """Checks the whole trace; a valid one has no findings but notes."""
        return [Finding._make(finding) for finding in self._trace.validate()]

    def sql(self, statement: str) -> Rows:
        """Runs one statement of SQLite's language on the tables of docs/formats.md; reads only."""
        return Rows(*self._trace.sql(statement))

    def export(self, format: str, path: _Path, overwrite: bool = False) -> List[str]:  # pylint: disable=redefined-builtin
        """Writes the trace in a format of `epprof convert -t`.  Returns what the format could not hold, as texts."""
        return self._trace.export(format, path, overwrite)

    def report(self, path: Optional[_Path] = None) -> Report:
        """Makes the report, and writes it to `path` if that is given; an existing file is replaced."""
        with tempfile.TemporaryDirectory(prefix="epprof-") as folder:
            target = path if path is not None else os.path.join(folder, "report.html")
            self.export("html", target, overwrite=True)
            with builtins.open(target, encoding="utf-8") as file:
                return Report(file.read())

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """Arrow's interface: `pyarrow.table(trace)`, `polars.DataFrame(trace)` and DuckDB read the events without a copy, one row
        each, with the columns of the Parquet export.  The requested schema is not used, as Arrow permits."""
        return self._trace.arrow_stream()

    def _repr_html_(self) -> str:
        return _html.trace(self)


open = Trace  # pylint: disable=redefined-builtin


def snapshot(path: _Path, last: Optional[float] = None, overwrite: bool = False) -> None:
    """Writes the last `last` seconds of the session that records now as a finished trace, while recording continues.
    None: all that the session holds.  Errors: Code.INVALID_ARGUMENT (nothing records), EXISTS, IO."""
    from . import _trace  # pylint: disable=import-outside-toplevel
    last_ns = _ALL_NS if last is None else int(last * 1e9)
    _trace.snapshot(_record.current_session(), path, last_ns, overwrite)
