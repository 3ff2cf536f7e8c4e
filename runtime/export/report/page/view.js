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
	/* For bars that are too narrow for a light fill to be visible. */
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
		this.collapsed = new Set();
		this.fit();
		this.measure();
	}

	/* Shows the whole trace, with a small margin. */
	fit() {
		const air = (this.model.last - this.model.first) * 0.01;
		this.show(this.model.first - air, this.model.last + air);
	}

	get gutter() {
		return this.width < 640 ? 96 : 196;
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
	/* Without animation, for dragging. */
	jump() {
		this.from = this.wantedFrom;
		this.to = this.wantedTo;
	}
	/* Moves one step towards the target; returns false when it is reached. */
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

	/* Computes the vertical positions of the tracks: `places` has them and the headings of their processes. */
	measure() {
		let y = 0, process = -1;
		this.places = [];
		for (const track of this.model.tracks) {
			if (track.processIndex !== process) {
				process = track.processIndex;
				this.places.push({ head: track.process, index: process, y, height: GROUP_HEAD });
				y += GROUP_HEAD;
			}
			if (this.collapsed.has(process))
				continue;
			track.y = y;
			track.levelsShown = this.collapsed.has(track) ? 1 : track.levels.length;
			track.height = track.kind === "counter" ? COUNTER_HEIGHT : track.levelsShown * STEP;
			this.places.push({ track, y, height: track.height });
			y += track.height + TRACK_GAP;
		}
		this.total = y + ROOM_BELOW;
		this.scrollTo(this.scroll);
	}
	isShown(track) {
		return Boolean(track) && !this.collapsed.has(track.processIndex);
	}
	toggle(what) {
		if (!this.collapsed.delete(what))
			this.collapsed.add(what);
		this.measure();
	}
	scrollTo(y) {
		this.scroll = Math.max(0, Math.min(y, this.total - (this.height - AXIS)));
	}
	placeAt(y) {
		const at = y - AXIS + this.scroll;
		return y < AXIS ? undefined : this.places.find((place) => at >= place.y && at < place.y + place.height);
	}
	/* The top of a level on the canvas. */
	y(track, level = 0) {
		return AXIS + track.y - this.scroll + Math.min(level, track.levelsShown - 1) * STEP;
	}

	/* The event at a point, or -1.  Narrow events are found up to two pixels away. */
	eventAt(x, y) {
		const place = this.placeAt(y), track = place?.track;
		if (!track || x < this.gutter)
			return -1;
		const { events } = this.model;
		const level = track.kind === "counter" ? 0 : Math.floor((y - AXIS + this.scroll - track.y) / STEP);
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
		if (this.collapsed.has(track.processIndex) || this.collapsed.has(track)) {
			this.collapsed.delete(track.processIndex);
			this.collapsed.delete(track);
			this.measure();
		}
		const span = this.wantedTo - this.wantedFrom;
		if (close)
			this.show(start - length * 0.6, end + length * 0.6);
		else if (start < this.wantedFrom || end > this.wantedTo) {
			const wide = Math.max(span, length * 1.4);
			this.show((start + end - wide) / 2, (start + end + wide) / 2);
		}
		const top = this.y(track, model.levelOf(event, track));
		if (top < AXIS + 8)
			this.scrollTo(this.scroll + top - AXIS - 40);
		else if (top > this.height - 3 * STEP)
			this.scrollTo(this.scroll + top - this.height + 4 * STEP);
	}
}
