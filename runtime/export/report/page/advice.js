/* Shows the findings of the rules of advice, each with its places in the timeline.  A click on a place shows it in the
 * timeline. */

class Advice {
	constructor(app) {
		this.app = app;
		this.findings = app.model.facts.advice ?? [];
	}

	/* Returns the event of a place: the one with the place's times or, if the place is a gap, the one that starts
	 * at its end; -1: the page does not have it. */
	eventOf(place) {
		const { facts, events } = this.app.model, [from, to] = this.timesOf(place);
		const find = (start, end) => {
			for (let i = firstAt(events.start, events.count, start); i < events.count && events.start[i] === start; i++) {
				if (facts.rows[events.row[i]].track === place.track && (end === undefined || events.end[i] === end))
					return i;
			}
			return -1;
		};
		const own = find(from, to);
		return own >= 0 ? own : find(to);
	}
	timesOf(place) {
		const { base_ns } = this.app.model.facts;
		return [place.start - base_ns, place.end - base_ns];
	}
	isShown(place) {
		const { model } = this.app, [from, to] = this.timesOf(place);
		return to >= model.first && from <= model.last;
	}

	trackText(place) {
		const row = this.app.model.facts.rows.find((one) => one.track === place.track);
		return row ? [row.name, this.app.model.facts.processes[row.process].name].filter(Boolean).join(", ") : "";
	}
	place(place) {
		const [from] = this.timesOf(place), { model } = this.app;
		const time = timeText(from - model.zero, 1e3), track = this.trackText(place);
		return make("li", {}, make("button", { type: "button", disabled: !this.isShown(place), onclick: () => this.app.goTo(...this.timesOf(place), this.eventOf(place)) },
			make("b", {}, time), ` for ${durationText(place.end - place.start)}, gain ${durationText(place.gain)}${track && `, ${track}`}`));
	}

	finding(finding) {
		const { facts } = this.app.model, wall = facts.last - facts.first || 1;
		const gain = finding.gain ? `Gain: at most ${durationText(finding.gain)} \u00b1 ${durationText(finding.error)} (${partText(finding.gain / wall)} of the time). ` : "";
		const hidden = finding.places.filter((place) => !this.isShown(place));
		const notes = [finding.count > finding.places.length && `${countText(finding.count - finding.places.length)} more places.`,
			hidden.length && `${plural(hidden.length, "place is", "places are")} outside the part that the timeline shows.`].filter(Boolean);
		return make("section", {}, make("h2", {}, `${finding.rule}: ${finding.title}`), make("p", {}, finding.text),
			make("p", {}, `${gain}Confidence: ${finding.confidence}.`), make("p", {}, `Try: ${finding.remedy}`),
			make("ul", {}, ...finding.places.map((place) => this.place(place))), notes.length ? make("p", { class: "note" }, notes.join(" ")) : "");
	}

	element() {
		return make("div", { class: "advice" }, ...this.findings.map((finding) => this.finding(finding)),
			make("p", { class: "note" }, "A gain is what could be saved at most. Gains of several findings may be the same time, and do not add up."));
	}
}
