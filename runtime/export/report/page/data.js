/* Decodes the data: text in the page, base64 of a zlib stream of sections.  html.h describes the sections. */

async function inflate(text) {
	const packed = atob(text);
	const bytes = new Uint8Array(packed.length);
	for (let i = 0; i < packed.length; i++)
		bytes[i] = packed.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function sectionsOf(bytes) {
	const view = new DataView(bytes.buffer);
	const sections = [];
	for (let at = 0; at < bytes.length;) {
		const count = view.getUint32(at, true);
		sections.push(bytes.subarray(at + 4, at + 4 + count));
		at += 4 + count;
	}
	return sections;
}

/* Decodes LEB128 numbers; numbers beyond 32 bits are exact up to 2^53. */
function fill(numbers, bytes) {
	for (let i = 0, at = 0; i < numbers.length; i++) {
		let byte = bytes[at++], value = byte & 127;
		for (let weight = 128; byte > 127; weight *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * weight;
		}
		numbers[i] = value;
	}
	return numbers;
}

/* Counts the numbers of a column. */
function countOf(bytes) {
	let count = 0;
	for (let i = 0; i < bytes.length; i++)
		count += bytes[i] < 128;
	return count;
}

/* Texts, one a line, decoded when they are first used. */
class Texts {
	constructor(bytes) {
		this.bytes = bytes;
		this.ends = [];
		this.decoder = new TextDecoder();
		for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1))
			this.ends.push(at);
		this.count = this.ends.length;
	}
	json(number) {
		const from = number ? this.ends[number - 1] + 1 : 0;
		return this.decoder.decode(this.bytes.subarray(from, this.ends[number]));
	}
	value(number) {
		return JSON.parse(this.json(number));
	}
}

/* An event is an index, in order of start; each column has its value at that index. */
async function readData(text) {
	const sections = sectionsOf(await inflate(text));
	const facts = JSON.parse(new TextDecoder().decode(sections[0]));
	const count = facts.shown;
	const column = (index, type, length = count) => fill(new type(length), sections[3 + index]);

	const start = column(0, Float64Array), end = column(1, Float64Array);
	for (let i = 0, now = 0; i < count; i++) {
		now += start[i];
		start[i] = now;
		end[i] += now;
	}
	const events = {
		count, start, end,
		row: column(2, Uint32Array), depth: column(3, Uint16Array), name: column(4, Uint32Array),
		what: column(5, Uint16Array), startError: column(6, Float64Array), endError: column(7, Float64Array),
		args: column(8, Uint32Array), launch: column(14, Float64Array),
	};
	const nameTexts = new Texts(sections[1]);
	const names = [];
	for (let i = 0; i < nameTexts.count; i++)
		names.push(nameTexts.value(i));

	const values = new DataView(sections[3 + 9].buffer, sections[3 + 9].byteOffset, sections[3 + 9].byteLength);
	const causedCount = countOf(sections[3 + 10]);
	const caused = column(10, Uint32Array, causedCount), cause = column(11, Float64Array, causedCount);
	events.cause = new Int32Array(count).fill(-1);
	for (let i = 0, event = 0; i < causedCount; i++) {
		event += caused[i];
		events.cause[event] = event - (cause[i] % 2 ? -(cause[i] + 1) / 2 : cause[i] / 2);
	}
	const arrowsCount = countOf(sections[3 + 12]);
	return {
		facts, events, names, args: new Texts(sections[2]),
		value: (index) => values.getFloat64(8 * index, true),
		arrowFrom: column(12, Uint32Array, arrowsCount), arrowTo: column(13, Uint32Array, arrowsCount),
	};
}
