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


DRAWN = """(() => {
    const { prototype } = CanvasRenderingContext2D, { fillText } = prototype, texts = [];
    prototype.fillText = function(text, x, y) { texts.push([text, Math.round(y)]); };
    epprof.paintNow();
    prototype.fillText = fillText;
    return texts;
})()"""


def server():
    """64 threads that launch work on two devices of one name with three streams each."""
    events = [{"ph": "M", "pid": 100, "name": "process_name", "args": {"name": "server"}}]
    events += [{"ph": "M", "pid": device, "name": "process_name", "args": {"name": "Accelerator"}} for device in (0, 1)]
    for thread in range(64):
        events.append({"ph": "M", "pid": 100, "tid": 1000 + thread, "name": "thread_name", "args": {"name": f"worker {thread}"}})
        for step in range(20):
            at, number = 500 * step + 3 * thread, 64 * step + thread + 1
            events += [{"ph": "X", "pid": 100, "tid": 1000 + thread, "cat": category, "name": name, "ts": at + begin, "dur": duration,
                        "args": {"correlation": number} if name == "launch" else {}}
                       for category, name, begin, duration in (("user_annotation", "request", 0, 100), ("cpu_op", "MatMul", 5, 60),
                                                               ("cuda_runtime", "launch", 10, 5), ("cpu_op", "Relu", 70, 20))]
            events.append({"ph": "X", "pid": thread % 2, "tid": 7 + thread % 3, "cat": "kernel", "name": "gemm", "ts": at + 30 + thread,
                           "dur": 0.5, "args": {"correlation": number}})
    return viewers.imported("server", json.dumps(events))


