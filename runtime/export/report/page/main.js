/* The page: reads the data, keeps the selection and the search, and repaints after changes. */

class Find {
	constructor(app) {
		this.app = app;
		this.input = document.getElementById("search");
		this.output = document.getElementById("found");
		this.input.addEventListener("input", () => this.seek(this.input.value));
		this.clear();
	}

	focus() {
		this.input.focus();
		this.input.select();
	}

	clear() {
		this.input.value = "";
		this.input.blur();
		this.seek("");
	}

	/* Finds events whose name, or whose args as text, contain the search text; `exact`: whose name equals it. */
	seek(text, exact = false) {
		const { app } = this, { model } = app, { events } = model;
		this.text = text;
		this.names = this.args = undefined;
		this.matches = new Uint32Array(0);
		if (text) {
			const wanted = text.toLowerCase();
			this.names = Uint8Array.from(model.names, (name) => Number(exact ? name === text : name.toLowerCase().includes(wanted)));
			this.args = new Uint8Array(model.args.count + 1);
			for (let i = 0; !exact && i < model.args.count; i++)
				this.args[i + 1] = Number(model.args.json(i).toLowerCase().includes(wanted));
			let count = 0;
			const matches = new Uint32Array(events.count);
			for (let i = 0; i < events.count; i++) {
				if (this.names[events.name[i]] || this.args[events.args[i]])
					matches[count++] = i;
			}
			this.matches = matches.slice(0, count);
		}
		this.tell();
		app.repaint();
	}

	has(event) {
		const { events } = this.app.model;
		return this.names[events.name[event]] || this.args[events.args[event]];
	}

	tell() {
		const place = this.matches.indexOf(this.app.state.selected);
		const count = countText(this.matches.length);
		this.output.textContent = !this.text ? "" : place >= 0 ? `${countText(place + 1)} of ${count}` : count;
	}

	next(step) {
		const { app, matches } = this, { events } = app.model;
		if (!matches.length)
			return;
		const from = app.state.selected;
		const place = from >= 0 ? this.placeNear(from, step) : lowerBound(matches, events.start, app.view.wantedFrom);
		app.select(matches[(place + matches.length) % matches.length], true);
	}

	/* Matches are sorted by event. */
	placeNear(event, step) {
		let low = 0, high = this.matches.length;
		while (low < high) {
			const middle = low + high >>> 1;
			if (this.matches[middle] < event)
				low = middle + 1;
			else
				high = middle;
		}
		return step < 0 ? low - 1 : this.matches[low] === event ? low + 1 : low;
	}
}

class App {
	constructor(model) {
		this.model = model;
		for (const name of ["lanes", "whole", "map", "bars", "marks", "help", "spoken"])
			this[name] = document.getElementById(name);
		this.lost = model.facts.lost;
		this.state = {
			selected: -1, hover: -1, pointer: undefined, range: undefined, links: [],
			family: getComputedStyle(document.body).fontFamily,
			isDim: (event) => Boolean(this.find.text) && !this.find.has(event),
		};
		this.view = new View(model);
		this.savedRows = new SavedRows(model);
		this.savedRows.restore(this.view);
		this.painter = new Painter(model, this.view, this.state);
		this.details = new Details(this);
		this.find = new Find(this);
		this.panels = new Panels(this);
		this.input = new Input(this);
		this.whole.hidden = !model.facts.whole;
		this.fillHead();
		this.fillHelp();
		document.getElementById("fit").addEventListener("click", () => { this.view.fit(); this.repaint(); });
		document.getElementById("theme").addEventListener("click", () => this.switchTheme());
		document.getElementById("keys").addEventListener("click", () => this.showHelp());
		this.prefersDark = matchMedia("(prefers-color-scheme: dark)");
		this.prefersDark.addEventListener("change", () => this.useTheme());
		this.calm = matchMedia("(prefers-reduced-motion: reduce)");
		new ResizeObserver(() => this.resize()).observe(this.lanes);
		this.useTheme();
		this.measure();
		this.view.jump();
		this.paintNow();
	}

