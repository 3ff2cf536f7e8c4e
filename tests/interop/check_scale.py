#!/usr/bin/env python3
"""docs/scale.md in three engines: a run of 200 simulated ranks as Parquet files, the page's six questions, equal answers."""
import ctypes
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import unittest

import interop
import viewers

viewers.in_environment("chdb", "duckdb", "pyspark")

import duckdb
from chdb import session
from pyspark.sql import SparkSession

RANKS, STEPS, OPS = 200, 12, 5
PAGE = "docs/scale.md"
QUESTIONS = ("time by op", "slowest rank", "percentiles", "time range", "stragglers", "loss")


def samples():
    """The page's SQL by what stands above it: "question loss", "duckdb percentiles"."""
    found = re.findall(r"^<!-- interop: check_scale.py ([^\n]+) -->\n```\w+\n(.*?)^```$",
                       (interop.ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return {title: " ".join(text.split()) if "make" not in title else text for title, text in found}


def statements(text):
    return [statement for statement in text.split(";") if statement.strip()]


class DuckDB:
    name = "duckdb"

    def __init__(self):
        self.connection = duckdb.connect()

    def ask(self, sql):
        return self.connection.execute(sql).fetchall()


class ClickHouse:
    name = "clickhouse"

    def __init__(self):
        self.session = session.Session()
        self.session.query("CREATE DATABASE IF NOT EXISTS page ENGINE = Memory")
        self.session.query("USE page")

    def ask(self, sql):
        answer = self.session.query(sql, "JSONCompact")
        text = answer.bytes().decode() if answer else ""  # of what makes a view there is none
        return [tuple(row) for row in json.loads(text)["data"]] if text.strip() else []


class Spark:
    name = "spark"

    def __init__(self):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self.session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                        .config("spark.ui.showConsoleProgress", "false")
                        .config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g")
                        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
                        .config("spark.log.level", "ERROR").config("spark.driver.bindAddress", "127.0.0.1")
                        .config("spark.driver.host", "127.0.0.1").getOrCreate())

    def ask(self, sql):
        return [tuple(row) for row in self.session.sql(sql).collect()]


def plain(rows):
    """Whole numbers are integers, whatever an engine says them in."""
    def value(item):
        if isinstance(item, str) and re.fullmatch(r"-?\d+", item):
            return int(item)
        number = item if isinstance(item, (int, float)) else None
        if number is None:
            return item
        return int(number) if float(number).is_integer() else round(float(number), 3)
    return [tuple(value(item) for item in row) for row in rows]


class Scale(unittest.TestCase):
    answers = {}

    @classmethod
    def setUpClass(cls):
        cls.sql = samples()
        folder = interop.scratch() / "job"
        folder.mkdir()
        for library in ("libepprof.so", "libepprof-trace.so"):
            ctypes.CDLL(str(interop.BUILD / library), mode=ctypes.RTLD_GLOBAL)
        make = ctypes.CDLL(str(interop.BUILD / "tests" / "plugins" / "ranks.so")).make_ranks
        make.restype = ctypes.c_char_p
        make.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint]
        wrong = make(str(folder).encode(), RANKS, STEPS)
        assert not wrong, wrong
        # As the page has it, with the traces in order of their ranks.
        command = cls.sql["make"].replace("rank-*.epp", " ".join(f"{rank}.epp" for rank in range(RANKS)))
        subprocess.run(command.replace("epprof ", f"'{interop.BUILD}/epprof' ", 1), shell=True, cwd=folder, check=True,
                       stderr=subprocess.DEVNULL)
        os.chdir(folder)

    def ask_all(self, engine):
        for statement in statements(self.sql[f"{engine.name} views"]):
            engine.ask(statement)
        return {question: plain(engine.ask(self.sql.get(f"question {question}") or self.sql[f"{engine.name} {question}"]))
                for question in QUESTIONS}

    def check(self, make_engine):
        began = time.monotonic()
        answers = self.ask_all(make_engine())
        print(f"{make_engine.name}: {time.monotonic() - began:.1f} s")
        ops = dict((row[0], row[1]) for row in answers["time by op"])
        self.assertEqual(ops, {"matmul": 2 * RANKS * STEPS, "softmax": RANKS * STEPS, "relu": RANKS * STEPS,
                               "allreduce": RANKS * STEPS})
        self.assertEqual(answers["slowest rank"][0][:2], (137, "node17"))
        self.assertEqual([row[:2] for row in answers["stragglers"]], [(5, 42)])
        self.assertEqual([row[1:] for row in answers["loss"]], [(17, "no buffer", 11), (150, "too deep", 3)])
        self.assertEqual([row[0] for row in answers["loss"]], ["2026-11-22"] * 2)
        self.assertEqual(len(answers["percentiles"]), 4)
        for name, half, most in answers["percentiles"]:
            self.assertTrue(name and 20000 <= half < most < math.inf)
        self.assertEqual(len(answers["time range"]), RANKS // 8)
        self.assertTrue(all(0 < row[2] <= 8 <= row[1] for row in answers["time range"]))
        for other, theirs in self.answers.items():
            for question in QUESTIONS:
                self.assertEqual(answers[question], theirs[question], f"{question}: {make_engine.name} and {other}")
        self.answers[make_engine.name] = answers

    def test_duckdb(self):
        self.check(DuckDB)

    def test_clickhouse(self):
        self.check(ClickHouse)

    @unittest.skipUnless(shutil.which("java"), "no java here, which Spark runs in (./setup --interop)")
    def test_spark(self):
        self.check(Spark)

    def test_files(self):
        """A file a machine, since eight ranks are fewer than 64."""
        parts = list((interop.scratch() / "job" / "runs").glob("run=*/host=*/*.parquet"))
        self.assertEqual(len(parts), RANKS // 8)


interop.main()
