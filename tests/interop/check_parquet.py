#!/usr/bin/env python3
"""Tables in their readers: Parquet in DuckDB and pyarrow, CSV and NDJSON in Python's csv and json.  Row by row what the SQLite
export of the same trace has, in sqlite3; and statistics that let a reader of Parquet skip what it was not asked for."""
import csv
import json
import re
import sqlite3
import unittest

import interop
import viewers

viewers.in_environment("duckdb", "pyarrow", "numpy")

import duckdb
import pyarrow.parquet

GROUP_ROWS = 1 << 20
LONG_ROWS = 2 * GROUP_ROWS + 5000
ROWS_OF_SQLITE = """
select kinds.text, names.text, categories.text, start_ns, duration_ns, source, pid, group_name, thread_id, track, tracks.name,
       device, stream, lane, depth, id, parent, run, placements.text, start_error_ns, end_error_ns, flags, event
from events join names using(name) join tracks using(track) join kinds on kinds.kind = events.kind
     join categories on categories.category = events.category join placements on placements.placement = events.placement
order by event"""


def numbered_keys(pairs):
    """A key that stands twice has a number behind it."""
    seen = {}
    for key, value in pairs:
        seen[key] = seen.get(key, 0) + 1
        yield (f"{key}#{seen[key]}" if seen[key] > 1 else key), value


def plain(value):
    """As JSON has it: 1.0 is 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def rows_of_sqlite(path):
    database = sqlite3.connect(path)
    words = database.execute("select flag, text from flag_names order by flag").fetchall()
    args = {}
    for event, key, value in database.execute("select event, key, value from args order by event, number"):
        args.setdefault(event, []).append((key, value))
    for *columns, flags, event in database.execute(ROWS_OF_SQLITE):
        yield (*columns, " ".join(text for flag, text in words if flags & flag),
               {key: plain(value) for key, value in numbered_keys(args.get(event, []))})


def with_args(row):
    """Integers that a double cannot hold are texts in JSON."""
    args = json.loads(row[-1]) if row[-1] else {}
    return (*row[:-1], {key: plain(value) for key, value in args.items()})


COLUMNS = ("kind name category start_ns duration_ns source pid group tid track track_name device stream lane depth id parent run"
           " placement start_error_ns end_error_ns flags").split()
TEXTS = {"kind", "name", "category", "group", "track_name", "placement", "flags"}


def row_of(cells):
    """Of a column's name and what stands there; None where it does not apply."""
    values = {name: cells.get(name) if name in TEXTS or cells.get(name) in (None, "") else int(cells[name]) for name in COLUMNS}
    return (*(None if value == "" and name not in TEXTS else value for name, value in values.items()),
            {key: plain(value) for key, value in (cells.get("args") or {}).items()})


def rows_of_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, strict=True):
            if row["kind"] not in ("ledger", "trace"):
                yield row_of({**row, "args": json.loads(row["args"] or "null")})