	/* ---- painting ---- */

	repaint() {
		if (this.waiting)
			return;
		this.waiting = requestAnimationFrame((now) => this.paint(now));
	}

	paint(now) {
		this.waiting = undefined;
		const moving = this.view.approach(Math.min(50, now - (this.painted ?? now) || 16), this.calm.matches);
		this.painted = now;
		const begin = performance.now();
		this.painter.draw(this.bars.getContext("2d", { alpha: false }));
		this.painter.drawMarks(this.marks.getContext("2d"));
		this.drawMap();
		if (this.model.facts.whole)
			this.drawWhole();
		this.paintMs = performance.now() - begin;
		if (moving)
			this.repaint();
		else
			this.painted = undefined;
	}

	/* Resizing clears a canvas, so it happens only in a frame that is painted. */
	resize() {
		this.measure();
		this.paintNow();
	}

	paintNow() {
		if (this.waiting)
			cancelAnimationFrame(this.waiting);
		this.paint(performance.now());
	}

	measure() {
		const scale = devicePixelRatio || 1;
		const strips = [this.whole, this.map];
		for (const canvas of [this.bars, this.marks, ...strips]) {
			const box = canvas.parentElement, width = box.clientWidth, height = strips.includes(canvas) ? canvas.clientHeight : box.clientHeight;
			canvas.width = Math.round(width * scale);
			canvas.height = Math.round(height * scale);
			canvas.getContext("2d", { alpha: canvas !== this.bars }).setTransform(scale, 0, 0, scale, 0, 0);
		}
		this.view.width = this.lanes.clientWidth;
		this.view.height = this.lanes.clientHeight;
		this.view.measure();
		this.mapShape = this.wholeShape = undefined;
	}

	/* Computes the overview map: for each pixel of the width, the share of the time in which hosts (drawn above)
	 * and devices (drawn below) were busy. */
	shapeOfMap(width) {
		const { model } = this, { events } = model, scale = width / (model.last - model.first);
		const shapes = [new Float64Array(width + 1), new Float64Array(width + 1)], tracks = [0, 0];
		for (const track of model.tracks) {
			if (track.kind !== "slices")
				continue;
			const shape = shapes[Number(track.device)];
			tracks[Number(track.device)]++;
			const { list, before } = track.levels[0];
			let from = 0, rest = 0;
			for (let x = 0; x < width && (from < list.length || rest > 0); x++) {
				const to = lowerBound(list, events.start, model.first + (x + 1) / scale, from);
				/* Busy time beyond one pixel carries over to the next pixels. */
				const busy = rest + (before[to] - before[from]) * scale, here = Math.min(1, busy);
				shape[x] += here;
				rest = busy - here;
				from = to;
			}
		}
		return shapes.map((shape, i) => shape.map((busy) => busy / (tracks[i] || 1)));
	}

	/* Computes the same for the whole trace, if the page shows only a part of it. */
	shapeOfWhole(width) {
		const { threads, devices } = this.model.facts.whole;
		return [threads, devices].map((parts) => {
			const most = Math.max(...parts) || 1;
			return Float64Array.from({ length: width }, (_, x) => parts[Math.floor(x * parts.length / width)] / most);
		});
	}

	/* Draws the shapes of hosts and devices. The picture is cached for one width. */
	pictureOf(shapes, width, height) {
		const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d"), half = height / 2;
		shapes.forEach((shape, below) => {
			context.fillStyle = this.painter.colours.edges[below];
			context.globalAlpha = below ? 1 : 0.8;
			for (let x = 0; x < width; x++) {
				const tall = shape[x] * (half - Math.min(4, height / 12));
				context.fillRect(x, below ? half + 1 : half - 1 - tall, 1, tall);
			}
		});
		return canvas;
	}

