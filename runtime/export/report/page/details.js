/* Shows the details of one event: the most important ones next to the pointer, all of them below the timeline. */

class Details {
	constructor(app) {
		this.app = app;
		this.tip = document.getElementById("tip");
	}

	/* Pairs of label and text, the most important first. */
	facts(event) {
		const { model } = this.app, { events } = model, what = events.what[event], kind = kindOf(what);
		const start = events.start[event], end = events.end[event], pairs = [];
		const exact = Math.max(1, (end - start) / 1e3);
		if (kind === COUNTER)
			pairs.push(["value", model.valueAt[event].toLocaleString("en-US")]);
		else if (kind !== INSTANT)
			pairs.push(["duration", durationText(end - start)]);
		pairs.push([kind === SLICE || kind === ASYNC ? "starts" : "at", timeText(start - model.zero, exact)]);
		const track = model.trackOf(event), work = track?.device && model.works.get(this.title(event));
		if (work)
			pairs.push(["kind", work]);
		if (track)
			pairs.push([track.device ? "on" : "thread", this.trackText(track)]);
		return pairs;
	}

	/* "compute 0 (device 0, stream 0), Accelerator"; "worker 1 (thread 4711), server (process 4700)" */
	trackText(track) {
		const { row, group } = track, thread = row.tid && row.name ? `thread ${row.tid}` : "", place = track.place || thread;
		return `${track.title}${place ? ` (${place})` : ""}, ${group.name}${group.device ? "" : ` (${group.kind})`}`;
	}

	more(event) {
		const { model } = this.app, { events } = model, what = events.what[event];
		const pairs = [], cause = events.cause[event], start = events.start[event];
		if (cause >= 0) {
			pairs.push(["caused by", `${model.names[events.name[cause]]}, which started ${durationText(start - events.start[cause])} before`]);
			pairs.push(["thread", this.trackText(model.trackOf(cause))]);
		}
		else if (what >> 15 && !(flagsOf(what) & UNCORRELATED))
			pairs.push(["caused by", "an event that is not shown"]);
		const around = model.enclosing(event);
		if (around >= 0)
			pairs.push(["inside", model.names[events.name[around]]]);
		const [launch, queue] = this.delays(event);
		if (launch !== undefined)
			pairs.push(["launch", durationText(launch)]);
		if (queue !== undefined)
			pairs.push(["queue", durationText(queue)]);
		const children = model.causedBy(event);
		if (children.length) {
			const last = children.reduce((latest, child) => Math.max(latest, events.end[child]), 0);
			pairs.push(["caused", `${plural(children.length, "device event")}, done ${durationText(last - start)} after its start`]);
		}
		pairs.push(["time", PLACEMENTS[placementOf(what)]]);
		const [before, behind] = [events.startError[event], events.endError[event]];
		if (before || behind)
			pairs.push(["error", before === behind ? `\u00b1 ${durationText(before)}` : `start \u00b1 ${durationText(before)}, end \u00b1 ${durationText(behind)}`]);
		for (const [flag, word] of FLAG_WORDS) {
			if (flagsOf(what) & flag)
				pairs.push(["note", word]);
		}
		return pairs;
	}

	/* For a device event, returns two times: from its launch to its entry into the device's queue, and from the
	 * entry to its start.  If the profiler did not measure the entry, the first one is undefined, and the second
	 * one is from the launch to the start. */
	delays(event) {
		const { model } = this.app, sinceLaunch = model.events.launch[event] ? model.events.launch[event] - 1 : undefined;
		const { queue_ns: sinceQueue } = sinceLaunch === undefined ? {} : model.argsOf(event);
		return sinceQueue === undefined ? [undefined, sinceLaunch] : [Math.max(0, sinceLaunch - sinceQueue), Number(sinceQueue)];
	}

	list(pairs) {
		return make("dl", {}, ...pairs.flatMap(([word, text]) => [make("dt", {}, word), make("dd", {}, text)]));
	}

	args(event) {
		return Object.entries(this.app.model.argsOf(event)).map(([key, value]) => [key, String(value)]);
	}

	title(event) {
		return this.app.model.names[this.app.model.events.name[event]] || "(no name)";
	}

	/* ---- next to the pointer ---- */

	point(event, x, y) {
		this.tip.hidden = event < 0;
		if (event < 0)
			return;
		const args = this.args(event).slice(0, 8).map(([key, value]) => [key, value.length > 120 ? `${value.slice(0, 120)}\u2026` : value]);
		this.show(x, y, make("b", {}, this.title(event)), this.list([...this.facts(event), ...this.more(event)]),
			args.length ? make("div", { class: "args" }, this.list(args)) : "");
	}

