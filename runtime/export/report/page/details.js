/* Shows the details of one event: a summary next to the pointer, all of them below the timeline. */

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
		pairs.push(["on", `${track?.title ?? "?"}, ${track?.process.name ?? ""}`]);
		return pairs;
	}

	more(event) {
		const { model } = this.app, { events } = model, what = events.what[event];
		const pairs = [], cause = events.cause[event], start = events.start[event];
		if (cause >= 0)
			pairs.push(["caused by", `${model.names[events.name[cause]]}, which began ${durationText(start - events.start[cause])} before`]);
		else if (what >> 15 && !(flagsOf(what) & UNCORRELATED))
			pairs.push(["caused by", "an event outside of what is shown"]);
		const around = model.enclosing(event);
		if (around >= 0)
			pairs.push(["inside", model.names[events.name[around]]]);
		const children = model.causedBy(event);
		if (children.length) {
			const last = children.reduce((latest, child) => Math.max(latest, events.end[child]), 0);
			pairs.push(["caused", `${plural(children.length, "device event")}, done ${durationText(last - start)} after its start`]);
		}
		pairs.push(["time is", PLACEMENTS[placementOf(what)]]);
		const [before, behind] = [events.startError[event], events.endError[event]];
		if (before || behind)
			pairs.push(["error", before === behind ? `\u00b1 ${durationText(before)}` : `start \u00b1 ${durationText(before)}, end \u00b1 ${durationText(behind)}`]);
		for (const [flag, word] of FLAG_WORDS) {
			if (flagsOf(what) & flag)
				pairs.push(["note", word]);
		}
		return pairs;
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
		const { tip } = this;
		tip.hidden = event < 0;
		if (event < 0)
			return;
		const args = this.args(event).slice(0, 8).map(([key, value]) => [key, value.length > 120 ? `${value.slice(0, 120)}\u2026` : value]);
		tip.replaceChildren(make("b", {}, this.title(event)), this.list([...this.facts(event), ...this.more(event)]),
			args.length ? make("div", { class: "args" }, this.list(args)) : "");
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
		const children = model.causedBy(event);
		if (children.length)
			buttons.push(go("Caused", "C", () => app.toCaused()));
		buttons.push(go("Its name everywhere", "N", () => app.highlight(this.title(event))));
		const args = this.args(event);
		return make("article", { class: "details" },
			make("div", {}, make("h2", {}, this.title(event)), make("p", { class: "go" }, ...buttons),
				this.list([["category", CATEGORIES[categoryOf(events.what[event])]], ...this.facts(event), ...this.more(event)])),
			make("div", {}, make("h2", {}, args.length ? "Args" : "No args"), this.list(args)),
			children.length ? make("div", {}, make("h2", {}, "What it caused"), this.caused(event, children)) : "");
	}

	caused(event, children) {
		const { app } = this, { model } = app, { events } = model;
		const columns = [
			{ title: "event", left: true, of: (child) => model.names[events.name[child]], show: (child) => make("span", { class: "name" }, this.title(child)) },
			timed("waited", (child) => events.start[child] - events.start[event], "from the start of the cause to its own"),
			timed("duration", (child) => events.end[child] - events.start[child]),
			{ title: "on", left: true, of: (child) => events.row[child], show: (child) => model.trackOf(child)?.title ?? "" },
		];
		return new Table(columns, Array.from(children), { sorted: 1, down: false, pick: (child) => app.select(child, true) }).element;
	}
}
