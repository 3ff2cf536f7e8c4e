/* Handles pointer, wheel, touch and keys.  KEYS describes each key. */

const KEYS = [
	["W S", "zoom in, out"], ["A D", "pan left, right"], ["\u2190 \u2192", "previous, next event on the track"],
	["\u2191 \u2193", "enclosing event, first nested event"], ["F", "zoom to the selection"], ["0", "show all"],
	["J K", "event on the track below, above"], ["E \u21e7E", "fold the track of the selection, all tracks"],
	["\u21e7\u2191 \u21e7\u2193", "move the track of the selection up, down"], ["P", "go to the cause"], ["C", "go to the first effect"], ["/", "search; Enter: the next match"],
	["N \u21e7N", "next, previous match"], ["R", "sum up a range: the selection, or the visible part"],
	["T", "light or dark"], ["Esc", "clear the selection"], ["?", "show these keys"],
];
const HANDS = [
	["drag", "pan"], ["wheel", "scroll the tracks; sideways: pan"], ["Ctrl wheel, pinch", "zoom"],
	["click", "select: shows args, cause and effects"], ["double click", "zoom to an event"],
	["\u21e7 drag, drag in the axis", "sum up a range"], ["click on a name at the left", "fold a track, a process or a device"],
	["drag a name at the left", "move it (also in the tab \u201cRows\u201d)"],
];

class Input {
	constructor(app) {
		this.app = app;
		this.fingers = new Map();
		const lanes = app.lanes;
		lanes.addEventListener("pointerdown", (event) => this.down(event));
		lanes.addEventListener("pointermove", (event) => this.move(event));
		for (const name of ["pointerup", "pointercancel"])
			lanes.addEventListener(name, (event) => this.up(event));
		lanes.addEventListener("pointerleave", () => app.point(undefined));
		lanes.addEventListener("dblclick", (event) => this.dive(event));
		lanes.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
		document.addEventListener("keydown", (event) => this.key(event));
		this.bindMap();
		this.bindSplitter();
	}

	at(event) {
		const box = this.app.lanes.getBoundingClientRect();
		return { x: event.clientX - box.left, y: event.clientY - box.top };
	}

	down(event) {
		if (event.button !== 0)
			return;
		const { app } = this, { x, y } = this.at(event), { view } = app;
		app.lanes.setPointerCapture(event.pointerId);
		this.fingers.set(event.pointerId, { x, y });
		if (this.fingers.size === 2) {
			this.drag = undefined;
			this.pinch = this.spread();
			return;
		}
		const ranging = event.shiftKey || y < AXIS, label = x < view.gutter && view.placeAt(y);
		this.drag = { x, y, lastX: x, lastY: y, moved: false, ranging: ranging && x >= view.gutter, from: view.ns(x),
			row: label ? label.track ?? label.group : undefined };
	}

	spread() {
		const [a, b] = [...this.fingers.values()];
		return { distance: Math.max(20, Math.abs(a.x - b.x)), middle: (a.x + b.x) / 2 };
	}

	move(event) {
		const { app } = this, { view } = app, { x, y } = this.at(event);
		if (this.fingers.has(event.pointerId))
			this.fingers.set(event.pointerId, { x, y });
		if (this.pinch && this.fingers.size === 2) {
			const now = this.spread();
			view.zoom(this.pinch.distance / now.distance, view.ns(now.middle));
			view.pan((this.pinch.middle - now.middle) / view.pixelsPerNs);
			view.jump();
			this.pinch = now;
			app.repaint();
			return;
		}
		const { drag } = this;
		if (!drag) {
			app.point({ x, y, clientX: event.clientX, clientY: event.clientY });
			return;
		}
		drag.moved = drag.moved || Math.hypot(x - drag.x, y - drag.y) > 3;
		if (!drag.moved)
			return;
		if (drag.ranging) {
			app.setRange(drag.from, view.ns(Math.max(x, view.gutter)));
		} else if (drag.row) {
			app.state.drop = { row: drag.row, before: view.peerAt(drag.row, y) };
			app.point(undefined);
		} else {
			view.pan((drag.lastX - x) / view.pixelsPerNs);
			view.jump();
			view.scrollTo(view.scroll + drag.lastY - y);
			app.point(undefined);
		}
		[drag.lastX, drag.lastY] = [x, y];
		app.lanes.classList.toggle("grabbing", !drag.ranging);
		app.repaint();
	}

