/* The layout of the events: groups of tracks from top to bottom, devices first, each with levels of events that do not
 * overlap; and the links between causes and effects. */

const SLICE = 1, INSTANT = 2, COUNTER = 3, ASYNC = 5;
const UNENDED = 1, OPEN = 2, ARGS_CUT = 4, ELSEWHERE = 8, UNCORRELATED = 32, OUTSIDE = 64;
const CATEGORIES = ["Session", "Node", "Kernel", "Api"];
const PLACEMENTS = [
	"read from the host\u2019s clock", "converted by a fit over many comparisons of the two clocks",
	"converted by one comparison of the two clocks",
	"converted by one comparison of the two clocks; its cause is the host event that contains it in time",
	"moved inside its host event: only its duration is known", "moved into its host event on request",
	"converted by one comparison of the two clocks; several host events could be its cause",
];
const FLAG_WORDS = [
	[UNENDED, "no end was recorded: it lasted at least this long"], [OPEN, "still open at the end of the trace"],
	[ARGS_CUT, "its args were cut"], [ELSEWHERE, "ended on another thread"],
	[UNCORRELATED, "the host event that caused it is unknown"],
	[OUTSIDE, "outside its host event by more than the error bound"],
];

const kindOf = (what) => what & 7, categoryOf = (what) => what >> 3 & 3;
const placementOf = (what) => what >> 5 & 7, flagsOf = (what) => what >> 8 & 127;

