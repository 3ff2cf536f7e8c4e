#!/usr/bin/env python3
"""The report in a real browser: what it shows is what the trace holds, and hands and keys do what they should."""
import csv
import contextlib
import json
import os
import signal
import subprocess
import sys
import unittest

import browser
import interop
import viewers

if not browser.find():
    print("SKIP: no chromium here (./setup --interop)", flush=True)
    sys.exit(1 if "CI" in os.environ else 77)

FIND = "((name, at = 0) => { const { names, events } = epprof.model; const wanted = names.indexOf(name);" \
       " for (let i = 0; i < events.count; i++) if (events.name[i] === wanted && at-- === 0) return i; return -1; })"
HOSTILE = "</script><img src=x onerror=\"window.broken = 1\">&amp;<b>bold"


def report(trace, *options):
    path = interop.scratch() / f"{trace.stem}{''.join(options)}.html"
    subprocess.run([viewers.EPPROF, "report", "--force", *options, "-o", path, trace], check=True, stderr=subprocess.DEVNULL)
    return path


def rows_of(trace):
    csv.field_size_limit(1 << 30)
    with open(viewers.convert(trace, "csv"), newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["kind"] not in ("ledger", "trace")]


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chromium = browser.Browser()
        cls.trace = viewers.digits()
        cls.page_path = report(cls.trace)
        cls.rows = rows_of(cls.trace)

    @classmethod
    def tearDownClass(cls):
        cls.chromium.__exit__()

    def open(self, path=None, **how):
        page = self.chromium.open(path or self.page_path, **how)
        page.wait("document.documentElement.dataset.ready || document.documentElement.dataset.failed")
        self.assertIsNone(page.value("document.documentElement.dataset.failed"))
        page.painted()
        return page

    def is_clean(self, page):
        """It threw nothing, complained of nothing, and asked the network for nothing but itself."""
        self.assertEqual(page.happened("Runtime.exceptionThrown"), [])
        self.assertEqual([entry["entry"]["text"] for entry in page.happened("Log.entryAdded")], [])
        asked = [request["request"]["url"] for request in page.happened("Network.requestWillBeSent")]
        self.assertEqual([url for url in asked if not url.startswith("file:")], [])
        self.assertLessEqual(len(asked), 1)

    def box(self, page, event):
        """Where the middle of an event is on the page."""
        return page.value(f"(() => {{ const box = epprof.painter.boxOf({event}), around = epprof.lanes.getBoundingClientRect();"
                          " return [around.x + box.x + box.width / 2, around.y + box.y + box.height / 2]; })()")

    def test_every_event_is_there(self):
        page = self.open()
        events = page.value("(() => { const { events, names } = epprof.model, list = [];"
                            " for (let i = 0; i < events.count; i++) list.push([names[events.name[i]], events.start[i] -"
                            " epprof.model.zero, events.end[i] - events.start[i], events.depth[i]]); return list; })()")
        shown = [row for row in self.rows if row["kind"] != "flow"]
        self.assertEqual(events, [[row["name"], int(row["start_ns"]), int(row["duration_ns"]), int(row["depth"])]
                                  for row in shown])
        args = page.value("Array.from({ length: epprof.model.events.count }, (_, i) => epprof.model.events.args[i] ?"
                          " epprof.model.argsOf(i) : null)")
        self.assertEqual([arg for arg in args if arg],
                         [json.loads(row["args"]) for row in shown if row["args"] and row["kind"] != "counter"])
        self.is_clean(page)

    def test_causes_are_those_of_the_trace(self):
        page = self.open()
        causes = page.value("Array.from(epprof.model.events.cause)")
        shown = [row for row in self.rows if row["kind"] != "flow"]
        place = {row["id"]: number for number, row in enumerate(shown)}
        self.assertEqual(causes, [place[row["parent"]] if row["stream"] and row["parent"] else -1 for row in shown])
        around = page.value("Array.from({ length: 400 }, (_, i) => epprof.model.enclosing(i))")
        self.assertEqual(around, [place[row["parent"]] if row["tid"] and row["parent"] and row["kind"] == "slice" and
                                  row["depth"] != "0" else around[number] if row["kind"] == "counter" else -1
                                  for number, row in enumerate(shown[:400])])

    def test_it_has_loaded_when_it_is_painted(self):
        """Who waits for the page to load, to print it or for a picture, sees it whole."""
        page = self.open()
        loaded, ready = page.wait("(() => { const at = performance.getEntriesByType('navigation')[0].loadEventStart;"
                                  " return at && [at, Number(document.documentElement.dataset.ready)]; })()")
        self.assertGreaterEqual(loaded + 1, ready)
        self.assertEqual(page.value("document.querySelectorAll('iframe').length"), 0)

    def test_a_new_size_is_painted_at_once(self):
        page = self.open()
        before, after = page.value("(() => { const picture = epprof.bars.toDataURL(); epprof.resize();"
                                   " return [picture, epprof.bars.toDataURL()]; })()")
        self.assertEqual(before, after)

    def test_another_theme_is_painted(self):
        page = self.open()
        before = page.value("epprof.bars.toDataURL()")
        page.value("document.getElementById('theme').click()")
        page.painted()
        self.assertNotEqual(page.value("epprof.bars.toDataURL()"), before)

    def test_a_click_selects_and_tells(self):
        page = self.open()
        event = page.value(f"{FIND}('MatMul', 20)")
        page.value(f"epprof.view.reveal({event}, true), epprof.repaint()")
        page.painted()
        page.click(*self.box(page, event))
        self.assertEqual(page.value("epprof.state.selected"), event)
        # What it caused, and the arrow to where that was waited for.
        self.assertEqual(page.value("epprof.state.links.length"), page.value(f"epprof.model.causedBy({event}).length") + 1)
        self.assertGreaterEqual(page.value("epprof.state.links.length"), 3)
        text = page.value("document.querySelector('.details').innerText")
        for part in ("MatMul", "node_index", "op_name", "What it caused", "gemm", "copy_in", "model_run"):
            self.assertIn(part, text)
        page.press("c")
        self.assertIn(page.value("epprof.model.names[epprof.model.events.name[epprof.state.selected]]"), ("copy_in", "gemm"))
        self.assertIn("\u00b1", page.value("document.querySelector('.details').innerText"))
        page.press("p")
        self.assertEqual(page.value("epprof.state.selected"), event)
        page.press("Escape")
        self.assertEqual(page.value("epprof.state.selected"), -1)
        self.is_clean(page)

    def test_hovering_tells_in_short(self):
        page = self.open()
        event = page.value(f"{FIND}('gemm', 5)")
        page.value(f"epprof.view.reveal({event}, true), epprof.repaint()")
        page.painted()
        page.mouse("mouseMoved", *self.box(page, event))
        tip = page.value("document.getElementById('tip').innerText")
        for part in ("gemm", "caused by", "MatMul", "\u00b1", "fit over clock pairs"):
            self.assertIn(part, tip)

    def test_wheel_and_keys_move(self):
        page = self.open()
        x, y = page.value("(() => { const box = epprof.lanes.getBoundingClientRect();"
                          " return [box.x + box.width * 0.6, box.y + 90]; })()")
        span, at = page.value("[epprof.view.to - epprof.view.from, epprof.view.ns(%f)]" % x)
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
        page.painted()
        self.assertLess(page.value("epprof.view.to - epprof.view.from"), span * 0.7)
        self.assertAlmostEqual(page.value("epprof.view.ns(%f)" % x) / at, 1, places=6)
        begin = page.value("epprof.view.from")
        page.press("d")
        page.painted()
        self.assertGreater(page.value("epprof.view.from"), begin)
        page.mouse("mousePressed", x, y, button="left", clickCount=1)
        page.mouse("mouseMoved", x + 80, y, button="left", buttons=1)
        page.mouse("mouseReleased", x + 80, y, button="left")
        before = page.value("epprof.view.from")
        page.press("0")
        page.painted()
        self.assertLess(page.value("epprof.view.from"), before)
        self.assertAlmostEqual(page.value("epprof.view.to - epprof.view.from"), span)
        page.press("?")
        self.assertTrue(page.value("document.getElementById('help').open"))
        self.is_clean(page)

    def test_search_finds_names_and_args(self):
        page = self.open()
        page.press("/")
        self.assertEqual(page.value("document.activeElement.id"), "search")
        for letter in "SOFTmax":
            page.press(letter)
        expected = sum("softmax" in (row["name"] + row["args"]).lower() for row in self.rows)
        self.assertEqual(page.value("epprof.find.matches.length"), expected)
        self.assertEqual(page.value("document.getElementById('found').textContent"), f"{expected:,}")
        page.press("Enter", "\r")
        first = page.value("epprof.state.selected")
        page.press("Enter", "\r")
        self.assertGreater(page.value("epprof.state.selected"), first)
        self.assertIn("2 of", page.value("document.getElementById('found').textContent"))
        page.press("Escape")
        self.assertEqual(page.value("epprof.find.matches.length"), 0)

    def test_tables_are_those_of_the_summary(self):
        page = self.open()
        done = subprocess.run([viewers.EPPROF, "summary", "--format", "json", self.trace], stdout=subprocess.PIPE, check=True)
        summary = json.loads(done.stdout)
        tables = page.value("epprof.model.facts.tables")
        for kind in ("ops", "kernels", "streams", "threads", "phases"):
            ours = {(line["name"], line.get("group", line.get("category")), line.get("type")): line
                    for line in tables[kind]["lines"]}
            self.assertEqual(len(ours), len(summary[kind]))
            for line in summary[kind]:
                own = ours[line["name"], line.get("device", line.get("process", line.get("category"))), line.get("op_type")]
                self.assertEqual([own["total"], own["self"], own["durations"]["count"], own["durations"]["q"][5]],
                                 [line[key] for key in ("total_ns", "self_ns", "count", "p50_ns")])
                if kind == "streams":
                    self.assertEqual(own["busy"] + sum(own["idle"]), summary["wall_ns"])
        page.value("epprof.panels.open('Kernels')")
        names = "Array.from(document.querySelectorAll('#content tbody .name'), (cell) => cell.textContent)"
        self.assertEqual(page.value(names), [line["name"] for line in summary["kernels"]])
        page.value("document.querySelector('#content th button').click()")
        self.assertEqual(page.value(names), sorted(line["name"] for line in summary["kernels"]))
        page.value("document.querySelector('#content tbody tr').click()")
        self.assertEqual(page.value("epprof.find.matches.length"), 
                         sum(line["count"] for line in summary["kernels"] if line["name"] == "bias"))

    def test_light_and_dark(self):
        paper = "epprof.painter.colours.paper"
        light, dark = self.open(), self.open(dark=True)
        self.assertNotEqual(light.value(paper), dark.value(paper))
        light.press("t")
        light.painted()
        self.assertEqual(light.value(paper), dark.value(paper))
        pixel = "Array.from(epprof.bars.getContext('2d').getImageData(2, 2, 1, 1).data)"
        self.assertLess(max(light.value(pixel)[:3]), 80)

    def test_markup_stays_text(self):
        trace = viewers.imported("hostile", json.dumps([
            {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 10, "name": HOSTILE, "cat": "Node", "args": {HOSTILE: HOSTILE}},
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": HOSTILE}},
            {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": HOSTILE}}]))
        page = self.open(report(trace))
        event = page.value(f"{FIND}({json.dumps(HOSTILE)})")
        self.assertGreaterEqual(event, 0)
        page.value(f"epprof.select({event}, true)")
        page.mouse("mouseMoved", *self.box(page, event))
        self.assertIn(HOSTILE, page.value("document.querySelector('.details').textContent"))
        for title in page.value("epprof.panels.pages.map(([title]) => title)"):
            page.value(f"epprof.panels.open({json.dumps(title)})")
            self.assertEqual(page.value("document.querySelectorAll('img, #content b').length"), 0)
        self.assertIsNone(page.value("window.broken"))
        self.is_clean(page)

    def test_a_part_says_so(self):
        page = self.open(report(self.trace, "--events", "1000"))
        self.assertEqual(page.value("epprof.model.events.count <= 1000"), True)
        notice = page.value("document.getElementById('notice').innerText")
        self.assertIn("of 7,103 events", notice)
        self.assertIn("busiest", notice)

    def test_it_is_served(self):
        """By `epprof view`, as is the page that hands a trace to Perfetto's viewer."""
        for options in (["--report"], []):
            with subprocess.Popen([viewers.EPPROF, "view", "--no-open", *options, self.trace], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as server, contextlib.ExitStack() as left:
                left.callback(server.kill)
                page = self.chromium.open(server.stdout.readline().strip())
                if options:
                    page.wait("document.documentElement.dataset.ready")
                    self.assertEqual(page.value("epprof.model.events.count"), 7103)
                else:
                    page.wait("/MB are ready|Waiting for/.test(document.body.innerText)")
                    self.assertEqual(page.value("document.getElementById('open').hidden"), False)
                self.assertEqual(page.happened("Runtime.exceptionThrown"), [])
                server.send_signal(signal.SIGINT)
                self.assertEqual(server.wait(), 0)

    def test_nothing_at_all_opens(self):
        page = self.open(report(self.trace, "--name", "no such name"))
        self.assertEqual(page.value("epprof.model.events.count"), 0)
        self.assertIn(" events were filtered out", page.value("document.getElementById('notice').innerText"))
        for key in "wasd0fpcnr":
            page.press(key)
        for title in page.value("epprof.panels.pages.map(([title]) => title)"):
            page.value(f"epprof.panels.open({json.dumps(title)})")
        self.is_clean(page)

    def test_narrow_and_wide(self):
        for width in (360, 820, 2400):
            page = self.open(width=width, height=700)
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
            self.assertGreater(page.value("epprof.lanes.clientHeight"), 100)


if __name__ == "__main__":
    os.environ.setdefault(interop.INSIDE, "1")
    interop.main()
