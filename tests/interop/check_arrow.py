#!/usr/bin/env python3
"""A trace as an Arrow stream in pyarrow, polars, DuckDB and pandas, against the Parquet export; and what docs/python.md shows."""
import io
import contextlib
import os
import re
import sys
import unittest

import interop
import viewers

viewers.in_environment("polars", "duckdb", "pyarrow", "pandas")

sys.path.insert(0, str(interop.BUILD / "python"))
import duckdb
import epprof
import pandas
import polars
import pyarrow
import pyarrow.parquet


class Arrow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = epprof.open(viewers.digits())
        cls.expected = pyarrow.parquet.read_table(viewers.convert(viewers.digits(), "parquet"))

    @classmethod
    def tearDownClass(cls):
        cls.trace.close()

    def test_pyarrow(self):
        table = pyarrow.table(self.trace)
        table.validate(full=True)
        self.assertEqual(table.column_names, self.expected.column_names)
        self.assertGreater(table.num_rows, 4400)
        self.assertEqual(table.to_pylist(), self.expected.to_pylist())

    def test_polars(self):
        self.assertEqual(polars.DataFrame(self.trace).to_dicts(), self.expected.to_pylist())

    def test_duckdb(self):
        reader = pyarrow.RecordBatchReader.from_stream(self.trace)
        found = duckdb.sql("SELECT name, count(*), sum(duration_ns) FROM reader WHERE device IS NOT NULL GROUP BY name ORDER BY name")
        expected = self.expected
        wanted = duckdb.sql("SELECT name, count(*), sum(duration_ns) FROM expected WHERE device IS NOT NULL GROUP BY name ORDER BY name")
        self.assertEqual(found.fetchall(), wanted.fetchall())
        self.assertIn("gemm", [row[0] for row in wanted.fetchall()])

    def test_pandas(self):
        frame = pandas.DataFrame(pyarrow.table(self.trace).to_pandas())
        self.assertEqual(len(frame), self.expected.num_rows)
        self.assertEqual(int(frame["duration_ns"].sum()), sum(self.expected["duration_ns"].to_pylist()))

    def test_a_stream_that_is_left_early(self):
        reader = pyarrow.RecordBatchReader.from_stream(self.trace)
        batch = reader.read_next_batch()
        reader.close()
        self.assertEqual(batch.slice(0, 5).to_pylist(), self.expected.slice(0, 5).to_pylist())

    def test_the_page(self):
        page = (interop.ROOT / "docs/python.md").read_text(encoding="utf-8")
        program = re.search(r"<!-- interop: check_arrow.py -->\n```python\n(.*?)```", page, re.DOTALL).group(1)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(program.replace("run.epp", os.fspath(viewers.digits())), {})  # pylint: disable=exec-used
        rows = self.expected.num_rows
        self.assertTrue(output.getvalue().startswith(f"{rows} {rows} "), output.getvalue())


if __name__ == "__main__":
    interop.main()