/* Returns the first index in `list`, a list of event numbers, for which keys[list[index]] is at least `value`. */
function lowerBound(list, keys, value, from = 0) {
	let low = from, high = list.length;
	while (low < high) {
		const middle = low + high >>> 1;
		if (keys[list[middle]] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first index whose value is at least `value`, of sorted values. */
function firstAt(values, count, value) {
	let low = 0, high = count;
	while (low < high) {
		const middle = low + high >>> 1;
		if (values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The events of one depth of a track, in order of start; before[i] is the sum of the durations of the events before the
 * i-th. */
class Level {
	constructor(list, events) {
		this.list = list;
		this.before = new Float64Array(list.length + 1);
		for (let i = 0; i < list.length; i++)
			this.before[i + 1] = this.before[i] + events.end[list[i]] - events.start[list[i]];
	}
}

/* Groups event numbers by key: one array for each key, whose size a first pass over the events counts. */
function groupBy(count, keysCount, keyOf) {
	const sizes = new Uint32Array(keysCount);
	for (let i = 0; i < count; i++) {
		const key = keyOf(i);
		if (key >= 0)
			sizes[key]++;
	}
	const lists = Array.from(sizes, (size) => new Uint32Array(size));
	sizes.fill(0);
	for (let i = 0; i < count; i++) {
		const key = keyOf(i);
		if (key >= 0)
			lists[key][sizes[key]++] = i;
	}
	return lists;
}

/* Puts each asynchronous event on the first level that is free at its start. */
function packed(list, events) {
	const ends = [], levels = [];
	for (const event of list) {
		let level = ends.findIndex((end) => end <= events.start[event]);
		if (level < 0)
			level = ends.length < 32 ? ends.push(0) - 1 : 0;
		ends[level] = Math.max(events.end[event], events.start[event] + 1);
		(levels[level] ??= []).push(event);
	}
	return levels.map((one) => Uint32Array.from(one));
}

/* "device 0, stream 2": the numbers of a device's row that its name does not contain. */
function placeText(row) {
	const parts = [["device", row.device], ["stream", Number(row.stream)]];
	return parts.filter(([word, number]) => number >= 0 && row.name !== `${word} ${number}`).map((part) => part.join(" ")).join(", ");
}

class Model {
	constructor(data) {
		Object.assign(this, data);
		const { facts, events } = data;
		this.zero = -facts.base_ns;
		this.first = facts.first - facts.base_ns;
		this.last = Math.max(facts.last - facts.base_ns, this.first + 1);
		if (facts.part) {
			this.first = facts.part.from - facts.base_ns;
			this.last = Math.max(facts.part.to - facts.base_ns, this.first + 1);
		}
		this.findValues();
		this.makeTracks();
		this.causedBy = this.lists(events.cause);
		this.giveColours();
		this.findCopies();
	}

	/* Finds the kind of work of each name of device events ("copy in"), and which names are copies or fills. */
	findCopies() {
		this.works = new Map(this.facts.tables.kernels.lines.map((line) => [line.name, line.work]));
		const copies = new Set(this.facts.tables.kernels.lines.filter((line) => line.copy).map((line) => line.name));
		this.isCopy = this.names.map((name) => copies.has(name));
	}

	/* Finds the index of each counter event in the column of values. */
	findValues() {
		const { events } = this;
		this.valueAt = new Float64Array(this.facts.counters ? events.count : 0);
		for (let i = 0, values = 0; i < this.valueAt.length; i++) {
			if (kindOf(events.what[i]) === COUNTER)
				this.valueAt[i] = this.value(values++);
		}
	}

	/* Inverts the column of causes: returns a function that returns the list of the effects of an event.  The lists
	 * are parts of one array. */
	lists(cause) {
		const count = cause.length, offsets = new Uint32Array(count + 2);
		for (let i = 0; i < count; i++)
			offsets[cause[i] + 2]++;
		for (let i = 1; i <= count + 1; i++)
			offsets[i] += offsets[i - 1];
		const list = new Uint32Array(count), next = offsets.slice();
		for (let i = 0; i < count; i++)
			list[next[cause[i] + 1]++] = i;
		return (event) => list.subarray(offsets[event + 1], offsets[event + 2]);
	}

	makeTracks() {
		const { events, facts } = this;
		const byRow = groupBy(events.count, facts.rows.length, (i) => events.row[i]);
		const rank = (row) => (facts.processes[row.process].device ? 0 : 1e6) + row.process;
		const order = facts.rows.map((row, index) => ({ row, index }));
		order.sort((a, b) => rank(a.row) - rank(b.row) || (a.row.device ?? 0) - (b.row.device ?? 0) || a.row.sort - b.row.sort || a.index - b.index);
		this.tracks = [];
		for (const { row, index } of order)
			this.makeTracksOf(row, index, byRow[index]);
		for (const track of this.tracks) {
			if (track.kind === "counter")
				this.fillCounter(track);
		}
		this.makeGroups();
		this.tracks = this.groups.flatMap((group) => group.tracks);
	}

	/* A group: the tracks of a process, or of a device.  Devices may have the same name. */
	makeGroups() {
		this.groups = [];
		for (const track of this.tracks) {
			const { process, device, row } = track, last = this.groups.at(-1);
			if (last?.process !== process || last.number !== row.device) {
				const [word, number] = device ? ["device", row.device] : ["process", process.pid || -1];
				this.groups.push({ process, device, number: row.device, name: process.name || "(no name)",
					kind: number >= 0 ? `${word} ${number}` : word, tracks: [] });
			}
			track.group = this.groups.at(-1);
			track.group.tracks.push(track);
		}
		/* The counters of a process are above its threads. */
		for (const group of this.groups.filter(({ device }) => !device))
			group.tracks.sort((a, b) => (b.kind === "counter") - (a.kind === "counter"));
		this.rows = this.groups.flatMap((group) => [group, ...group.tracks]);
	}

	makeTracksOf(row, index, list) {
		const { events, facts } = this;
		const process = facts.processes[row.process];
		const lost = facts.losses.find((loss) => loss.track === row.track);
		const title = (row.name || (row.tid ? `thread ${row.tid}` : "(no name)")) + row.lane;
		const base = { row, indexes: [index], process, device: process.device, place: placeText(row), lost: row.lane ? undefined : lost };
		const asyncs = [], counters = new Map();
		let depth = -1;
		for (const event of list) {
			const kind = kindOf(events.what[event]);
			if (kind === ASYNC)
				asyncs.push(event);
			else if (kind === COUNTER)
				(counters.get(events.name[event]) ?? counters.set(events.name[event], []).get(events.name[event])).push(event);
			else
				depth = Math.max(depth, Math.min(events.depth[event], 63));
		}
		if (depth >= 0) {
			const levelOf = (i) => {
				const kind = kindOf(events.what[list[i]]);
				return kind === SLICE || kind === INSTANT ? Math.min(events.depth[list[i]], depth) : -1;
			};
			const lists = groupBy(list.length, depth + 1, levelOf).map((places) => places.map((place) => list[place]));
			this.tracks.push({ ...base, title, kind: "slices", levels: lists.map((one) => new Level(one, events)) });
		}
		if (asyncs.length) {
			const levels = packed(asyncs, events).map((one) => new Level(one, events));
			this.tracks.push({ ...base, title: `${title} (asynchronous)`, kind: "async", levels });
		}
		for (const [name, one] of counters)
			this.addCounter(base, this.names[name], index, one);
	}

	/* A counter that threads record belongs to their process: one track, whichever thread recorded a value. */
	addCounter(base, title, index, list) {
		const { process, device } = base;
		const own = device ? undefined : this.tracks.find((track) => track.kind === "counter" && track.process === process && track.title === title);
		if (own) {
			own.indexes.push(index);
			own.lists.push(list);
		} else {
			this.tracks.push({ ...base, indexes: [index], title, kind: "counter", lists: [list], lost: device ? base.lost : undefined });
		}
	}

	fillCounter(track) {
		const list = Uint32Array.from(track.lists.flat()).sort();
		const values = Float64Array.from(list, (event) => this.valueAt[event]);
		let low = 0, high = 0;
		for (const value of values) {
			low = Math.min(low, value);
			high = Math.max(high, value);
		}
		/* The maximum of each block, so that a pixel with many values can show their maximum without a visit to
		 * each. */
		const blocks = new Float64Array(Math.ceil(values.length / 256)).fill(-Infinity);
		values.forEach((value, i) => { blocks[i >> 8] = Math.max(blocks[i >> 8], value); });
		Object.assign(track, { levels: [new Level(list, this.events)], values, blocks, low, high });
	}

	largest(track, from, to) {
		let largest = -Infinity;
		for (let i = from; i < to;) {
			const whole = i % 256 === 0 && i + 256 <= to;
			largest = Math.max(largest, whole ? track.blocks[i >> 8] : track.values[i]);
			i += whole ? 256 : 1;
		}
		return largest;
	}

	/* Assigns colours in rotation by total time, so that names with much time differ in colour; names that occur
	 * only in the category Session are grey. */
	giveColours() {
		const { events, names } = this;
		this.totals = new Float64Array(names.length);
		this.counts = new Uint32Array(names.length);
		const plain = new Uint8Array(names.length);
		for (let i = 0; i < events.count; i++) {
			const kind = kindOf(events.what[i]);
			if (kind !== SLICE && kind !== ASYNC)
				continue;
			this.totals[events.name[i]] += events.end[i] - events.start[i];
			this.counts[events.name[i]]++;
			plain[events.name[i]] |= categoryOf(events.what[i]) === 0 ? 1 : 2;
		}
		const order = names.map((_, i) => i).filter((i) => plain[i] > 1).sort((a, b) => this.totals[b] - this.totals[a]);
		this.colour = new Uint8Array(names.length).fill(0);
		order.forEach((name, i) => { this.colour[name] = 1 + i % 11; });
	}

	/* Returns the event of the same track that encloses an event.  The cause of a device event is a host event, on
	 * another track, so it is not returned. */
	enclosing(event) {
		const track = this.trackOf(event), depth = this.events.depth[event];
		if (!track || !depth || track.kind !== "slices" || !track.levels[depth - 1])
			return -1;
		const list = track.levels[depth - 1].list;
		const place = lowerBound(list, this.events.start, this.events.start[event] + 0.5) - 1;
		return place >= 0 && this.events.end[list[place]] >= this.events.end[event] ? list[place] : -1;
	}

	/* The nested events of a track: those at the next depth, or at all depths. */
	nested(event, all = false) {
		const { events } = this, track = this.trackOf(event), found = [];
		if (!track || track.kind !== "slices" || kindOf(events.what[event]) !== SLICE)
			return found;
		const depth = events.depth[event] + 1;
		for (const { list } of track.levels.slice(depth, all ? undefined : depth + 1)) {
			for (let i = lowerBound(list, events.start, events.start[event]); i < list.length && events.start[list[i]] <= events.end[event]; i++) {
				if (events.end[list[i]] <= events.end[event])
					found.push(list[i]);
			}
		}
		return found;
	}

	/* The device events that an event, or one nested in it, caused, in order of their start. */
	deviceEventsOf(event) {
		const found = [];
		for (const cause of [event, ...this.nested(event, true)]) {
			for (const child of this.causedBy(cause))
				found.push(child);
		}
		return Uint32Array.from(found).sort();
	}

	trackOf(event) {
		const { events } = this, kind = kindOf(events.what[event]);
		const wanted = kind === ASYNC ? "async" : kind === COUNTER ? "counter" : "slices";
		return this.tracks.find((track) => track.kind === wanted && track.indexes.includes(events.row[event]) &&
			(kind !== COUNTER || track.title === this.names[events.name[event]]));
	}

	levelOf(event, track = this.trackOf(event)) {
		if (!track || track.kind === "counter")
			return 0;
		if (track.kind === "slices")
			return Math.min(this.events.depth[event], track.levels.length - 1);
		return Math.max(0, track.levels.findIndex(({ list }) => list.includes(event)));
	}

	/* The pairs of cause and effect, and the arrows of the program, at an event. */
	linksOf(event) {
		const links = Array.from(this.causedBy(event), (child) => [event, child]);
		if (this.events.cause[event] >= 0)
			links.push([this.events.cause[event], event]);
		for (let i = 0; i < this.arrowFrom.length; i++) {
			if (this.arrowFrom[i] === event || this.arrowTo[i] === event)
				links.push([this.arrowFrom[i], this.arrowTo[i]]);
		}
		return links;
	}

	argsOf(event) {
		const number = this.events.args[event];
		return number ? this.args.value(number - 1) : {};
	}
}