	up(event) {
		const { app, drag } = this, { x, y } = this.at(event);
		this.fingers.delete(event.pointerId);
		this.pinch = undefined;
		this.drag = undefined;
		const { drop } = app.state;
		app.state.drop = undefined;
		app.lanes.classList.remove("grabbing");
		app.repaint();
		if (!drag || event.type === "pointercancel")
			return;
		if (drag.moved) {
			if (drag.ranging)
				app.showRange();
			if (drop)
				app.rows(() => app.view.moveBefore(drop.row, drop.before));
			return;
		}
		const place = app.view.placeAt(y);
		if (place && (place.group || x < app.view.gutter)) {
			app.rows(() => app.view.fold(place.group ?? place.track));
			return;
		}
		app.select(app.view.eventAt(x, y));
	}

	dive(event) {
		const { app } = this, { x, y } = this.at(event), hit = app.view.eventAt(x, y);
		if (hit >= 0)
			app.view.reveal(hit, true);
		else if (x >= app.view.gutter)
			app.view.zoom(0.4, app.view.ns(x));
		app.repaint();
	}

	wheel(event) {
		const { app } = this, { view } = app, { x } = this.at(event);
		event.preventDefault();
		const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? view.height : 1;
		if (event.ctrlKey || event.metaKey || event.altKey) {
			view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * unit * 0.006))), view.ns(Math.max(x, view.gutter)));
			if (event.ctrlKey && Math.abs(event.deltaY) < 20)
				view.jump();
		} else {
			const [dx, dy] = event.shiftKey ? [event.deltaY + event.deltaX, 0] : [event.deltaX, event.deltaY];
			view.pan(dx * unit / view.pixelsPerNs);
			view.scrollTo(view.scroll + dy * unit);
			if (dx)
				view.jump();
		}
		app.repaint();
	}

	/* ---- keys ---- */

	key(event) {
		const { app } = this, typing = event.target.matches("input");
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (typing) {
			if (event.key === "Enter")
				app.find.next(event.shiftKey ? -1 : 1);
			else if (event.key === "Escape")
				app.find.clear();
			return;
		}
		if (app.help.open || event.target.matches("#tabs *, #content *, #splitter") && /^(Arrow|Enter$| $)/.test(event.key))
			return;
		const action = this.actions()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (!action)
			return;
		event.preventDefault();
		action(event);
		app.repaint();
	}

	actions() {
		const { app } = this, { view } = app;
		const span = view.wantedTo - view.wantedFrom;
		return {
			w: () => view.zoom(0.6), s: () => view.zoom(1 / 0.6), "+": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
			a: () => view.pan(-span * 0.25), d: () => view.pan(span * 0.25),
			0: () => view.fit(), Home: () => view.fit(), f: () => app.zoomToSelection(),
			ArrowLeft: () => app.step(-1), ArrowRight: () => app.step(1),
			ArrowUp: (event) => event.shiftKey ? app.moveTrack(-1) : app.stepOut(),
			ArrowDown: (event) => event.shiftKey ? app.moveTrack(1) : app.stepIn(),
			j: () => app.stepTrack(1), k: () => app.stepTrack(-1),
			e: (event) => app.foldTrack(event.shiftKey),
			PageUp: () => view.scrollTo(view.scroll - view.height * 0.8),
			PageDown: () => view.scrollTo(view.scroll + view.height * 0.8),
			p: () => app.toCause(), c: () => app.toCaused(), r: () => app.rangeOfSelection(),
			"/": () => app.find.focus(), n: (event) => app.find.next(event.shiftKey ? -1 : 1),
			t: () => app.switchTheme(), "?": () => app.showHelp(), Escape: () => app.clear(),
		};
	}

	/* ---- the overview map, and the height of the tables ---- */

	bindMap() {
		const { app } = this, { map } = app;
		const to = (event) => {
			const { view } = app, box = map.getBoundingClientRect(), { model } = app;
			const part = (event.clientX - box.left - view.gutter) / (box.width - view.gutter);
			const at = model.first + part * (model.last - model.first), half = (view.wantedTo - view.wantedFrom) / 2;
			view.show(at - half, at + half);
			app.repaint();
		};
		map.addEventListener("pointerdown", (event) => {
			map.setPointerCapture(event.pointerId);
			to(event);
		});
		map.addEventListener("pointermove", (event) => {
			if (map.hasPointerCapture(event.pointerId))
				to(event);
		});
	}

	bindSplitter() {
		const { app } = this, splitter = document.getElementById("splitter");
		const setHeight = (height) => {
			const stage = document.getElementById("stage").clientHeight;
			document.documentElement.style.setProperty("--panel", `${Math.max(60, Math.min(height, stage - 160))}px`);
			app.resize();
		};
		splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
		splitter.addEventListener("pointermove", (event) => {
			if (splitter.hasPointerCapture(event.pointerId))
				setHeight(innerHeight - event.clientY);
		});
		splitter.addEventListener("keydown", (event) => {
			const step = { ArrowUp: 40, ArrowDown: -40 }[event.key];
			if (step)
				setHeight(document.getElementById("panel").clientHeight + step);
		});
	}
}
