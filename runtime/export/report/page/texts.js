/* Formats numbers for display. */

const NBSP = "\u00a0", MICRO = "\u00b5";

function durationText(ns) {
	const size = Math.abs(ns);
	const [unit, scale] = size < 1e3 ? ["ns", 1] : size < 1e6 ? [`${MICRO}s`, 1e3] : size < 1e9 ? ["ms", 1e6] : ["s", 1e9];
	const value = ns / scale;
	const digits = scale === 1 ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
	return `${value.toFixed(digits)}${NBSP}${unit}`;
}

function bytesText(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let unit = 0;
	for (; bytes >= 1024 && unit + 1 < units.length; unit++)
		bytes /= 1024;
	return `${bytes.toFixed(!unit || bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2)}${NBSP}${units[unit]}`;
}

const countText = (count) => Math.round(count).toLocaleString("en-US");
const partText = (part) => `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)}${NBSP}%`;
const plural = (count, one, many = `${one}s`) => `${countText(count)} ${count === 1 ? one : many}`;

/* Formats a time with the digits that the step of the axis distinguishes. */
function timeText(ns, step) {
	const [unit, scale] = step < 1e3 && Math.abs(ns) < 1e6 ? ["ns", 1] : step < 1e6 && Math.abs(ns) < 1e9 ? [`${MICRO}s`, 1e3] :
		step < 1e9 && Math.abs(ns) < 1e12 ? ["ms", 1e6] : ["s", 1e9];
	const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / step) - 1e-9)));
	const text = (ns / scale).toFixed(digits).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, "\u202f");
	return `${text}${NBSP}${unit}`;
}
