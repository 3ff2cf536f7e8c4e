#!/usr/bin/env python3
"""How a report of a million events feels in a browser: bench_browser.py epprof

Figures: how long it takes to open, to the first picture; and how long a frame takes while the view pans and zooms, as the
drawing itself is measured, and from frame to frame.  They are marked SHORT past their bounds.  Exit status: 1 then, else 0.
"""
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))
import browser

EVENTS = 1000000
THREADS = 8
OPENINGS = 5
OPEN_BOUND_MS = 3000
FRAME_BOUND_MS = 33.4  # 30 a second
FRAMES = """(async () => {
	const view = epprof.view, drawn = [], frames = [], whole = view.model.last - view.model.first;
	const frame = () => new Promise((done) => requestAnimationFrame(done));
	for (const part of [1, 0.3, 0.03, 0.001]) {
		view.show(view.model.first, view.model.first + part * whole);
		view.jump();
		for (let i = 0, before = await frame(); i < 60; i++) {
			view.pan((view.to - view.from) * 0.01);
			view.jump();
			epprof.repaint();
			const now = await frame();
			frames.push(now - before);
			drawn.push(epprof.paintMs);
			before = now;
		}
	}
	return [drawn, frames];
})()"""


def write_trace(path):
    """Steps of a few ops each, with args, as Chrome writes them."""
    dice = random.Random(1)
    names = [f"{op}_{kind}" for op in ("gemm", "conv", "attention", "norm", "softmax", "reduce", "gather", "scatter")
             for kind in ("f32", "f16", "bf16", "i8")]
    with open(path, "w", encoding="utf-8") as file:
        file.write("[")
        count = 0
        for thread in range(THREADS):
            at = 0.0
            while count < EVENTS * (thread + 1) // THREADS:
                durations = [dice.expovariate(1 / 12) + 0.5 for _ in range(dice.randint(3, 9))]
                step = {"ph": "X", "pid": 1, "tid": thread + 1, "cat": "Session", "name": "step", "ts": round(at, 3),
                        "dur": round(sum(durations) + 2, 3)}
                file.write((",\n" if count else "") + json.dumps(step))
                at += 1
                for duration in durations:
                    op = {"ph": "X", "pid": 1, "tid": thread + 1, "cat": "Node", "name": dice.choice(names),
                          "ts": round(at, 3), "dur": round(duration * 0.95, 3), "args": {"n": dice.randint(1, 64)}}
                    file.write(",\n" + json.dumps(op))
                    at += duration
                count += 1 + len(durations)
                at += dice.expovariate(1 / 10) + 2
        file.write("]")


def report(figure, values, bound):
    median, worst = statistics.median(values), max(values)
    short = median > bound
    print(f"{'SHORT' if short else 'ok':5}  {figure:28}  {median:8.1f} ms  worst {worst:.1f}  bound {bound}", flush=True)
    return short


def main(epprof):
    if not browser.find():
        print("SKIP: no chromium here (./setup --interop)")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory) / "million"
        write_trace(f"{base}.json")
        subprocess.run([epprof, "import", "-o", f"{base}.epp", f"{base}.json"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([epprof, "report", f"{base}.epp"], check=True, stderr=subprocess.DEVNULL)
        print(f"{Path(f'{base}.html').stat().st_size / 1e6:.1f} MB for {EVENTS:,} events")
        opened = []
        for _ in range(OPENINGS):
            with browser.Browser() as chromium:
                page = chromium.open(f"{base}.html", width=1600, height=1000)
                opened.append(float(page.wait("document.documentElement.dataset.ready")))
                page.painted()
                opened[-1] += page.value("epprof.paintMs")
                drawn, frames = page.value(FRAMES) if len(opened) == OPENINGS else (None, None)
        short = report("open", opened, OPEN_BOUND_MS)
        short += report("draw a frame", drawn, FRAME_BOUND_MS)
        short += report("from frame to frame", frames, FRAME_BOUND_MS)
        return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
