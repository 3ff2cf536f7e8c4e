/* The view: the visible time range, the heights of the tracks, and the colours. */

/* A colour of perceptually uniform lightness: converts OKLCH to sRGB. */
function oklch(lightness, chroma, hue) {
	const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	const linear = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
	];
	const bytes = linear.map((part) => {
		const value = Math.min(1, Math.max(0, part));
		return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
	});
	return `rgb(${bytes.join(",")})`;
}

const HUES = [255, 155, 65, 310, 195, 25, 110, 280, 345, 225, 85];

/* A colour as a 32-bit pixel: "#rgb...", "rgb(...)" as alpha, blue, green, red. */
function packedColour(text) {
	const [red, green, blue] = text.startsWith("#") ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) : text.match(/\d+/g).map(Number);
	return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

function coloursOf(dark) {
	const style = getComputedStyle(document.documentElement);
	const own = (name) => style.getPropertyValue(`--${name}`).trim();
	const bars = HUES.map((hue, i) => dark ? oklch(0.47 + (i % 2) * 0.05, 0.095, hue) : oklch(0.83 - (i % 2) * 0.045, 0.085, hue));
	/* Stronger colours for bars so narrow that a light colour would not be visible. */
	const thin = [own("enclosing-edge"), ...HUES.map((hue) => dark ? oklch(0.62, 0.12, hue) : oklch(0.7, 0.12, hue))];
	return {
		bars: [own("enclosing"), ...bars],
		thin,
		packed: [own("dim"), ...thin].map(packedColour),
		edges: [own("enclosing-edge"), ...HUES.map((hue) => dark ? oklch(0.66, 0.11, hue) : oklch(0.6, 0.12, hue))],
		text: own("bar-text"), ink: own("ink"), soft: own("soft"), faint: own("faint"), paper: own("paper"),
		line: own("line"), band: own("band"), accent: own("accent"), warn: own("warn"), dim: own("dim"),
	};
}

const BAR = 18, STEP = 19, TRACK_GAP = 9, GROUP_HEAD = 34, AXIS = 30, COUNTER_HEIGHT = 34, ROOM_BELOW = 24;

class View {
	constructor(model) {
		this.model = model;
		this.from = this.wantedFrom = model.first;
		this.to = this.wantedTo = model.last;
		this.scroll = 0;
		this.width = this.height = 0;
		this.fit();
		this.resetRows();
	}

	/* Shows the whole trace, with a small margin. */
	fit() {
		const air = (this.model.last - this.model.first) * 0.01;
		this.show(this.model.first - air, this.model.last + air);
	}

	get gutter() {
		return this.width < 640 ? 96 : 224;
	}
	get pixelsPerNs() {
		return (this.width - this.gutter) / (this.to - this.from);
	}
	x(ns) {
		return this.gutter + (ns - this.from) * this.pixelsPerNs;
	}
	ns(x) {
		return this.from + (x - this.gutter) / this.pixelsPerNs;
	}

	/* Shows at least 10 ns, at most three times the trace. */
	show(from, to) {
		const { first, last } = this.model, length = last - first;
		const span = Math.min(Math.max(to - from, 10), Math.max(length * 3, 10));
		let begin = (from + to) / 2 - span / 2;
		begin = Math.max(first - span * 0.9, Math.min(begin, last - span * 0.1));
		this.wantedFrom = begin;
		this.wantedTo = begin + span;
	}
	pan(ns) {
		this.show(this.wantedFrom + ns, this.wantedTo + ns);
	}
	zoom(factor, around = (this.wantedFrom + this.wantedTo) / 2) {
		this.show(around - (around - this.wantedFrom) * factor, around + (this.wantedTo - around) * factor);
	}
	/* Moves to the target at once, without animation: used while dragging. */
	jump() {
		this.from = this.wantedFrom;
		this.to = this.wantedTo;
	}
	/* Moves one step towards the target.  Returns false if the target was reached before. */
	approach(milliseconds, calm) {
		const part = calm ? 1 : 1 - Math.exp(-milliseconds / 55);
		const rest = Math.abs(this.wantedFrom - this.from) + Math.abs(this.wantedTo - this.to);
		if (part >= 1 || rest < (this.to - this.from) * 1e-4) {
			this.jump();
			return rest > 0;
		}
		this.from += (this.wantedFrom - this.from) * part;
		this.to += (this.wantedTo - this.to) * part;
		return true;
	}

	/* Computes the vertical positions of the groups and their tracks.  Pinned groups come first and do not scroll, unless
	 * they fill more than two thirds of the height. */
	measure() {
		const pinned = this.groups.filter((group) => this.pinned.has(group));
		this.places = [];
		const height = this.placeGroups(pinned, 0);
		this.edge = height <= (this.height - AXIS) * 2 / 3 ? height : 0;
		for (const { group, track } of this.places)
			(track ?? group).fixed = this.edge > 0;
		this.total = this.placeGroups(this.groups.filter((group) => !this.pinned.has(group)), height) + ROOM_BELOW;
		this.scrollTo(this.scroll);
	}
	placeGroups(groups, y) {
		for (const group of groups) {
			this.places.push({ group, y, height: GROUP_HEAD });
			[group.y, group.fixed] = [y, false];
			y += GROUP_HEAD;
			for (const track of this.folded.has(group) ? [] : group.tracks) {
				[track.y, track.fixed] = [y, false];
				track.levelsShown = this.folded.has(track) ? 1 : track.levels.length;
				track.height = track.kind === "counter" ? COUNTER_HEIGHT : track.levelsShown * STEP;
				this.places.push({ track, y, height: track.height });
				y += track.height + TRACK_GAP;
			}
		}
		return y;
	}
	isShown(track) {
		return Boolean(track) && !this.folded.has(track.group);
	}