def rows_of_ndjson(path):
    with open(path, encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["kind"] not in ("ledger", "trace"):
                yield row_of({**row, "flags": " ".join(row.get("flags", []))})


def printable(row):
    """As CSV has texts: control characters are replaced, but for those that end lines and columns; a text that a spreadsheet
    would take for a formula has an apostrophe before it."""
    return tuple(re.sub(r"\A(?=[=+\-@\t\r])", "'", re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", "\ufffd", cell))
                 if isinstance(cell, str) else cell for cell in row)


HOSTILE_TEXTS = ["a'b", 'a"b', "", " ", "\u20ac\U0001F600", "a\nb\tc", "=1+1", "+1", "-1", "@a", "\t=1",
                 "a=1", "x" * 3000, "\\", "null"]
HOSTILE_ROUNDS = 40


def hostile_trace():
    """Names and args that are not easy to hold."""
    events = [{"ph": "X", "name": text, "cat": "Node", "pid": 1, "tid": 1 + i % 3, "ts": i * 10 + 0.125, "dur": i,
               "args": {text or "key": text, "n": i, "big": (1 << 53) + i, "half": i / 2, "none": None, "list": [1, text]}}
              for i, text in enumerate(HOSTILE_TEXTS * HOSTILE_ROUNDS)]
    events.append({"ph": "C", "name": "counter", "pid": 1, "tid": 1, "ts": 1, "args": {"value": -5}})
    events.append({"ph": "i", "name": "instant", "pid": 2, "tid": 1, "ts": 2, "s": "t"})
    return viewers.imported("hostile", json.dumps({"traceEvents": events}))


def long_trace():
    """LONG_ROWS rows, one a microsecond; the import itself is another one, at the beginning."""
    line = '{{"ph":"X","name":"op {}","cat":"Node","pid":1,"tid":{},"ts":{},"dur":{}}}'
    lines = (line.format(i % 300, i % 4, i, i % 3) for i in range(LONG_ROWS - 1))
    return viewers.imported("long", "[" + ",\n".join(lines) + "]")


class Texts(unittest.TestCase):
    def compare(self, trace):
        expected = list(rows_of_sqlite(viewers.convert(trace, "sqlite")))
        self.assertGreater(len(expected), 0)
        self.assertEqual(list(rows_of_ndjson(viewers.convert(trace, "ndjson"))), expected)
        self.assertEqual(list(rows_of_csv(viewers.convert(trace, "csv"))), [printable(row) for row in expected])

    def test_a_recording(self):
        self.compare(viewers.digits())

    def test_texts_that_are_hard_to_hold(self):
        self.compare(hostile_trace())

    def test_integers_that_a_double_cannot_hold_are_strings(self):
        with open(viewers.convert(hostile_trace(), "ndjson"), encoding="utf-8") as file:
            big = [row["args"]["big"] for row in map(json.loads, file) if "big" in row.get("args", {})]
        self.assertEqual(sorted(map(str, big)), sorted(str((1 << 53) + i) for i in range(len(HOSTILE_TEXTS) * HOSTILE_ROUNDS)))
        self.assertEqual([value for value in big if not isinstance(value, str)], [1 << 53])


class Parquet(unittest.TestCase):
    def compare(self, trace):
        path = viewers.convert(trace, "parquet")
        expected = list(rows_of_sqlite(viewers.convert(trace, "sqlite")))
        self.assertGreater(len(expected), 0)
        of_duckdb = [with_args(row) for row in duckdb.execute(f"select * from '{path}'").fetchall()]
        self.assertEqual(of_duckdb, expected)
        table = pyarrow.parquet.read_table(path)
        of_pyarrow = [with_args(row) for row in zip(*(column.to_pylist() for column in table.columns))]
        self.assertEqual(of_pyarrow, expected)
        return path

    def test_a_recording(self):
        path = self.compare(viewers.digits())
        launches = duckdb.execute(f"select count(*) from '{path}' kernel join '{path}' host on kernel.parent = host.id"
                              " and kernel.source = host.source where kernel.stream is not null").fetchone()
        self.assertEqual(launches[0], 4400)

    def test_texts_that_are_hard_to_hold(self):
        self.compare(hostile_trace())

    def test_the_account(self):
        path = viewers.convert(viewers.digits(), "parquet")
        pairs = dict(duckdb.execute(f"select decode(key), decode(value) from parquet_kv_metadata('{path}')").fetchall())
        self.assertEqual(json.loads(pairs["epprof.facts"])["correlated"], 4400)
        self.assertTrue(all(account["balanced"] for account in json.loads(pairs["epprof.ledger"])))
        metadata = pyarrow.parquet.read_metadata(path).metadata
        self.assertEqual(metadata[b"epprof.ledger"].decode(), pairs["epprof.ledger"])

    def test_the_page_s_questions_have_answers(self):
        page = (interop.ROOT / "docs/formats.md").read_text(encoding="utf-8")
        path = viewers.convert(viewers.digits(), "parquet")
        block = re.search(r"<!-- interop: check_parquet.py -->\n+```sql\n(.*?)```", page, re.DOTALL).group(1)
        names, ledger = (duckdb.execute(question.replace("run.parquet", str(path))).fetchall()
                         for question in block.strip().split(";")[:-1])
        self.assertIn("gemm", [row[0] for row in names])
        self.assertEqual(len(ledger), 1)

    def test_row_groups_that_were_not_asked_for_are_skipped(self):
        path = viewers.convert(long_trace(), "parquet")
        metadata = pyarrow.parquet.read_metadata(path)
        self.assertEqual([metadata.row_group(i).num_rows for i in range(3)], [GROUP_ROWS, GROUP_ROWS, 5000])
        columns = {metadata.schema.column(i).name: i for i in range(metadata.num_columns)}
        for group in range(3):
            starts = metadata.row_group(group).column(columns["start_ns"]).statistics
            first = group * GROUP_ROWS
            last = first + metadata.row_group(group).num_rows - 1
            self.assertEqual((starts.min, starts.max), (max(first - 1, 0) * 1000, (last - 1) * 1000))
            self.assertEqual(metadata.row_group(group).sorting_columns[0].column_index, columns["start_ns"])
        names = metadata.row_group(1).column(columns["name"]).statistics
        self.assertEqual((names.min, names.max, names.null_count), ("op 0", "op 99", 0))

        whole = duckdb.execute(f"select count(*), sum(duration_ns) from '{path}'").fetchone()
        self.assertEqual(whole, (LONG_ROWS, sum(i % 3 for i in range(LONG_ROWS - 1)) * 1000))
        part = f"select count(*) from '{path}' where start_ns >= {(2 * GROUP_ROWS - 1) * 1000}"
        self.assertEqual(duckdb.execute(part).fetchone(), (5000,))
        plan = duckdb.execute(f"explain (analyze, format json) {part}").fetchone()[1]
        self.assertEqual(set(re.findall(r'"row_groups_scanned": (\d+)', plan)), {"1"})


if __name__ == "__main__":
    interop.main()
