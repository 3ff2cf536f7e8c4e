/* The tables below the timeline: an overview in words, a table for each kind of total, the selection, and losses and
 * clocks. */

const IDLE_WORDS = ["nothing launched", "waiting for a copy", "launched, not started", "cause unknown"];
const IDLE_CLASSES = ["unlaunched", "copy", "late", "unknown"];

const IDLE_NOTE = "Nothing launched: the host had not started the event that launched the next work. Waiting for a copy: it was launched, and a copy ran on the device. " +
	"Launched, not started: the rest. Cause unknown: the work has no host event.";

const idleOf = (line) => line.idle.reduce((sum, part) => sum + part, 0);
const rateOf = (line) => line.bytes_ns ? line.bytes * 1e9 / line.bytes_ns : undefined;
const timed = (title, of, hint) => ({ title, of, hint, show: (line) => of(line) === undefined ? "\u2013" : durationText(of(line)) });
const quantile = (title, index, key = "durations") => timed(title, (line) => line[key]?.q[index]);

function timeColumns(lines, wall) {
	const all = lines.reduce((sum, line) => sum + line.total, 0) || 1;
	return [
		{ title: "count", of: (line) => line.durations?.count ?? 0, show: (line) => countText(line.durations?.count ?? 0) },
		{ ...timed("total", (line) => line.total, "sum of the durations"), bar: (line) => line.total / (wall ?? all) },
		timed("self", (line) => line.self, "without nested events"),
		timed("mean", (line) => line.durations ? line.total / line.durations.count : undefined),
		quantile("p50", 5), quantile("p90", 7), quantile("p99", 9), quantile("max", 10),
		spreadColumn(lines, "durations"),
	];
}

class Panels {
	constructor(app) {
		this.app = app;
		const { tables } = app.model.facts;
		this.advice = new Advice(app);
		this.pages = [
			["Overview", () => this.overview()],
			["Advice", () => this.advice.element(), this.advice.findings.length],
			["Selection", () => this.selection()],
			["Operators", () => this.types(), tables.types.all],
			["Ops", () => this.named("ops", "op"), tables.ops.all],
			["Kernels", () => this.named("kernels", "kernel"), tables.kernels.all],
			["Streams", () => this.streams(), tables.streams.all],
			["Threads", () => this.threads(), tables.threads.all],
			["Phases", () => this.phases(), tables.phases.all],
			["Requests", () => this.requests(), app.model.facts.requests.all],
			["Rows", () => this.rows()],
			["Losses and clocks", () => this.trust()],
		].filter(([, , count]) => count !== 0);
		this.content = document.getElementById("content");
		this.tabs = this.pages.map(([title], index) => make("button", {
			type: "button", role: "tab", id: `tab-${index}`, onclick: () => this.open(title), onkeydown: (event) => this.key(event, index),
		}, title));
		document.getElementById("tabs").append(...this.tabs);
		this.open("Overview");
	}

