"""HTML for Jupyter."""
import html
from typing import Any, Iterable, List, Sequence

LINES_MAX = 12


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def frame(page: str) -> str:
    """Returns a whole page as a frame, so that its styles and scripts do not meet the notebook's."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 80vh; border: 0"></iframe>'


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f}"


def _lines(title: str, lines: List[Any]) -> str:
    if not lines:
        return ""
    longest = sorted(lines, key=lambda line: -line.total_ns)
    rows = [(line.name, line.count, _ms(line.total_ns), _ms(line.self_ns), _ms(line.median_ns), _ms(line.max_ns))
            for line in longest[:LINES_MAX]]
    more = f"<p>and {len(lines) - LINES_MAX} more</p>" if len(lines) > LINES_MAX else ""
    return f"<h4>{title}</h4>" + table((title, "count", "total ms", "self ms", "median ms", "max ms"), rows) + more


def summary(summed: Any) -> str:
    """Returns a summary: its totals, and the operations and kernels that took longest."""
    totals = (f"{summed.host_events} host events and {summed.device_events} device events in "
              f"{_ms(summed.last_ns - summed.first_ns)} ms")
    return f"<p>{totals}</p>" + _lines("operation", summed.ops) + _lines("kernel", summed.kernels)


def trace(opened: Any) -> str:
    """Returns a trace: its description and its summary."""
    info = opened.info
    lost = sum(entry.lost_total for entry in opened.ledger())
    facts = f"{opened.path}: {info.program} on {info.hostname}, {info.state}, {lost} events lost"
    return f"<p>{html.escape(facts)}</p>" + summary(opened.summary())