def slow_start(name):
    """40 runs of 100 us, of which the first two take 1 ms."""
    events, at = [{"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": name}}], 0
    for run in range(40):
        duration = 1000 if run < 2 else 100
        events.append({"ph": "X", "pid": 1, "tid": 7, "cat": "cpu_op", "name": name, "ts": at, "dur": duration})
        at += duration + 1
    return viewers.imported("slow-start", json.dumps(events))


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

    def test_devices_are_above_64_threads(self):
        page = self.open(report(server()))
        first = page.value("epprof.view.places.slice(0, 10).map(({ group, track }) => group ? [group.name, group.kind] :"
                           " [track.title, track.place])")
        streams = [[f"stream {stream}", "device {}"] for stream in (7, 8, 9)]
        self.assertEqual(first, [["Accelerator", "device 0"], *[[name, where.format(0)] for name, where in streams],
                                 ["Accelerator", "device 1"], *[[name, where.format(1)] for name, where in streams],
                                 ["server", "process 100"], ["worker 0", ""]])
        # They stay there while the threads scroll, and what is drawn is what a click hits.
        before = page.value(DRAWN)
        page.press("PageDown")
        after = page.value(DRAWN)
        for text in ("device 0", "device 1", "stream 7", "stream 9"):
            self.assertIn(text, [name for name, _ in before])
            self.assertEqual([place for place in before if place[0] == text], [place for place in after if place[0] == text])
        self.assertIn("worker 0", [name for name, _ in before])
        self.assertNotIn("worker 0", [name for name, y in after if y > page.value("AXIS + epprof.view.edge")])
        launch = page.value(f"{FIND}('launch', 700)")
        page.value(f"epprof.view.reveal({launch}, true), epprof.repaint()")
        page.painted()
        page.click(*self.box(page, launch))
        self.assertEqual(page.value("epprof.state.selected"), launch)
        page.press("c")
        page.painted()
        kernel = page.value("epprof.state.selected")
        self.assertEqual(page.value(f"epprof.model.names[epprof.model.events.name[{kernel}]]"), "gemm")
        page.press("Escape")
        page.click(*self.box(page, kernel))
        self.assertEqual(page.value("epprof.state.selected"), kernel)
        self.is_clean(page)

    def test_pinned_rows_leave_a_third_of_the_height(self):
        page = self.open(report(server()), height=600)
        self.assertEqual(page.value("epprof.view.edge"), 0)
        top = "AXIS + epprof.view.places[0].group.y - epprof.view.scroll"
        self.assertEqual(page.value(f"epprof.view.places[0].group.kind + ({top})"), "device 030")
        page.press("PageDown")
        self.assertLess(page.value(top), 0)
        page.call("Emulation.setDeviceMetricsOverride", width=1280, height=1200, deviceScaleFactor=1, mobile=False)
        page.wait("epprof.view.edge > 0")

    def test_rows_have_device_and_stream(self):
        page = self.open()
        self.assertEqual(page.value("epprof.view.places.slice(0, 4).map(({ group, track }) => group?.kind ?? track.title + ': ' + track.place)"),
                         ["device 0", "compute 0: device 0, stream 0", "compute 1: device 0, stream 1", "copy engine: device 0, stream 2"])
        event = page.value(f"{FIND}('gemm', 5)")
        page.value(f"epprof.select({event}, true)")
        self.assertRegex(page.value("document.querySelector('.details').innerText"), r"compute \d \(device 0, stream \d\), Sample accelerator")
        narrow = self.open(width=360, height=700)
        self.assertIn("compute 0", [text for text, _ in narrow.value(DRAWN)])

    def row_names(self, page):
        """The names of the rows, from top to bottom."""
        return page.value("epprof.view.places.map(({ group, track }) => group?.kind ?? track.title)")

    def label(self, page, row):
        """Where the label of a row is on the page."""
        return page.value(f"(() => {{ const around = epprof.lanes.getBoundingClientRect(), row = {row};"
                          " return [around.x + 40, around.y + epprof.view.top(row) + 12]; })()")

    def test_rows_fold(self):
        page = self.open(report(server()))
        whole, threads = page.value("epprof.view.total"), "epprof.model.groups[2]"
        page.click(*self.label(page, f"{threads}.tracks[1]"))
        page.painted()
        self.assertEqual(page.value(f"{threads}.tracks.slice(0, 64).map((track) => track.levelsShown)"), [3, 1] + [3] * 62)
        self.assertIn("\u25b8", [text for text, _ in page.value(DRAWN)])
        # A stream has one level: nothing to fold.
        page.click(*self.label(page, "epprof.model.groups[0].tracks[0]"))
        self.assertEqual(page.value("epprof.view.folded.size"), 1)
        page.click(*self.label(page, "epprof.model.groups[1]"))
        self.assertEqual(self.row_names(page)[3:7], ["stream 9", "device 1", "process 100", "worker 0"])
        # What is selected unfolds.
        page.value(f"epprof.select({FIND}('launch', 1), true)")
        self.assertEqual(page.value(f"{threads}.tracks[1].levelsShown"), 3)
        page.press("e")
        self.assertEqual(page.value(f"{threads}.tracks[1].levelsShown"), 1)
        page.press("E", shift=True)
        self.assertEqual(page.value(f"{threads}.tracks.slice(0, 64).map((track) => track.levelsShown)"), [1] * 64)
        self.assertLess(page.value("epprof.view.total"), whole - 64 * 2 * 19)
        page.press("E", shift=True)
        self.assertEqual(page.value(f"{threads}.tracks.slice(0, 64).map((track) => track.levelsShown)"), [3] * 64)
        page.value("epprof.panels.open('Rows')")
        page.value("document.querySelector('[aria-label=\"Fold: worker 3\"]').focus()")
        page.press("Enter", "\r")
        self.assertEqual(page.value(f"{threads}.tracks[3].levelsShown"), 1)
        self.assertEqual(page.value("document.activeElement.ariaLabel"), "Unfold: worker 3")
        self.is_clean(page)

    def test_rows_change_places(self):
        page = self.open(report(server()), height=1000)
        threads = "epprof.model.groups[2]"
        # A drag of the label: worker 0 below worker 1.
        x, y = self.label(page, f"{threads}.tracks[0]")
        bottom = page.value("epprof.lanes.getBoundingClientRect().y") + page.value(f"epprof.view.top({threads}.tracks[2])") + 10
        page.mouse("mousePressed", x, y, button="left", clickCount=1)
        page.mouse("mouseMoved", x, bottom - 30, button="left", buttons=1)
        page.mouse("mouseMoved", x, bottom, button="left", buttons=1)
        self.assertEqual(page.value("epprof.state.drop.before.title"), "worker 2")
        page.mouse("mouseReleased", x, bottom, button="left")
        self.assertEqual(self.row_names(page)[8:12], ["process 100", "worker 1", "worker 0", "worker 2"])
        drawn = dict(page.value(DRAWN))
        self.assertLess(drawn["worker 1"], drawn["worker 0"])
        self.assertLess(drawn["worker 0"], drawn["worker 2"])
        # Keys: the track of the selection; the last has no place below it.
        page.value(f"epprof.select({FIND}('launch', 2), true)")
        page.press("ArrowUp", shift=True)
        page.press("ArrowUp", shift=True)
        self.assertEqual(self.row_names(page)[9:12], ["worker 2", "worker 1", "worker 0"])
        page.press("ArrowUp", shift=True)
        page.press("ArrowDown", shift=True)
        self.assertEqual(self.row_names(page)[9:12], ["worker 1", "worker 2", "worker 0"])
        page.press("j")
        self.assertEqual(page.value("epprof.model.trackOf(epprof.state.selected).title"), "worker 0")
        page.press("k")
        page.press("k")
        self.assertEqual(page.value("epprof.model.trackOf(epprof.state.selected).title"), "worker 1")
        # The tab: devices change places among themselves; unpinned they are below.
        page.value("epprof.panels.open('Rows')")
        page.value("document.querySelector('[aria-label=\"Move down: Accelerator\"]').focus()")
        page.press("Enter", "\r")
        self.assertEqual([self.row_names(page)[at] for at in (0, 4, 8)], ["device 1", "device 0", "process 100"])
        self.assertEqual(page.value("document.activeElement.ariaLabel"), "Move down: Accelerator")
        page.press("Enter", "\r")
        self.assertEqual(self.row_names(page)[4], "device 0")
        page.value("document.querySelector('[aria-label=\"Let it scroll: Accelerator\"]').click()")
        self.assertEqual([self.row_names(page)[at] for at in (0, 4, 8)], ["device 0", "device 1", "process 100"])
        self.assertEqual(page.value("epprof.model.groups.map((group) => Boolean(group.fixed))"), [True, False, False])
        page.value("Array.from(document.querySelectorAll('#content button')).find((one) => one.textContent === 'Original order').click()")
        self.assertEqual(self.row_names(page)[:10], ["device 0", "stream 7", "stream 8", "stream 9", "device 1", "stream 7", "stream 8", "stream 9",
                                                "process 100", "worker 0"])
        self.is_clean(page)

    def reload(self, page):
        loads = lambda: sum(event["name"] == "load" for event in page.happened("Page.lifecycleEvent"))
        before = loads()
        page.call("Page.reload")
        self.chromium.told(lambda: loads() > before, "the page does not load again")
        page.wait("document.documentElement.dataset.ready")
        page.painted()

    def test_rows_survive_a_reload(self):
        page = self.open(report(server()))
        page.value("epprof.rows(() => epprof.view.move(epprof.model.groups[0], 1))")
        page.value("epprof.rows(() => epprof.view.move(epprof.model.groups[2].tracks[0], 1))")
        page.value("epprof.rows(() => epprof.view.fold(epprof.model.groups[2].tracks[2]))")
        page.value("epprof.rows(() => epprof.view.pin(epprof.model.groups[2]))")
        rows, total = self.row_names(page), page.value("epprof.view.total")
        self.assertEqual([rows[at] for at in (0, 4, 5, 6)], ["device 1", "process 100", "worker 1", "worker 0"])
        self.reload(page)
        self.assertEqual([self.row_names(page), page.value("epprof.view.total")], [rows, total])
        self.assertEqual(page.value("[epprof.view.folded.size, epprof.view.pinned.size]"), [1, 3])
        page.value("epprof.rows(() => epprof.view.resetRows())")
        self.reload(page)
        self.assertEqual([self.row_names(page)[at] for at in (0, 4, 9)], ["device 0", "device 1", "worker 0"])
        # What is stored is of no use.
        page.value("localStorage.setItem(Object.keys(localStorage)[0], '{\"order\":7}')")
        self.reload(page)
        self.assertEqual([self.row_names(page)[at] for at in (0, 4, 9)], ["device 0", "device 1", "worker 0"])
        self.assertEqual(page.happened("Runtime.exceptionThrown"), [])

    def test_rows_change_places_without_storage(self):
        page = self.open(report(server()), script="Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } });")
        self.assertEqual(page.value("(() => { try { return String(localStorage); } catch (error) { return error.message; } })()"), "refused")
        page.value("epprof.rows(() => epprof.view.move(epprof.model.groups[0], 1))")
        self.assertEqual([self.row_names(page)[at] for at in (0, 4)], ["device 1", "device 0"])
        self.is_clean(page)

    def test_a_counter_of_a_process_is_one_row(self):
        counter = lambda pid, tid, name, at, value: {"ph": "C", "pid": pid, "tid": tid, "name": name, "ts": at, "args": {"value": value}}
        events = [counter(pid, tid, name, 10 * at + tid, at) for pid in (100, 200) for tid in (1, 2, 3) for name in ("queue depth", "free")
                  for at in range(5)]
        events += [{"ph": "X", "pid": pid, "tid": tid, "cat": "cpu_op", "name": "work", "ts": 1, "dur": 40} for pid in (100, 200) for tid in (1, 2, 3)]
        page = self.open(report(viewers.imported("counters", json.dumps(events))))
        counters = page.value("epprof.model.tracks.filter((track) => track.kind === 'counter').map((track) =>"
                              " [track.group.kind, track.title, Array.from(track.values)])")
        values = [at for at in range(5) for _ in range(3)]
        self.assertEqual(counters, [[f"process {pid}", name, values] for pid in (100, 200) for name in ("queue depth", "free")])
        self.assertEqual(self.row_names(page)[:3], ["process 100", "queue depth", "free"])
        self.assertEqual(page.value("Array.from({ length: epprof.model.events.count }, (_, at) =>"
                                    " epprof.model.trackOf(at).levels[epprof.model.levelOf(at)].list.includes(at)).includes(false)"), False)
        self.is_clean(page)

    def test_the_map_shows_the_busy_share(self):
        events = [{"ph": "X", "pid": 1, "tid": tid, "cat": "cpu_op", "name": "work", "ts": at, "dur": duration}
                  for tid, at, duration in ((1, 0, 1000), (2, 750, 250), (3, 0, 5), (4, 500, 500))]
        page = self.open(report(viewers.imported("busy", json.dumps(events))))
        host, devices = page.value("epprof.shapeOfMap(100).map((shape) => Array.from(shape))")
        self.assertEqual([round(host[x], 2) for x in (10, 40, 60, 90)], [0.2, 0.2, 0.4, 0.6])  # the fifth row is the importer's
        self.assertEqual(set(devices), {0})

    def test_a_label_shows_its_whole_name(self):
        page = self.open()
        page.mouse("mouseMoved", *self.label(page, "epprof.model.groups[0].tracks[2]"))
        for part in ("copy engine", "device 0, stream 2", "Sample accelerator", "events"):
            self.assertIn(part, page.value("document.getElementById('tip').innerText"))

    def test_names_end_in_an_ellipsis(self):
        """In the timeline, and in the pictures, whose script measures a name again after a click."""
        names = ["M" * 60, "CONVOLUTION_WINOGRAD_TRANSFORM" * 2, "i" * 600]
        trace = viewers.imported("wide", json.dumps([{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": name, "ts": 100 * at, "dur": 99}
                                                     for at, name in enumerate(names)]))
        page = self.open(report(trace))
        drawn = page.value(DRAWN.replace("texts.push([text, Math.round(y)])", "texts.push([text, this.measureText(text).width])"))
        for name in names:
            (text, width), = [one for one in drawn if one[0][:8] == name[:8]]
            self.assertTrue(text.endswith("\u2026") and name.startswith(text[:-1]), text)
            room = page.value("epprof.painter.boxOf(0).width") - 12
            self.assertLessEqual(width, room)
            self.assertGreater(width, room - 24)
        measured = "Array.from(document.querySelectorAll('text.n'), (text) => [text.textContent, text.getComputedTextLength()," \
                   " text.parentElement.querySelector('rect').getBoundingClientRect().width])"
        for form in ("svg", "flame"):
            picture = viewers.convert(trace, form)
            page = self.chromium.open(picture.rename(picture.with_name(f"wide-{form}.svg")))
            labels = page.value(measured)
            self.assertEqual(len(labels), 3)
            for text, width, room in labels:
                self.assertTrue(text.endswith("\u2026"), text)
                self.assertLessEqual(width, room - 5)
        click = "document.querySelectorAll('.f')[{}].dispatchEvent(new Event('click'))"
        page.value(click.format(0))
        self.assertEqual([label[0] for label in page.value(measured) if label[0]], [names[1]])
        page.value(click.format(0))
        page.value(click.format(2))
        (text, width, room), = [label for label in page.value(measured) if label[0]]
        self.assertTrue(text.endswith("\u2026") and names[2].startswith(text[:-1]), text)
        self.assertLessEqual(width, room - 5)
        self.assertGreater(width, 1100)

    def test_words_are_explained(self):
        page = self.open()
        self.assertIn("Nothing launched: the host had not started", page.value("document.getElementById('content').innerText"))
        self.assertEqual(page.value("PLACEMENTS.length"), 7)

    def test_advice_leads_to_its_places(self):
        trace = slow_start(HOSTILE)
        found = json.loads(subprocess.run([viewers.EPPROF, "advise", "--json", trace], stdout=subprocess.PIPE, check=True).stdout)["findings"]
        self.assertEqual([finding["rule"] for finding in found], ["warm-up"])
        page = self.open(report(trace))
        self.assertIn("\u201cAdvice\u201d has 1 finding: warm-up.", page.value("document.getElementById('content').innerText"))
        page.value("epprof.panels.open('Advice')")
        text = page.value("document.getElementById('content').textContent")
        for part in (found[0]["title"], found[0]["text"], found[0]["remedy"], "Gain: at most 1.80\u00a0ms \u00b1 ", "Confidence: high.", HOSTILE):
            self.assertIn(part, text)
        self.assertEqual(page.value("document.querySelectorAll('img, #content section b b, #content section p *').length"), 0)
        self.assertIsNone(page.value("window.broken"))
        places = "document.querySelectorAll('.advice li button')"
        self.assertEqual(page.value(f"{places}.length"), 2)
        for number, place in enumerate(found[0]["places"]):
            x, y = page.value(f"(() => {{ const button = {places}[{number}]; button.scrollIntoView(); const box = button.getBoundingClientRect();"
                              " return [box.x + 20, box.y + box.height / 2]; })()")
            page.click(x, y)
            selected = page.value("epprof.state.selected")
            self.assertEqual(page.value(f"[epprof.model.events.start[{selected}] - epprof.model.zero, epprof.model.events.end[{selected}] - epprof.model.zero]"),
                             [place["start_ns"], place["end_ns"]])
            self.assertEqual(page.value("epprof.state.range.map((ns) => ns - epprof.model.zero)"), [place["start_ns"], place["end_ns"]])
            page.wait(f"epprof.view.from < epprof.state.range[0] && epprof.view.to > epprof.state.range[1] &&"
                      " epprof.view.to - epprof.view.from < 3 * (epprof.state.range[1] - epprof.state.range[0])")
            self.assertEqual(page.value("epprof.panels.title"), "Advice")
        self.is_clean(page)
        # A place outside of what the timeline shows is no link.
        page = self.open(report(trace, "--show-from", "3ms", "--show-to", "4ms"))
        page.value("epprof.panels.open('Advice')")
        self.assertEqual(page.value(f"Array.from({places}, (button) => button.disabled)"), [True, True])
        self.assertIn("2 places are outside the part", page.value("document.getElementById('content').innerText"))

    def test_a_gap_leads_to_the_event_behind_it(self):
        events, at = [], 0
        for number in range(1, 101):
            events += [{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "prepare", "ts": at, "dur": 200},
                       {"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "name": "launch", "ts": at + 200, "dur": 5, "args": {"correlation": number}},
                       {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "gemm", "ts": at + 210, "dur": 100, "args": {"correlation": number}}]
            at += 320
        page = self.open(report(viewers.imported("late", json.dumps(events))))
        page.value("epprof.panels.open('Advice')")
        self.assertIn("host-bound", page.value("document.getElementById('content').innerText"))
        button = "Array.from(document.querySelectorAll('.advice section')).find((one) => one.innerText.includes('host-bound')).querySelector('button')"
        page.value(f"{button}.focus()")
        page.press("Enter", "\r")
        selected = page.value("epprof.state.selected")
        self.assertEqual(page.value(f"epprof.model.names[epprof.model.events.name[{selected}]]"), "gemm")
        self.assertEqual(page.value(f"epprof.model.events.start[{selected}] === epprof.state.range[1]"), True)
        self.is_clean(page)

    def test_nothing_found_has_no_advice(self):
        """Nor has a trace with filters: what they leave out would look like time without work."""
        calm = viewers.imported("calm", json.dumps([{"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "work", "ts": 100 * at, "dur": 99}
                                                    for at in range(40)]))
        for page in (self.open(report(calm)), self.open(report(slow_start("run"), "--min-duration", "500us"))):
            self.assertNotIn("Advice", page.value("epprof.panels.pages.map(([title]) => title)"))
            self.assertNotIn("Advice", page.value("document.body.innerText"))
            self.is_clean(page)

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
        for part in ("MatMul", "node_index", "op_name", "Device events it caused", "gemm", "copy_in", "model_run"):
            self.assertIn(part, text)
        page.press("c")
        self.assertIn(page.value("epprof.model.names[epprof.model.events.name[epprof.state.selected]]"), ("copy_in", "gemm"))
        self.assertIn("\u00b1", page.value("document.querySelector('.details').innerText"))
        page.press("p")
        self.assertEqual(page.value("epprof.state.selected"), event)
        page.press("Escape")
        self.assertEqual(page.value("epprof.state.selected"), -1)
        self.is_clean(page)

    def table(self, page, title):
        """The lines of a table of the selection, as texts."""
        return page.value("(() => { const part = Array.from(document.querySelectorAll('.details > div'))"
                          f".find((one) => one.querySelector('h2').textContent.startsWith('{title}'));"
                          " return part && Array.from(part.querySelectorAll('tbody tr'), (line) => Array.from(line.cells,"
                          " (cell) => cell.textContent)); })()")

    def test_a_selection_lists_children_and_device_events(self):
        page = self.open()
        run = page.value(f"{FIND}('model_run', 10)")
        page.value(f"epprof.select({run}, true)")
        shown = [row for row in self.rows if row["kind"] != "flow"]
        nodes = [row for row in shown if row["parent"] == shown[run]["id"]]
        kernels = [row for row in shown if row["stream"] and row["parent"] in [node["id"] for node in nodes]]
        self.assertGreater(len(kernels), len(nodes) > 0)
        children = self.table(page, "Children")
        self.assertEqual([line[0] for line in children], [row["name"] for row in nodes])
        self.assertEqual([line[2] for line in children],
                         page.value(f"{[int(row['duration_ns']) for row in nodes]}.map((ns) => durationText(ns))"))
        texts = f"{[[int(row['start_ns']) - int(shown[run]['start_ns']), int(row['duration_ns'])] for row in kernels]}"
        caused = self.table(page, "Device events it caused")
        self.assertEqual([line[:2] for line in caused],
                         [[row["name"], next(node["name"] for node in nodes if node["id"] == row["parent"])] for row in kernels])
        self.assertEqual([[line[2], line[5]] for line in caused], page.value(f"{texts}.map((pair) => pair.map(durationText))"))
        # As the sample's profiler measured them; a launch may be within the error of the clocks.
        measured = [json.loads(row["args"]) for row in kernels]
        times = f"{[[max(0, args['launch_ns'] - args['queue_ns']), args['queue_ns']] for args in measured]}"
        self.assertEqual([line[3:5] for line in caused], page.value(f"{times}.map((pair) => pair.map(durationText))"))
        self.assertRegex(caused[0][6], r"^(compute \d|copy engine), device 0, stream \d$")
        self.assertRegex(page.value("document.querySelector('.details').innerText"), r"thread\s+worker \d \(thread \d+\), digits \(process \d+\)")
        page.value("document.querySelector('.details .events tbody tr').focus()")
        page.press("Enter", "\r")
        self.assertEqual(page.value("epprof.model.names[epprof.model.events.name[epprof.state.selected]]"), nodes[0]["name"])

    def test_without_a_measured_queue_it_begins_with_the_launch(self):
        page = self.open(report(server()))
        page.value(f"epprof.select({FIND}('request', 3), true)")
        self.assertEqual([line[0] for line in self.table(page, "Children")], ["MatMul", "Relu"])
        (line,) = self.table(page, "Device events it caused")
        self.assertEqual(line[:7], ["gemm", "launch", "33.0\u00a0\u00b5s", "\u2013", "23.0\u00a0\u00b5s", "500\u00a0ns", "stream 7, device 1"])
        page.press("c")
        text = page.value("document.querySelector('.details').innerText")
        for part in ("thread\nworker 3 (thread 1003), server (process 100)", "queue\n23.0", "stream 7 (device 1), Accelerator"):
            self.assertIn(part, text)
        self.assertNotIn("Children", text)

    def test_launch_times_are_those_of_the_trace(self):
        page = self.open()
        shown = [row for row in self.rows if row["kind"] != "flow"]
        self.assertEqual(page.value("Array.from(epprof.model.events.launch)"),
                         [json.loads(row["args"])["launch_ns"] + 1 if row["stream"] else 0 for row in shown])

    def test_hovering_tells_in_short(self):
        page = self.open()
        event = page.value(f"{FIND}('gemm', 5)")
        page.value(f"epprof.view.reveal({event}, true), epprof.repaint()")
        page.painted()
        page.mouse("mouseMoved", *self.box(page, event))
        tip = page.value("document.getElementById('tip').innerText")
        for part in ("gemm", "caused by", "MatMul", "\u00b1", "fit over many comparisons of the two clocks"):
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

    def test_the_range_can_be_chosen(self):
        last = max(int(row["start_ns"]) for row in self.rows)
        begin, end = last // 4, last // 2
        page = self.open(report(self.trace, "--show-from", f"{begin}ns", "--show-to", f"{end}ns"))
        inside = [row for row in self.rows if row["kind"] != "flow" and int(row["start_ns"]) < end and
                  max(int(row["start_ns"]) + int(row["duration_ns"]), int(row["start_ns"]) + 1) > begin]
        self.assertEqual(page.value("Array.from(epprof.model.events.name, (name) => epprof.model.names[name])"), [row["name"] for row in inside])
        self.assertEqual(page.value("[epprof.model.first - epprof.model.zero, epprof.model.last - epprof.model.zero]"), [begin, end])
        self.assertEqual(page.value("epprof.model.facts.events"), 7103)
        self.assertIn("the range that was chosen", page.value("document.getElementById('notice').innerText"))
        # Of an event that is longer than the range, not all children are known.
        text = "document.querySelector('.details').innerText"
        page.value(f"epprof.select({FIND}('worker'))")
        self.assertIn("outside the range", page.value(text))
        self.assertNotIn("Without its children", page.value(text))
        # A strip shows the whole trace, with a frame around the range.
        whole = page.value("epprof.model.facts.whole")
        self.assertEqual([len(whole[key]) <= 512 and max(whole[key]) for key in ("threads", "devices")], [1000, 1000])
        self.assertEqual(whole["from"], min(int(row["start_ns"]) for row in self.rows))
        self.assertGreaterEqual(whole["to"], last)
        self.assertGreaterEqual(page.value("epprof.whole.clientHeight"), 16)
        scale = page.value("epprof.widthOfMap()") / (whole["to"] - whole["from"])
        left, width = page.value("(() => { const { prototype } = CanvasRenderingContext2D, { strokeRect } = prototype; let frame;"
                                 " prototype.strokeRect = (x, y, width) => { frame = [x - epprof.view.gutter, width]; };"
                                 " epprof.drawWhole(); prototype.strokeRect = strokeRect; return frame; })()")
        self.assertAlmostEqual(left, (begin - whole["from"]) * scale, delta=1)
        self.assertAlmostEqual(width, (end - begin) * scale, delta=1.5)
        self.assertGreater(page.value("new Set(epprof.whole.getContext('2d').getImageData(epprof.view.gutter, 0, 500, 18).data).size"), 4)
        self.assertEqual(self.open().value("epprof.whole.clientHeight"), 0)
        self.is_clean(page)

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
