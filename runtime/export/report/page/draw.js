/* Draws the timeline on the canvas.  The cost depends on the number of pixels, not of events: events that share a pixel
 * are drawn as one bar whose opacity shows how much of the pixel they fill. */

class Painter {
	constructor(model, view, state) {
		Object.assign(this, { model, view, state });
		this.widths = new Map();
	}

	useColours(dark) {
		this.colours = coloursOf(dark);
		this.hatch = this.stripe = undefined;
	}

	/* Returns the beginning of a text that fits into `room` pixels; "" if fewer than two letters fit. */
	cut(context, text, room) {
		let width = this.widths.get(text);
		if (width === undefined) {
			width = context.measureText(text).width;
			this.widths.set(text, width);
		}
		if (width <= room)
			return text;
		const short = (letters) => `${text.slice(0, letters)}\u2026`;
		let letters = room > 14 ? Math.floor(text.length * room / width) : 0;
		while (letters > 1 && context.measureText(short(letters)).width > room)
			letters--;
		return letters < 2 ? "" : short(letters);
	}

	hatching(context) {
		if (!this.hatch) {
			const tile = new OffscreenCanvas(8, 8), pen = tile.getContext("2d");
			pen.strokeStyle = this.colours.warn;
			pen.lineWidth = 1.6;
			for (const x of [-8, 0, 8]) {
				pen.moveTo(x, 8);
				pen.lineTo(x + 8, 0);
			}
			pen.stroke();
			this.hatch = context.createPattern(tile, "repeat");
		}
		return this.hatch;
	}

	/* Returns the pattern of stripes that is drawn over the bars of copies and fills. */
	stripes(context) {
		if (!this.stripe) {
			const tile = new OffscreenCanvas(6, 6), pen = tile.getContext("2d");
			pen.strokeStyle = this.colours.text;
			pen.globalAlpha = 0.22;
			pen.lineWidth = 1.5;
			for (const x of [-6, 0, 6]) {
				pen.moveTo(x, 6);
				pen.lineTo(x + 6, 0);
			}
			pen.stroke();
			this.stripe = context.createPattern(tile, "repeat");
		}
		return this.stripe;
	}

	/* ---- the whole canvas ---- */

	draw(context) {
		const { view, colours } = this;
		if (this.strips?.width !== view.width)
			this.strips = new Strips(view.width);
		context.fillStyle = colours.paper;
		context.fillRect(0, 0, view.width, view.height);
		context.font = this.font(11);
		context.textBaseline = "middle";
		this.drawGrid(context);
		this.drawRows(context, AXIS, view.edge, true);
		this.drawRows(context, AXIS + view.edge, view.height - AXIS - view.edge, false);
		if (view.edge) {
			context.fillStyle = colours.faint;
			context.fillRect(0, AXIS + view.edge - 1, view.width, 1);
		}
		this.drawAxis(context);
	}

	/* Draws the pinned rows, or those that scroll, between `top` and `top + height`. */
	drawRows(context, top, height, fixed) {
		const { view } = this;
		const rows = view.places.map((place) => place.track ?? place.group).filter((row) => {
			const y = view.top(row);
			return row.fixed === fixed && y < top + height && y + (row.height ?? GROUP_HEAD) + TRACK_GAP > top;
		});
		context.save();
		context.beginPath();
		context.rect(0, top, view.width, height);
		context.clip();
		for (const row of rows) {
			if (row.levels)
				this.drawTrack(context, row, view.top(row));
		}
		this.strips.draw(context);
		for (const row of rows) {
			if (row.levels)
				this.drawLabel(context, row, view.top(row));
			else
				this.drawHead(context, row, view.top(row));
		}
		context.restore();
	}

	font(size, weight = 400) {
		return `${weight} ${size}px ${this.state.family}`;
	}

	/* ---- time axis ---- */