	/* Draws a picture from the time `first` to `last`; a frame surrounds the time from `begin` to `end`. */
	drawFramed(context, picture, first, last, begin, end) {
		const { view } = this, { colours } = this.painter, left = view.gutter, { width, height } = picture;
		context.clearRect(0, 0, view.width, height);
		context.drawImage(picture, left, 0);
		const scale = width / (last - first);
		const from = Math.max(0, (begin - first) * scale), to = Math.min(width, (end - first) * scale);
		context.fillStyle = colours.paper;
		context.globalAlpha = 0.72;
		context.fillRect(left, 0, from, height);
		context.fillRect(left + to, 0, width - to, height);
		context.globalAlpha = 1;
		context.strokeStyle = colours.accent;
		context.strokeRect(left + from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
		context.fillStyle = colours.soft;
		context.font = this.painter.font(10.5);
		context.textBaseline = "middle";
	}

	widthOfMap() {
		return Math.max(1, Math.floor(this.view.width - this.view.gutter));
	}
	drawMap() {
		const context = this.map.getContext("2d"), { view, model } = this, width = this.widthOfMap(), height = this.map.clientHeight, half = height / 2;
		this.mapShape ??= this.pictureOf(this.shapeOfMap(width), width, height);
		this.drawFramed(context, this.mapShape, model.first, model.last, view.from, view.to);
		context.fillText("host", 14, half / 2 + 1);
		if (model.facts.device_events)
			context.fillText("devices", 14, half * 1.5 - 1);
	}
	/* Draws the narrow strip with the whole trace, and a frame around the part that the page shows. */
	drawWhole() {
		const context = this.whole.getContext("2d"), { facts } = this.model, width = this.widthOfMap(), height = this.whole.clientHeight;
		this.wholeShape ??= this.pictureOf(this.shapeOfWhole(width), width, height);
		this.drawFramed(context, this.wholeShape, facts.whole.from, facts.whole.to, facts.part.from, facts.part.to);
		context.fillText("whole trace", 14, height / 2 + 1);
	}

	/* ---- pointer, selection, search ---- */

	point(at) {
		const { state } = this;
		state.pointer = at?.x;
		state.hover = at ? this.view.eventAt(at.x, at.y) : -1;
		const row = at && at.x < this.view.gutter ? this.view.placeAt(at.y) : undefined;
		this.lanes.classList.toggle("label", Boolean(row));
		if (row)
			this.details.pointRow(row.track ?? row.group, at.clientX, at.clientY);
		else
			this.details.point(state.hover, at?.clientX, at?.clientY);
		if (!this.waiting)
			this.waiting = requestAnimationFrame(() => {
				this.waiting = undefined;
				this.painter.drawMarks(this.marks.getContext("2d"));
			});
	}

	select(event, reveal = false) {
		const { state } = this;
		state.selected = event;
		state.links = event >= 0 ? this.model.linksOf(event) : [];
		if (event >= 0) {
			state.range = undefined;
			if (reveal)
				this.view.reveal(event);
			this.spoken.textContent = [this.details.title(event), ...this.details.facts(event).map((pair) => pair.join(" "))].join(", ");
		}
		if (event >= 0 || this.panels.title === "Selection")
			this.panels.open("Selection");
		this.find.tell();
		this.repaint();
	}

	/* Shows a time range of the timeline, and an event in it, if there is one; the panel stays open. */
	goTo(from, to, event) {
		const { state, view } = this, length = Math.max(to - from, 10);
		state.selected = event;
		state.links = event >= 0 ? this.model.linksOf(event) : [];
		if (event >= 0)
			view.reveal(event);
		view.show(from - length * 0.6, to + length * 0.6);
		this.spoken.textContent = event >= 0 ? this.details.title(event) : "";
		this.find.tell();
		this.setRange(from, to);
	}

	clear() {
		if (this.find.text)
			this.find.clear();
		this.state.range = undefined;
		this.select(-1);
	}

	highlight(name) {
		this.find.input.value = name;
		this.find.seek(name, true);
	}

	setRange(from, to) {
		this.state.range = [Math.min(from, to), Math.max(from, to)];
		this.repaint();
	}
	showRange() {
		this.state.selected = -1;
		this.state.links = [];
		this.panels.open("Selection");
		this.repaint();
	}
	rangeOfSelection() {
		const { selected } = this.state, { events } = this.model;
		if (selected >= 0)
			this.setRange(events.start[selected], events.end[selected]);
		else
			this.setRange(this.view.wantedFrom, this.view.wantedTo);
		this.showRange();
	}

	zoomToSelection() {
		const { selected, range } = this.state;
		if (selected >= 0)
			this.view.reveal(selected, true);
		else if (range)
			this.view.show(...range);
		this.repaint();
	}

	/* Selects the next or previous event on the track of the selection; without a selection, the first visible
	 * event. */
	step(way) {
		const { model, view } = this, { selected } = this.state, { events } = model;
		const track = selected >= 0 ? model.trackOf(selected) : view.places.find((place) => place.track)?.track;
		if (!track)
			return;
		const { list } = track.levels[selected >= 0 ? model.levelOf(selected, track) : 0];
		const start = selected >= 0 ? events.start[selected] : view.wantedFrom;
		let place = lowerBound(list, events.start, start);
		while (selected >= 0 && list[place] !== selected)
			place++;
		place += selected < 0 ? 0 : way;
		if (place >= 0 && place < list.length)
			this.select(list[place], true);
	}
	/* Selects, on the next or previous track, the first event that starts no earlier than the selection, or else
	 * the last event. */
	stepTrack(way) {
		const { model, view } = this, { selected } = this.state;
		const tracks = view.places.filter((place) => place.track).map((place) => place.track);
		const track = selected >= 0 ? tracks[tracks.indexOf(model.trackOf(selected)) + way] : tracks[0];
		if (!track)
			return;
		const { list } = track.levels[0], start = selected >= 0 ? model.events.start[selected] : view.wantedFrom;
		this.select(list[Math.min(lowerBound(list, model.events.start, start), list.length - 1)], true);
	}
	stepOut() {
		const around = this.state.selected >= 0 ? this.model.enclosing(this.state.selected) : -1;
		if (around >= 0)
			this.select(around, true);
	}
	stepIn() {
		const { model } = this, { selected } = this.state, track = selected >= 0 ? model.trackOf(selected) : undefined;
		const level = track?.levels[model.events.depth[selected] + 1];
		if (!level || track.kind !== "slices")
			return;
		const first = level.list[lowerBound(level.list, model.events.start, model.events.start[selected])];
		if (first !== undefined && model.events.start[first] <= model.events.end[selected])
			this.select(first, true);
	}
	toCause() {
		const cause = this.state.selected >= 0 ? this.model.events.cause[this.state.selected] : -1;
		if (cause >= 0)
			this.select(cause, true);
	}
	toCaused() {
		const caused = this.state.selected >= 0 ? this.model.deviceEventsOf(this.state.selected) : [];
		if (caused.length)
			this.select(caused[0], true);
	}

	/* ---- order and folding of the rows ---- */

	/* Changes the rows and saves them; the table of rows follows. */
	rows(change) {
		change();
		this.savedRows.save(this.view);
		if (this.panels.title === "Rows")
			this.panels.open("Rows");
		this.repaint();
	}
	foldTrack(all) {
		const track = this.state.selected >= 0 ? this.model.trackOf(this.state.selected) : undefined;
		if (all)
			this.rows(() => this.view.foldAll());
		else if (track)
			this.rows(() => this.view.fold(track));
	}
	moveTrack(way) {
		const track = this.state.selected >= 0 ? this.model.trackOf(this.state.selected) : undefined;
		if (track)
			this.rows(() => this.view.move(track, way) && this.view.reveal(this.state.selected));
	}

	/* ---- light and dark ---- */

	get dark() {
		return document.documentElement.dataset.theme === "dark";
	}
	switchTheme() {
		this.chosen = this.dark ? "light" : "dark";
		this.useTheme();
	}
	useTheme() {
		document.documentElement.dataset.theme = this.chosen ?? (this.prefersDark.matches ? "dark" : "light");
		document.getElementById("theme").textContent = this.dark ? "\u263c" : "\u263e";
		this.painter.useColours(this.dark);
		this.mapShape = this.wholeShape = undefined;
		this.repaint();
	}

	/* ---- controls around the timeline ---- */

	fillHead() {
		const { facts } = this.model, { trace } = facts;
		const began = new Date(Number(trace.epoch_unix_ns) / 1e6);
		const when = Number.isNaN(began.getTime()) ? "" : began.toISOString().replace("T", " ").slice(0, 19);
		document.getElementById("subtitle").textContent =
			[trace.program !== document.getElementById("title").textContent && trace.program, `process ${trace.pid}`, trace.hostname, `${when} UTC`, trace.state]
				.filter(Boolean).join(" \u00b7 ");
		const chip = (value, word, kind) => make("li", { class: kind }, make("b", {}, value), ` ${word}`);
		const error = Number(trace.largest_error_ns);
		document.getElementById("chips").append(chip(durationText(facts.last - facts.first), "long"), chip(countText(facts.events), facts.events === 1 ? "event" : "events"),
			this.lost ? chip(countText(this.lost), "lost", "bad") : chip("none", "lost", "good"),
			...facts.balanced ? [] : [chip("ledger", "does not balance", "bad")],
			...facts.device_events ? [chip(`\u00b1 ${durationText(error)}`, "on devices")] : []);
		const notes = [];
		if (facts.part) {
			const [from, to] = [facts.part.from, facts.part.to].map((ns) => timeText(ns, 1e3));
			const why = facts.part.chosen ? "the range that was chosen, as far as it fits" : `the range in which ${facts.device_events ? "devices" : "threads"} were busiest among those that fit`;
			const cut = facts.part.cut ? `, less ${countText(facts.part.cut)} at its end` : "";
			notes.push(`The timeline shows ${countText(facts.shown)} of ${countText(facts.events)} events: those from ${from} to ${to}, ${why}${cut}. The tables include all events. The strip above the timeline is the whole trace, with a frame around this part. Another range: epprof report --show-from TIME --show-to TIME.`);
		}
		if (facts.filtered)
			notes.push(`${countText(facts.filtered)} events were filtered out and are not in the tables.`);
		if (facts.args_left_out)
			notes.push(`The args of ${countText(facts.args_left_out)} events are left out: too many for one page.`);
		const notice = document.getElementById("notice");
		notice.hidden = !notes.length;
		notice.textContent = notes.join(" ");
	}

	fillHelp() {
		const list = (lines, wrap) => make("dl", {}, ...lines.flatMap(([keys, text]) =>
			[make("dt", {}, ...wrap(keys)), make("dd", {}, text)]));
		this.help.append(make("h2", {}, "Keys"), list(KEYS, (keys) => keys.split(" ").map((key) => make("kbd", {}, key))),
			make("h2", {}, "Hands"), list(HANDS, (hands) => [hands]),
			make("p", { class: "note" }, "Torn end: no end was recorded. Dashed frame: the host event is unknown. Whiskers: error bound of a start or end. Hatching: events were lost here."),
			make("form", { method: "dialog" }, make("button", {}, "Close")));
	}
	showHelp() {
		this.help.showModal();
	}
}

/* Delays the page's load event until the returned function is called, so that programs that wait for the event (to
 * print or to take a screenshot) get the complete page.  An open document in an iframe delays it. */
function delayLoad() {
	const frame = document.createElement("iframe");
	frame.hidden = true;
	document.body.append(frame);
	frame.contentDocument.open();
	return () => {
		frame.contentDocument.close();
		frame.remove();
	};
}

async function main() {
	const element = document.getElementById("data");
	const data = await readData(element.textContent);
	element.remove();
	window.epprof = new App(new Model(data));
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

const loaded = delayLoad();
main().catch((error) => {
	const failure = document.getElementById("failure");
	failure.hidden = false;
	failure.textContent = `This report cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
	document.documentElement.dataset.failed = String(error.stack);
}).finally(loaded);