	key(event, index) {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!step)
			return;
		const next = this.tabs[(index + step + this.tabs.length) % this.tabs.length];
		next.focus();
		next.click();
	}

	open(title) {
		const index = this.pages.findIndex(([name]) => name === title);
		this.title = title;
		this.tabs.forEach((tab, i) => {
			tab.setAttribute("aria-selected", String(i === index));
			tab.tabIndex = i === index ? 0 : -1;
		});
		this.content.setAttribute("aria-labelledby", `tab-${index}`);
		this.content.replaceChildren(this.pages[index][1]());
		this.content.scrollTop = 0;
	}

	/* ---- by name, stream, thread, phase ---- */

	nameColumn(title) {
		return { title, left: true, of: (line) => line.name, show: (line) => make("span", { class: "name" }, line.name || "(no name)") };
	}

	named(key, title) {
		const { facts } = this.app.model, { lines, all } = facts.tables[key];
		const columns = timeColumns(lines);
		if (lines.some((line) => line.type))
			columns.push({ title: "operator", left: true, of: (line) => line.type ?? "", show: (line) => line.type ?? "",
				hint: key === "ops" ? "the node's operator type" : "the operator type of the node that caused it" });
		if (lines.some((line) => line.copy))
			columns.push({ title: "kind", left: true, of: (line) => line.work ?? "", show: (line) => line.work ?? "",
				hint: "from the profiler's args, otherwise from the name" });
		if (key === "ops")
			columns.push({ title: "category", left: true, of: (line) => line.category, show: (line) => line.category });
		else
			columns.push(quantile("queue p50", 5, "launches"), quantile("queue p99", 9, "launches"));
		columns.unshift(this.nameColumn(title));
		const table = new Table(columns, lines, { sorted: 2, pick: (line) => this.app.highlight(line.name) });
		const note = all > lines.length ? `The ${countText(lines.length)} with the most time, of ${countText(all)}. ` : "";
		return make("div", {}, table.element, make("p", { class: "note" }, `${note}Click a row to show its events above.`));
	}

	types() {
		const { lines } = this.app.model.facts.tables.types;
		const all = lines.reduce((sum, line) => sum + line.self, 0) || 1;
		const columns = timeColumns(lines);
		columns.unshift(this.nameColumn("operator type"),
			{ title: "provider", left: true, of: (line) => line.provider ?? "", show: (line) => line.provider ?? "" },
			{ title: "of nodes", of: (line) => line.self, show: (line) => partText(line.self / all), bar: (line) => line.self / all,
				hint: "self time relative to that of all nodes" });
		if (lines.some((line) => line.kernels))
			columns.push({ title: "kernels", of: (line) => line.kernels, show: (line) => countText(line.kernels) },
				timed("on devices", (line) => line.device, "the sum of the device events that these nodes caused"));
		return new Table(columns, lines, { sorted: 2 }).element;
	}

	placed(key, title, group) {
		const { facts } = this.app.model, { lines } = facts.tables[key], wall = facts.last - facts.first || 1;
		const columns = timeColumns(lines, wall).filter((column) => column.title !== "self");
		columns.splice(2, 0, { ...timed("busy", (line) => line.busy, "time that is covered by events"), bar: (line) => line.busy / wall },
			{ title: "of wall", of: (line) => line.busy, show: (line) => partText(line.busy / wall) });
		columns.unshift(this.nameColumn(title), { title: group, left: true, of: (line) => line.group, show: (line) => line.group });
		return { columns, lines, wall };
	}

	streams() {
		const { columns, lines } = this.placed("streams", "stream", "device");
		const idle = [this.nameColumn("stream"), { title: "device", left: true, of: (line) => line.group, show: (line) => line.group },
			timed("idle", idleOf), ...IDLE_WORDS.map((word, i) => timed(word, (line) => line.idle[i])),
			{ title: "gaps", of: (line) => line.gaps?.count ?? 0, show: (line) => countText(line.gaps?.count ?? 0) },
			quantile("p50", 5, "gaps"), quantile("p99", 9, "gaps"), quantile("longest", 10, "gaps"), spreadColumn(lines, "gaps")];
		const queue = [this.nameColumn("stream"),
			{ title: "events", of: (line) => line.launches?.count ?? 0, show: (line) => countText(line.launches?.count ?? 0) },
			quantile("p50", 5, "launches"), quantile("p90", 7, "launches"), quantile("p99", 9, "launches"),
			quantile("max", 10, "launches"), spreadColumn(lines, "launches")];
		return make("div", {}, new Table(columns, lines, { sorted: 3 }).element,
			make("h2", {}, "Idle, by cause"), new Table(idle, lines, { sorted: 2 }).element,
			make("p", { class: "note" }, "A gap is the time without work before an event of a stream. It is divided into: nothing launched, until the start of the host event that caused the event; waiting for a copy, while a copy ran on another stream of the device; launched, not started, for the rest. Time after the last event counts as nothing launched."),
			make("h2", {}, "Queue: from the start of the host event to the start on the device"), new Table(queue, lines, { sorted: 3 }).element);
	}

	threads() {
		const { columns, lines } = this.placed("threads", "thread", "process");
		return new Table(columns, lines, { sorted: 3 }).element;
	}

	requests() {
		const { lines, all } = this.app.model.facts.requests, counted = (title, of, hint) => ({ title, of, hint, show: (line) => countText(of(line)) });
		const most = lines.reduce((longest, line) => Math.max(longest, line.total), 1);
		const table = new Table([this.nameColumn("trace id"), { ...timed("total", (line) => line.total, "from its beginning to the end of its last event"), bar: (line) => line.total / most },
			timed("queue", (line) => line.queue, "from its beginning until the first event was given to it"),
			counted("events", (line) => line.steps, "events that were given to it: runs or steps"),
			counted("largest batch", (line) => line.batch, "the most requests that one of these events had"),
			counted("kernels", (line) => line.kernels, "device events that it or its batch caused"),
			timed("on devices", (line) => line.device, "the sum of these device events; one of a batch counts for each of its requests")], lines, { sorted: 1 });
		return make("div", {}, table.element,
			make("p", { class: "note" }, all > lines.length ? `The ${countText(lines.length)} longest of ${countText(all)}.` : ""));
	}

	phases() {
		const { lines } = this.app.model.facts.tables.phases;
		const columns = timeColumns(lines).filter((column) => column.title !== "self");
		columns.unshift(this.nameColumn("phase"));
		if (lines.some((line) => line.bytes !== undefined))
			columns.push({ title: "bytes", of: (line) => line.bytes, show: (line) => line.bytes === undefined ? "" : bytesText(line.bytes) },
				{ title: "rate", of: rateOf, show: (line) => line.bytes_ns ? `${bytesText(rateOf(line))}/s` : "", hint: "bytes by the time of the copies that state them" });
		return make("div", {}, new Table(columns, lines, { sorted: 2 }).element,
			make("p", { class: "note" }, "Submit: API calls of the host that caused another event. Queue: from the start of the cause to the start on the device. " +
				"Copies and fills (striped in the timeline) are recognised by the profiler's args, otherwise by their names: " +
				"\u201ccopy in\u201d, \u201cupload\u201d, \u201ch2d\u201d, \u201chtod\u201d; \u201ccopy out\u201d, \u201cdownload\u201d, \u201cd2h\u201d, \u201cdtoh\u201d; \u201ccopy\u201d, \u201cmemcpy\u201d, \u201ctransfer\u201d; fill: \u201cmemset\u201d. All other device events are compute."));
	}

	/* ---- the rows of the timeline ---- */

	/* Every row with buttons that move, fold or pin it; after a click the button of the same row and action has the
	 * focus. */
	rows() {
		const { app } = this, { view } = app, list = make("ul", { class: "rows" });
		const add = (row) => {
			const title = row.title ?? row.name;
			const button = (text, action, label, change, shown = true) => shown ? make("button", {
				type: "button", title: label, "aria-label": `${label}: ${title}`, "data-row": view.model.rows.indexOf(row), "data-action": action,
				onclick: () => {
					app.rows(change);
					this.content.querySelector(`[data-row="${view.model.rows.indexOf(row)}"][data-action="${action}"]`).focus();
				},
			}, text) : make("span");
			const folded = view.folded.has(row), pinned = view.pinned.has(row);
			list.append(make("li", { class: row.tracks ? "group" : "" },
				button("\u2191", "up", "Move up", () => view.move(row, -1)), button("\u2193", "down", "Move down", () => view.move(row, 1)),
				button(folded ? "\u25b8" : "\u25be", "fold", folded ? "Unfold" : "Fold", () => view.fold(row), view.canFold(row)),
				make("span", { class: "name" }, title), make("span", { class: "of" }, row.tracks ? row.kind : row.place),
				button(pinned ? "Unpin" : "Pin", "pin", pinned ? "Let it scroll" : "Keep it in sight", () => view.pin(row), Boolean(row.tracks))));
		};
		for (const group of [...view.groups].sort((a, b) => view.pinned.has(b) - view.pinned.has(a)))
			[group, ...group.tracks].forEach(add);
		const all = (text, change) => make("button", { type: "button", onclick: () => app.rows(change) }, text);
		return make("div", {}, make("p", { class: "go" }, all("Fold or unfold all tracks", () => view.foldAll()), all("Original order", () => view.resetRows())), list);
	}

	/* ---- overview ---- */

	overview() {
		const { facts } = this.app.model, { tables } = facts;
		return make("div", { class: "overview" }, make("div", { class: "words" }, ...this.sentences().map((text) => make("p", {}, text))),
			this.shares(facts, tables), this.longest("Operators", tables.types.lines), this.longest("Ops", tables.ops.lines), this.longest("Kernels", tables.kernels.lines));
	}

	sentences() {
		const { facts } = this.app.model, { tables, trace } = facts, wall = facts.last - facts.first || 1;
		const texts = [];
		const host = `${plural(facts.host_events, "event")} on ${plural(tables.threads.all, "thread")}`;
		const device = `${plural(facts.device_events, "event")} on ${plural(tables.streams.all, "stream")}`;
		texts.push(`${durationText(wall)} of ${trace.program || "a program"}: ${host}${facts.device_events ? `, ${device} of devices` : ""}.`);
		const streams = tables.streams.lines;
		if (streams.length) {
			const busy = streams.reduce((sum, line) => sum + line.busy, 0) / wall / streams.length;
			const causes = IDLE_WORDS.map((word, i) => [word, streams.reduce((sum, line) => sum + line.idle[i], 0)]);
			const idle = causes.reduce((sum, [, part]) => sum + part, 0);
			const [word, most] = causes.reduce((a, b) => b[1] > a[1] ? b : a);
			texts.push(`A stream was busy ${partText(busy)} of the time on average.${idle ? ` Of its idle time, ${partText(most / idle)} was \u201c${word}\u201d.` : ""}`);
		}
		const { findings } = this.advice;
		if (findings.length)
			texts.push(`\u201cAdvice\u201d has ${plural(findings.length, "finding")}: ${findings.map((finding) => finding.rule).join(", ")}.`);
		texts.push(this.lossText());
		if (facts.device_events)
			texts.push(this.clockText());
		return texts;
	}

	lossText() {
		const lost = this.app.lost;
		if (!lost)
			return "Nothing was lost: every event that was emitted is in the trace.";
		return `${plural(lost, "event")} ${lost === 1 ? "was" : "were"} lost; \u201cLosses and clocks\u201d lists producers and reasons.`;
	}

	clockText() {
		const { trace } = this.app.model.facts;
		const joined = Number(trace.correlated) + Number(trace.inferred), error = Number(trace.largest_error_ns);
		const inferred = Number(trace.inferred) ? ` (${countText(trace.inferred)} of them to the one that contains it in time)` : "";
		const outside = Number(trace.outside_parent) ? ` ${plural(Number(trace.outside_parent), "event is", "events are")} outside the host event by more than that.` : "";
		const ambiguous = Number(trace.ambiguous) ? ` Of ${plural(Number(trace.ambiguous), "device event")} several host events could be the cause: ${Number(trace.ambiguous) === 1 ? "it has" : "they have"} no parent.` : "";
		const none = Number(trace.uncorrelated) ? ` ${plural(Number(trace.uncorrelated), "device event has", "device events have")} no host event.` : "";
		return `Device times are within \u00b1 ${durationText(error)} of the host\u2019s clock; ${plural(joined, "device event")}${inferred} joined to the host event that caused ${joined === 1 ? "it" : "them"}.${ambiguous}${none}${outside}`;
	}

	/* One bar for each stream and thread: busy time, and the reasons for idle time. */
	shares(facts, tables) {
		const wall = facts.last - facts.first || 1;
		const bar = (line, parts) => make("div", { class: "share" }, make("span", { class: "name" }, line.name || "(no name)"),
			make("span", { class: "bar" }, ...parts.filter(([, ns]) => ns > 0).map(([name, ns, word]) => {
				const part = make("i", { class: name, title: `${word}: ${durationText(ns)}, ${partText(ns / wall)}` });
				part.style.flexGrow = String(ns / wall);
				return part;
			})), make("span", { class: "figure" }, partText(line.busy / wall)));
		const streams = tables.streams.lines.slice(0, 24).map((line) => bar(line,
			[["busy", line.busy, "busy"], ...line.idle.map((ns, i) => [IDLE_CLASSES[i], ns, IDLE_WORDS[i]])]));
		const threads = tables.threads.lines.slice(0, 12).map((line) => bar(line, [["busy host", line.busy, "busy"], ["rest", wall - line.busy, "no event"]]));
		const key = streams.length ? [["busy", "busy"], ...IDLE_CLASSES.map((name, i) => [name, IDLE_WORDS[i]])] : [["busy host", "busy"]];
		return make("section", { class: "shares" }, make("h2", {}, "Busy and idle time by cause"), ...streams, ...threads,
			make("p", { class: "legend" }, ...key.map(([name, word]) => make("span", {}, make("i", { class: name }), word))),
			streams.length ? make("p", { class: "note" }, IDLE_NOTE) : "");
	}

	longest(title, lines) {
		if (!lines.length)
			return undefined;
		const all = lines.reduce((sum, line) => sum + line.self, 0) || 1;
		const top = [...lines].sort((a, b) => b.self - a.self).slice(0, 7);
		return make("section", { class: "longest" }, make("h2", {}, `${title}, by their own time`), ...top.map((line) => {
			const bar = make("i");
			bar.style.width = `${(100 * line.self / (top[0].self || 1)).toFixed(1)}%`;
			return make("button", { type: "button", class: "line", onclick: () => this.app.highlight(line.name) },
				make("span", { class: "name" }, line.name || "(no name)"), make("span", { class: "figure" }, `${durationText(line.self)}`),
				make("span", { class: "of" }, partText(line.self / all)), make("span", { class: "bar" }, bar));
		}));
	}

	/* ---- the selection ---- */

	selection() {
		const { app } = this;
		if (app.state.selected >= 0)
			return app.details.element(app.state.selected);
		if (app.state.range)
			return this.range(...app.state.range);
		return make("p", { class: "note" }, "Click an event for its details. Drag with \u21e7, or in the axis, to sum up a range of time.");
	}

	/* The events in a time range, by name; of each duration, only the part inside the range counts. */
	range(from, to) {
		const { model } = this.app, { events } = model, sums = new Map();
		for (const track of model.tracks) {
			if (track.kind === "counter")
				continue;
			for (const { list } of track.levels) {
				const last = lowerBound(list, events.start, to);
				for (let i = Math.max(0, lowerBound(list, events.start, from) - 1); i < last; i++) {
					const inside = Math.min(events.end[list[i]], to) - Math.max(events.start[list[i]], from);
					if (inside < 0 || kindOf(events.what[list[i]]) === INSTANT)
						continue;
					const key = events.name[list[i]] * 2 + Number(track.device);
					const sum = sums.get(key) ?? sums.set(key, { name: model.names[events.name[list[i]]], device: track.device, count: 0, total: 0 }).get(key);
					sum.count++;
					sum.total += inside;
				}
			}
		}
		const lines = [...sums.values()], span = to - from;
		const table = new Table([this.nameColumn("name"), { title: "count", of: (line) => line.count, show: (line) => countText(line.count) },
			{ ...timed("total", (line) => line.total, "inside the range"), bar: (line) => line.total / span },
			timed("mean", (line) => line.total / line.count),
			{ title: "where", left: true, of: (line) => Number(line.device), show: (line) => line.device ? "device" : "host" }],
		lines, { sorted: 2, pick: (line) => this.app.highlight(line.name) });
		return make("div", {}, make("h2", {}, `${durationText(span)} from ${timeText(from - model.zero, Math.max(1, span / 100))}`), table.element);
	}

	/* ---- losses and clocks ---- */

	trust() {
		const { facts } = this.app.model, { trace } = facts;
		const whys = (line) => Object.entries(line.lost).map(([reason, count]) => `${countText(count)} ${reason}`).join(", ");
		const lostOf = (line) => Object.entries(line.lost).reduce((sum, [reason, count]) => sum + (reason === "too large" ? 0 : Number(count)), 0);
		const counted = (title, of) => ({ title, of, show: (line) => countText(of(line)) });
		const ledger = new Table([{ title: "producer", left: true, of: (line) => line.producer, show: (line) => make("span", { class: "name" }, line.producer) },
			counted("emitted", (line) => Number(line.emitted)), counted("written", (line) => Number(line.written)),
			counted("open", (line) => Number(line.open)), counted("lost", lostOf),
			{ title: "why", left: true, of: whys, show: whys },
			{ title: "balanced", left: true, of: (line) => Number(line.balanced), show: (line) => line.balanced ? "yes" : "NO" }],
		facts.ledger, { sorted: 1 });
		return make("div", { class: "trust" }, make("h2", {}, "Ledger: emitted = written + open + lost"), ledger.element,
			make("h2", {}, "Clocks"), ...this.clockSentences(trace).map((text) => make("p", { class: "note" }, text)),
			make("h2", {}, "The trace"), make("dl", {}, ...Object.entries(trace).flatMap(([key, value]) =>
				[make("dt", {}, key.replaceAll("_", " ")), make("dd", {}, String(value))])));
	}

	clockSentences(trace) {
		const texts = [];
		const rate = Number(trace.rate_error_ppb);
		texts.push(`The host\u2019s clock is \u201c${trace.clock}\u201d at ${(Number(trace.ticks_per_second) / 1e6).toFixed(2)} MHz, compared ${plural(Number(trace.clock_readings), "time")} with the system\u2019s clocks; the largest uncertainty of a reading is \u00b1 ${durationText(Number(trace.largest_half_width_ns))}.`);
		texts.push(rate ? `Relative to CLOCK_MONOTONIC it ran ${Math.abs(rate / 1000).toFixed(2)} parts in a million too ${rate > 0 ? "fast" : "slow"}.` : "The trace is too short to measure its rate against CLOCK_MONOTONIC.");
		if (Number(trace.largest_step_ns) > 1e6)
			texts.push(`The wall clock was set during the recording, by at most ${durationText(Number(trace.largest_step_ns))}.`);
		if (this.app.model.facts.device_events)
			texts.push(this.clockText());
		return texts;
	}
}