	ticks() {
		const { view } = this;
		const rough = 110 / view.pixelsPerNs, power = 10 ** Math.floor(Math.log10(rough));
		const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= rough));
		const list = [];
		for (let at = Math.ceil((view.from - this.zero) / step) * step; at <= view.to - this.zero; at += step)
			list.push(at);
		return { step, list };
	}
	/* The axis starts at the start of the trace. */
	get zero() {
		return this.model.zero;
	}

	drawGrid(context) {
		const { view, colours } = this;
		context.fillStyle = colours.line;
		for (const at of this.ticks().list)
			context.fillRect(Math.round(view.x(at + this.zero)), AXIS, 1, view.height);
	}

	drawAxis(context) {
		const { view, colours } = this, { step, list } = this.ticks();
		context.fillStyle = colours.paper;
		context.fillRect(0, 0, view.width, AXIS);
		context.font = this.font(11);
		context.textAlign = "left";
		for (const at of list) {
			const x = Math.round(view.x(at + this.zero));
			context.fillStyle = colours.line;
			context.fillRect(x, AXIS - 9, 1, 9);
			if (x < view.gutter - 1)
				continue;
			context.fillStyle = colours.soft;
			context.fillText(timeText(at, step), x + 5, AXIS / 2 + 1);
		}
		context.fillStyle = colours.paper;
		context.fillRect(0, 0, view.gutter, AXIS);
		context.fillStyle = colours.soft;
		context.fillText(`${durationText(view.to - view.from)} shown`, 14, AXIS / 2 + 1);
		context.fillStyle = colours.faint;
		context.fillRect(0, AXIS - 1, view.width, 1);
	}

	/* ---- labels ---- */

	foldMark(row) {
		return this.view.folded.has(row) ? "\u25b8" : "\u25be";
	}

	drawHead(context, group, y) {
		const { view, colours } = this;
		context.fillStyle = colours.band;
		context.fillRect(0, y + 8, view.width, GROUP_HEAD - 13);
		context.fillStyle = colours.ink;
		context.font = this.font(12, 600);
		context.textAlign = "left";
		const middle = y + 8 + (GROUP_HEAD - 13) / 2;
		context.fillText(`${this.foldMark(group)} ${group.name}`, 12, middle);
		const width = context.measureText(`${group.name}    `).width;
		context.font = this.font(11);
		context.fillStyle = colours.soft;
		context.fillText(group.kind, 24 + width, middle);
	}

	drawLabel(context, track, y) {
		const { view, colours } = this, middle = y + (track.kind === "counter" ? COUNTER_HEIGHT : BAR) / 2;
		context.fillStyle = colours.paper;
		context.fillRect(0, y - TRACK_GAP / 2, view.gutter - 1, track.height + TRACK_GAP);
		context.font = this.font(11.5);
		context.fillStyle = colours.ink;
		context.textAlign = "left";
		let room = view.gutter - 30;
		if (track.lost) {
			const text = `${countText(track.lost.lost)} lost`;
			context.font = this.font(10.5, 600);
			const width = context.measureText(text).width;
			context.fillStyle = colours.warn;
			context.fillText(text, view.gutter - 12 - width, middle);
			context.font = this.font(11.5);
			context.fillStyle = colours.ink;
			room -= width + 8;
		}
		const title = this.cut(context, track.title, room);
		context.fillText(title, 24, middle);
		const used = context.measureText(title).width + 9;
		context.fillStyle = colours.soft;
		context.fillText(this.cut(context, track.place, room - used), 24 + used, middle);
		if (view.canFold(track))
			context.fillText(this.foldMark(track), 12, middle);
		context.fillStyle = colours.line;
		context.fillRect(view.gutter - 1, y - TRACK_GAP / 2, 1, track.height + TRACK_GAP);
	}

	/* ---- tracks ---- */

	drawTrack(context, track, y) {
		const { view } = this;
		context.save();
		context.beginPath();
		context.rect(view.gutter, y - TRACK_GAP, view.width - view.gutter, track.height + 2 * TRACK_GAP);
		context.clip();
		this.drawLoss(context, track, y);
		if (track.kind === "counter")
			this.drawCounter(context, track, y);
		else
			for (let level = 0; level < track.levelsShown; level++)
				this.drawLevel(context, track, track.levels[level], y + level * STEP);
		context.restore();
	}

	/* Events that a ring overwrote are older than the first event of a track, events that a full file refused are
	 * later than its last.  The times of other losses are unknown, so a line below the whole track marks the track
	 * as incomplete. */
	drawLoss(context, track, y) {
		const { view, model } = this;
		if (!track.lost)
			return;
		const list = track.levels[0].list, { events, facts } = model;
		const [begin, end] = [model.first, model.last], first = events.start[list[0]], last = events.end[list[list.length - 1]];
		const bands = [];
		if (track.lost.policy && facts.policy === "ring")
			bands.push([begin, first, y, track.height]);
		if (track.lost.policy && facts.policy === "stop")
			bands.push([last, end, y, track.height]);
		if (track.lost.lost > track.lost.policy)
			bands.push([begin, end, y + track.height, 4]);
		for (const [from, to, top, height] of bands) {
			const x = view.x(from);
			context.fillStyle = this.hatching(context);
			context.fillRect(x, top, view.x(to) - x, height);
		}
	}

	drawLevel(context, track, level, y) {
		const { view, model, state } = this, { events } = model, { list } = level;
		const scale = view.pixelsPerNs, nsPerPixel = 1 / scale;
		let i = lowerBound(list, events.start, view.from);
		if (i > 0 && events.end[list[i - 1]] > view.from)
			i--;
		let pixels;
		while (i < list.length) {
			const event = list[i], start = view.x(events.start[event]), end = view.x(events.end[event]);
			if (start > view.width)
				break;
			if (end - start >= 2 || kindOf(events.what[event]) === INSTANT && !this.crowded(level, i, nsPerPixel)) {
				this.drawEvent(context, track, event, start, end, y);
				i++;
				continue;
			}
			/* The pixel where the event begins, and all events that begin in it. */
			const pixel = Math.floor(start);
			let next = lowerBound(list, events.start, events.start[event] + (pixel + 1 - start) * nsPerPixel, i + 1);
			if (next === i)
				next++;
			const filled = (level.before[next] - level.before[i]) * scale;
			/* A short event without neighbours is drawn wide enough to be visible. */
			const alone = next === i + 1 && (next === list.length || view.x(events.start[list[next]]) > pixel + 4);
			const colour = this.colours.packed[state.isDim(event) ? 0 : 1 + model.colour[events.name[event]]];
			const packed = alone ? colour : (colour & 0xffffff | Math.round(255 * Math.min(1, Math.max(0.4, filled))) << 24) >>> 0;
			if (pixel >= view.gutter && pixel < view.width) {
				pixels ??= this.strips.row(context, y + 1);
				pixels[pixel] = packed;
				if (alone)
					pixels[pixel + 1] = packed;
			}
			i = next;
		}
	}

	/* Returns true if the next instant is so close that the marks would overlap. */
	crowded(level, i, nsPerPixel) {
		const { start } = this.model.events, { list } = level;
		return i + 1 < list.length && start[list[i + 1]] - start[list[i]] < 6 * nsPerPixel;
	}

	drawEvent(context, track, event, start, end, y) {
		const { view, model, colours, state } = this, { events } = model;
		const what = events.what[event], flags = flagsOf(what), colour = model.colour[events.name[event]];
		const dim = state.isDim(event), name = model.names[events.name[event]];
		context.globalAlpha = 1;
		if (kindOf(what) === INSTANT) {
			this.drawInstant(context, name, start, y, dim);
			return;
		}
		const x = Math.max(start, view.gutter - 4), right = Math.min(end, view.width + 4);
		const width = Math.max(1, right - x - (end - start > 4 ? 1 : 0));
		context.fillStyle = dim ? colours.dim : width < 4 ? colours.thin[colour] : colours.bars[colour];
		context.beginPath();
		context.roundRect(x, y, width, BAR, track.kind === "async" ? 8 : 2.5);
		context.fill();
		if (track.device && width > 5 && !dim && model.isCopy[events.name[event]]) {
			context.fillStyle = this.stripes(context);
			context.fill();
		}
		if (flags & (UNENDED | OPEN))
			this.drawOpenEnd(context, x, width, y);
		if (flags & (UNCORRELATED | OUTSIDE) && width > 5) {
			context.strokeStyle = colours.warn;
			context.setLineDash(flags & OUTSIDE ? [] : [3, 2]);
			context.strokeRect(x + 0.5, y + 0.5, width - 1, BAR - 1);
			context.setLineDash([]);
		} else if (width > 8) {
			context.fillStyle = dim ? colours.dim : colours.edges[colour];
			context.fillRect(x, y + 2, 2, BAR - 4);
		}
		this.drawErrors(context, event, start, end, y);
		if (width < 24)
			return;
		const left = Math.max(x, view.gutter) + 6;
		context.font = this.font(11);
		const text = this.cut(context, name, right - left - 6);
		if (!text)
			return;
		context.fillStyle = dim ? colours.soft : colours.text;
		context.textAlign = "left";
		context.fillText(text, left, y + BAR / 2 + 0.5);
		const room = right - left - 18 - (this.widths.get(name) ?? 0);
		if (room > 60 && !dim) {
			context.globalAlpha = 0.7;
			context.fillText(durationText(events.end[event] - events.start[event]), left + (this.widths.get(name) ?? 0) + 9, y + BAR / 2 + 0.5);
			context.globalAlpha = 1;
		}
	}

	/* Draws a torn right edge: the end of the event was not recorded. */
	drawOpenEnd(context, x, width, y) {
		const teeth = Math.min(6, width);
		context.fillStyle = this.colours.paper;
		context.beginPath();
		context.moveTo(x + width + 1, y - 1);
		for (let i = 0; i <= 6; i++)
			context.lineTo(x + width - (i % 2 ? teeth : 0), y + i * BAR / 6);
		context.lineTo(x + width + 1, y + BAR + 1);
		context.fill();
	}

	drawInstant(context, name, x, y, dim) {
		context.fillStyle = dim ? this.colours.dim : this.colours.ink;
		context.beginPath();
		context.moveTo(x, y + 3);
		context.lineTo(x + 5, y + BAR / 2);
		context.lineTo(x, y + BAR - 3);
		context.lineTo(x - 5, y + BAR / 2);
		context.fill();
	}

	/* Draws the error bounds of start and end if they are wide enough to be visible. */
	drawErrors(context, event, start, end, y) {
		const { events } = this.model, scale = this.view.pixelsPerNs;
		for (const [x, error] of [[start, events.startError[event] * scale], [end, events.endError[event] * scale]]) {
			if (error < 2.5 || end - start < 6)
				continue;
			context.fillStyle = this.colours.ink;
			context.globalAlpha = 0.55;
			context.fillRect(x - error, y + BAR / 2 - 0.5, 2 * error, 1);
			context.fillRect(x - error, y + BAR / 2 - 3, 1, 6);
			context.fillRect(x + error - 1, y + BAR / 2 - 3, 1, 6);
			context.globalAlpha = 1;
		}
	}

	drawCounter(context, track, y) {
		const { view, model, colours } = this, { events } = model, [{ list }] = track.levels;
		const top = y + 3, height = COUNTER_HEIGHT - 6, range = track.high - track.low || 1;
		const level = (value) => top + height - height * (value - track.low) / range;
		let i = Math.max(0, lowerBound(list, events.start, view.from) - 1);
		context.beginPath();
		context.moveTo(view.x(events.start[list[i]]), level(track.low));
		let x = view.x(events.start[list[i]]);
		while (i < list.length && x < view.width) {
			const next = Math.max(i + 1, lowerBound(list, events.start, view.ns(Math.floor(x) + 1), i + 1));
			const at = level(model.largest(track, i, next));
			context.lineTo(x, at);
			x = next < list.length ? view.x(events.start[list[next]]) : Math.min(view.width + 2, view.x(model.last));
			context.lineTo(x, at);
			i = next;
		}
		context.lineTo(x, level(track.low));
		context.globalAlpha = 0.45;
		context.fillStyle = colours.bars[1];
		context.fill();
		context.globalAlpha = 1;
		context.strokeStyle = colours.thin[1];
		context.lineWidth = 1;
		context.stroke();
		context.fillStyle = colours.soft;
		context.textAlign = "left";
		context.fillText(track.high.toLocaleString("en-US"), view.gutter + 5, top + 6);
	}

	/* ---- overlay that changes with the pointer ---- */

	drawMarks(context) {
		const { view, state, colours, model } = this;
		context.clearRect(0, 0, view.width, view.height);
		context.save();
		context.beginPath();
		context.rect(view.gutter, AXIS, view.width - view.gutter, view.height - AXIS);
		context.clip();
		if (state.range) {
			const [from, to] = state.range.map((ns) => view.x(ns));
			context.globalAlpha = 0.13;
			context.fillStyle = colours.accent;
			context.fillRect(from, AXIS, to - from, view.height);
			context.globalAlpha = 1;
			context.fillRect(Math.round(from), AXIS, 1, view.height);
			context.fillRect(Math.round(to), AXIS, 1, view.height);
		}
		if (state.hover >= 0)
			this.outline(context, state.hover, colours.ink, 1);
		if (state.selected >= 0) {
			this.drawFlows(context);
			this.outline(context, state.selected, colours.accent, 2.5);
		}
		context.restore();
		this.drawPointer(context);
		if (state.drop)
			this.drawDrop(context, state.drop);
		if (state.range)
			this.drawRangeText(context, model);
	}

	/* Draws a line where a dragged row will be put. */
	drawDrop(context, { row, before }) {
		const { view } = this, last = view.peers(row).at(-1), end = last.tracks && !view.folded.has(last) ? last.tracks.at(-1) : last;
		const y = before ? view.top(before) : view.top(end) + (end.height ?? GROUP_HEAD) + TRACK_GAP;
		context.fillStyle = this.colours.accent;
		context.fillRect(0, Math.round(y - TRACK_GAP / 2) - 1, view.width, 2);
		context.globalAlpha = 0.13;
		context.fillRect(0, view.top(row), view.width, row.height ?? GROUP_HEAD);
		context.globalAlpha = 1;
	}

	drawPointer(context) {
		const { view, state, colours } = this;
		if (state.pointer === undefined || state.pointer < view.gutter)
			return;
		context.fillStyle = colours.faint;
		context.fillRect(Math.round(state.pointer), AXIS, 1, view.height);
		const text = timeText(view.ns(state.pointer) - this.zero, Math.max(1, 2 / view.pixelsPerNs));
		this.tag(context, text, state.pointer, colours.ink, colours.paper);
	}

	drawRangeText(context) {
		const { view, state, colours } = this, [from, to] = state.range;
		this.tag(context, durationText(to - from), (view.x(from) + view.x(to)) / 2, colours.accent, colours.paper);
	}

	tag(context, text, x, back, front) {
		context.font = this.font(11, 600);
		context.textBaseline = "middle";
		const width = context.measureText(text).width + 12;
		const left = Math.max(this.view.gutter, Math.min(x - width / 2, this.view.width - width));
		context.fillStyle = back;
		context.beginPath();
		context.roundRect(left, 5, width, 19, 4);
		context.fill();
		context.fillStyle = front;
		context.textAlign = "left";
		context.fillText(text, left + 6, 15);
	}

	boxOf(event) {
		const { view, model } = this, track = model.trackOf(event);
		if (!view.isShown(track))
			return undefined;
		const x = view.x(model.events.start[event]), end = view.x(model.events.end[event]);
		const level = model.levelOf(event, track);
		return { x, y: view.y(track, level), top: view.topOf(track), width: Math.max(3, end - x), height: track.kind === "counter" ? COUNTER_HEIGHT : BAR };
	}

	outline(context, event, colour, width) {
		const box = this.boxOf(event);
		if (!box)
			return;
		if (box.y < box.top - BAR / 2)
			return;
		const left = Math.max(box.x, this.view.gutter - 8), right = Math.min(box.x + box.width, this.view.width + 8);
		context.strokeStyle = colour;
		context.lineWidth = width;
		context.beginPath();
		context.roundRect(left - 1, box.y - 1, Math.max(4, right - left + 1), box.height + 2, 3.5);
		context.stroke();
	}

	/* Draws arrows from causes to effects; at most 400 that are in the view.  An arrow from or to an event that is scrolled
	 * out of sight above begins or ends at the border. */
	drawFlows(context) {
		const { view, state } = this, { events } = this.model;
		let drawn = 0;
		context.strokeStyle = context.fillStyle = this.colours.accent;
		context.lineWidth = 1.4;
		for (const [from, to] of state.links) {
			if (events.end[to] < view.from && events.end[from] < view.from || events.start[from] > view.to)
				continue;
			this.drawArrow(context, this.boxOf(from), this.boxOf(to));
			if (++drawn === 400)
				break;
		}
	}

	drawArrow(context, from, to) {
		if (!from || !to)
			return;
		for (const box of [from, to])
			box.y = Math.max(box.y, box.top - box.height);
		const down = to.y > from.y, x1 = from.x, x2 = to.x;
		const y1 = down ? from.y + from.height : from.y, y2 = down ? to.y : to.y + to.height;
		const head = down ? -5 : 5, bend = (y2 + head - y1) * 0.5;
		context.beginPath();
		context.moveTo(x1, y1);
		context.bezierCurveTo(x1, y1 + bend, x2, y2 + head - bend, x2, y2 + head);
		context.stroke();
		context.beginPath();
		context.moveTo(x2, y2);
		context.lineTo(x2 - 3.5, y2 + head * 1.3);
		context.lineTo(x2 + 3.5, y2 + head * 1.3);
		context.fill();
	}
}