	/* ---- order and folding of the rows: groups and tracks ---- */

	/* Restores the initial state: devices first and pinned, every row unfolded. */
	resetRows() {
		const { tracks, groups } = this.model;
		this.groups = [...groups];
		for (const group of groups)
			group.tracks = tracks.filter((track) => track.group === group);
		this.pinned = new Set(groups.filter((group) => group.device));
		this.folded = new Set();
		this.measure();
	}
	/* A group folds to its heading, a track to its first level. */
	canFold(row) {
		return Boolean(row.tracks) || row.levels.length > 1;
	}
	fold(row, folded = !this.folded.has(row)) {
		if (folded && this.canFold(row))
			this.folded.add(row);
		else
			this.folded.delete(row);
		this.measure();
	}
	/* Folds all tracks; unfolds them if all are folded. */
	foldAll() {
		const rows = this.model.tracks.filter((track) => this.canFold(track));
		const folded = rows.some((row) => !this.folded.has(row));
		rows.forEach((row) => this.fold(row, folded));
	}
	pin(group) {
		if (!this.pinned.delete(group))
			this.pinned.add(group);
		this.measure();
	}
	/* The rows that can change places with this one, in their order. */
	peers(row) {
		return row.tracks ? this.groups.filter((group) => this.pinned.has(group) === this.pinned.has(row)) : row.group.tracks;
	}
	/* Moves a row before one of its peers; undefined: behind the last. */
	moveBefore(row, peer) {
		const list = row.tracks ? this.groups : row.group.tracks;
		if (peer === row)
			return;
		list.splice(list.indexOf(row), 1);
		list.splice(peer ? list.indexOf(peer) : list.length, 0, row);
		this.measure();
	}
	/* Moves a row up (-1) or down (1) by one; false: it is the first, or the last. */
	move(row, way) {
		const peers = this.peers(row), at = peers.indexOf(row);
		if (!peers[at + way])
			return false;
		this.moveBefore(row, peers[way < 0 ? at - 1 : at + 2]);
		return true;
	}
	/* Returns the peer before which a row that is dropped at the height `y` of the canvas is put. */
	peerAt(row, y) {
		const end = (peer) => {
			const last = peer.tracks && !this.folded.has(peer) ? peer.tracks.at(-1) : peer;
			return this.top(last) + (last.height ?? GROUP_HEAD);
		};
		return this.peers(row).find((peer) => y < (this.top(peer) + end(peer)) / 2);
	}
	scrollTo(y) {
		this.scroll = Math.max(0, Math.min(y, this.total - (this.height - AXIS)));
	}
	placeAt(y) {
		const at = y - AXIS < this.edge ? y - AXIS : y - AXIS + this.scroll;
		return y < AXIS ? undefined : this.places.find((place) => at >= place.y && at < place.y + place.height);
	}
	/* The top of a group or a track on the canvas. */
	top(row) {
		return AXIS + row.y - (row.fixed ? 0 : this.scroll);
	}
	/* The top of a level on the canvas. */
	y(track, level = 0) {
		return this.top(track) + Math.min(level, track.levelsShown - 1) * STEP;
	}
	/* The first visible line of the rows that scroll, or of the pinned ones. */
	topOf(row) {
		return AXIS + (row.fixed ? 0 : this.edge);
	}

	/* The event at a point, or -1.  Narrow events are found up to two pixels away. */
	eventAt(x, y) {
		const place = this.placeAt(y), track = place?.track;
		if (!track || x < this.gutter)
			return -1;
		const { events } = this.model;
		const level = track.kind === "counter" ? 0 : Math.floor((y - this.top(track)) / STEP);
		const list = track.levels[level]?.list;
		if (!list || level >= track.levelsShown)
			return -1;
		const at = this.ns(x), reach = 3 / this.pixelsPerNs;
		let best = -1, nearest = reach;
		const last = lowerBound(list, events.start, at + reach);
		for (let i = last - 1; i >= Math.max(0, last - 64); i--) {
			const before = events.start[list[i]] - at, behind = at - events.end[list[i]];
			const distance = track.kind === "counter" ? (before <= 0 ? 0 : before) : Math.max(0, before, behind);
			if (distance < nearest || (best < 0 && distance === 0)) {
				best = list[i];
				nearest = distance;
			}
			if (nearest === 0)
				break;
		}
		return best;
	}

	/* Scrolls an event into view; `close`: zooms so that it fills a large part of the width. */
	reveal(event, close = false) {
		const { model } = this, start = model.events.start[event], end = model.events.end[event];
		const track = model.trackOf(event), length = Math.max(end - start, 1);
		if (!track)
			return;
		this.fold(track.group, false);
		this.fold(track, false);
		const span = this.wantedTo - this.wantedFrom;
		if (close)
			this.show(start - length * 0.6, end + length * 0.6);
		else if (start < this.wantedFrom || end > this.wantedTo) {
			const wide = Math.max(span, length * 1.4);
			this.show((start + end - wide) / 2, (start + end + wide) / 2);
		}
		const top = this.y(track, model.levelOf(event, track)), first = this.topOf(track);
		if (track.fixed)
			return;
		if (top < first + 8)
			this.scrollTo(this.scroll + top - first - 40);
		else if (top > this.height - 3 * STEP)
			this.scrollTo(this.scroll + top - this.height + 4 * STEP);
	}
}