	/* The whole name of a row, whose label may be cut. */
	pointRow(row, x, y) {
		const { events } = this.app.model, pairs = [];
		pairs.push(["is", row.kind === "counter" ? "a counter" : row.tracks ? row.kind : row.place || (row.row.tid ? `thread ${row.row.tid}` : row.kind)]);
		if (row.levels) {
			pairs.push(["of", `${row.group.name}, ${row.group.kind}`]);
			pairs.push(["events", countText(row.levels.reduce((sum, { list }) => sum + list.length, 0))]);
		}
		if (row.lost)
			pairs.push(["lost", countText(row.lost.lost)]);
		this.tip.hidden = false;
		this.show(x, y, make("b", {}, row.title ?? row.name), this.list(pairs));
	}

	show(x, y, ...children) {
		const { tip } = this;
		tip.replaceChildren(...children);
		const box = tip.getBoundingClientRect();
		const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
		tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, Math.min(y + 18, innerHeight - box.height - 4))}px)`;
	}

	/* ---- below the timeline ---- */

	element(event) {
		const { app } = this, { model } = app, { events } = model;
		const go = (text, key, action) => make("button", { type: "button", onclick: action }, text, make("kbd", {}, key));
		const buttons = [go("Zoom", "F", () => app.zoomToSelection())];
		if (events.cause[event] >= 0)
			buttons.push(go("Cause", "P", () => app.toCause()));
		const children = model.nested(event), caused = model.deviceEventsOf(event);
		if (caused.length)
			buttons.push(go("First effect", "C", () => app.toCaused()));
		buttons.push(go("All with this name", "N", () => app.highlight(this.title(event))));
		const args = this.args(event);
		return make("article", { class: "details" },
			make("div", {}, make("h2", {}, this.title(event)), make("p", { class: "go" }, ...buttons),
				this.list([["category", CATEGORIES[categoryOf(events.what[event])]], ...this.facts(event), ...this.more(event)]),
				make("h2", {}, args.length ? "Args" : "No args"), this.list(args)),
			children.length ? this.children(event, children) : "", caused.length ? this.caused(event, caused) : "");
	}

	/* A table of events; at most 10,000, because every line is sorted. */
	table(title, lines, columns, note) {
		const { app } = this, { model } = app, { events } = model, shown = lines.slice(0, 10000);
		const name = (key, of) => ({ title: key, left: true, of: (line) => this.title(of(line)), show: (line) => make("span", { class: "name" }, this.title(of(line))) });
		const list = columns(name, shown), sorted = list.findIndex((column) => column.title === "after");
		const table = new Table(list, Array.from(shown), { sorted, down: false, pick: (line) => app.select(line, true) });
		const cut = shown.length < lines.length ? ` The first ${countText(shown.length)} are listed.` : "";
		return make("div", { class: "events" }, make("h2", {}, `${title}: ${countText(lines.length)}`), table.element, make("p", { class: "note" }, note + cut));
	}

	children(event, lines) {
		const { model } = this.app, { events } = model, length = events.end[event] - events.start[event];
		const isWhole = !model.facts.part || (events.start[event] >= model.first && events.end[event] <= model.last);
		const duration = (child) => events.end[child] - events.start[child];
		const self = length - lines.reduce((sum, child) => sum + duration(child), 0);
		return this.table("Children", lines, (name) => [
			name("event", (child) => child),
			timed("after", (child) => events.start[child] - events.start[event], "from the start of the selection to its start"),
			{ ...timed("duration", duration), bar: (child) => duration(child) / length },
		], isWhole ? `Without its children it took ${durationText(self)}.` : "Children outside the range that the page shows are not listed.");
	}

	caused(event, lines) {
		const { model } = this.app, { events } = model;
		return this.table("Device events it caused", lines, (name, shown) => {
			const delays = new Map(Array.from(shown, (child) => [child, this.delays(child)]));
			const columns = [
				name("event", (child) => child),
				timed("after", (child) => events.start[child] - events.start[event], "from the start of the selection to its start"),
				timed("launch", (child) => delays.get(child)[0], "from its launch to its entry into the device\u2019s queue, where its profiler measured that"),
				timed("queue", (child) => delays.get(child)[1], "from its entry into the queue, or else from its launch, to its start"),
				timed("duration", (child) => events.end[child] - events.start[child]),
				{ title: "on", left: true, of: (child) => events.row[child], show: (child) => [model.trackOf(child)?.title, model.trackOf(child)?.place].filter(Boolean).join(", ") },
			];
			if (Array.from(shown).some((child) => events.cause[child] !== event))
				columns.splice(1, 0, name("caused by", (child) => events.cause[child]));
			return columns;
		}, "Launch: until it entered the device\u2019s queue. Queue: until it started.");
	}
}
