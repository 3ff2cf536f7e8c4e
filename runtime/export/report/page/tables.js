/* Tables, which are sorted by a click on a column's title.  Numbers are right-aligned; a bar behind a number shows its
 * share of a total. */

/* Makes an element with a class, attributes and children; strings become text nodes, never markup. */
function make(tag, options = {}, ...children) {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(options)) {
		if (key === "class")
			element.className = value;
		else if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else if (value !== undefined && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
	return element;
}

const ROWS_AT_ONCE = 200;

/* columns: { title, of(line): the sort key, show(line): text or element, left, bar(line): 0 to 1, hint } */
class Table {
	constructor(columns, lines, options = {}) {
		Object.assign(this, { columns, lines: [...lines], options, shown: ROWS_AT_ONCE });
		this.sorted = options.sorted ?? columns.findIndex((column) => !column.left);
		this.down = options.down ?? true;
		this.body = make("tbody");
		this.heads = columns.map((column, index) => make("th", { scope: "col", class: column.left ? "left" : "" },
			make("button", { type: "button", title: column.hint, onclick: () => this.sortBy(index) }, column.title)));
		this.more = make("button", { type: "button", class: "more", onclick: () => this.showMore() });
		const table = make("table", {}, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
		if (options.caption)
			table.prepend(make("caption", {}, options.caption));
		this.element = make("div", { class: "table" }, table, this.more);
		this.sort();
	}

	sortBy(index) {
		this.down = this.sorted === index ? !this.down : !this.columns[index].left;
		this.sorted = index;
		this.sort();
	}

	sort() {
		const column = this.columns[this.sorted], way = this.down ? -1 : 1;
		if (column?.of) {
			this.lines.sort((a, b) => {
				const left = column.of(a), right = column.of(b);
				return way * (typeof left === "string" ? left.localeCompare(right) : (left ?? -1) - (right ?? -1));
			});
		}
		this.heads.forEach((head, index) => {
			head.setAttribute("aria-sort", index !== this.sorted ? "none" : this.down ? "descending" : "ascending");
		});
		this.fill();
	}

	fill() {
		this.body.replaceChildren(...this.lines.slice(0, this.shown).map((line) => this.row(line)));
		const rest = this.lines.length - this.shown;
		this.more.hidden = rest <= 0;
		this.more.textContent = `${countText(Math.max(0, rest))} more`;
	}

	showMore() {
		this.shown = this.shown * 4;
		this.fill();
	}

	row(line) {
		const { pick } = this.options;
		const cells = this.columns.map((column) => {
			const cell = make("td", { class: column.left ? "left" : "" }, column.show(line));
			if (column.bar) {
				cell.classList.add("part");
				cell.style.setProperty("--part", String(Math.min(1, column.bar(line) || 0)));
			}
			return cell;
		});
		if (!pick)
			return make("tr", {}, ...cells);
		return make("tr", {
			class: "pick", tabindex: "0", onclick: () => pick(line),
			onkeydown: (event) => event.key === "Enter" && pick(line),
		}, ...cells);
	}
}

/* The distribution of durations, on one logarithmic scale for the whole table: a thin line from the shortest to the
 * longest, a thick one from the 10th to the 90th percentile, a stroke at the median. */
function spreadColumn(lines, key, title = "spread") {
	let low = Infinity, high = 1;
	for (const line of lines) {
		if (!line[key])
			continue;
		low = Math.min(low, Math.max(1, line[key].q[1]));
		high = Math.max(high, line[key].q[10]);
	}
	const place = (value) => {
		const part = Math.log(Math.max(value, low) / low) / Math.log(Math.max(high / low, 1.01));
		return `${(100 * part).toFixed(1)}%`;
	};
	const span = (name, from, to) => {
		const bar = make("i", { class: name });
		bar.style.left = place(from);
		bar.style.right = `calc(100% - ${place(to)})`;
		return bar;
	};
	return {
		title, left: true, of: (line) => line[key]?.q[5] ?? -1,
		hint: "thin: minimum to maximum; thick: p10 to p90; mark: median (logarithmic scale)",
		show: (line) => {
			const { q } = line[key] ?? {};
			if (!q)
				return "";
			const middle = make("i", { class: "middle" });
			middle.style.left = place(q[5]);
			return make("span", { class: "spread", title: `p1 ${durationText(q[1])}, p10 ${durationText(q[3])}, p50 ${durationText(q[5])}, p90 ${durationText(q[7])}, p99 ${durationText(q[9])}` },
				span("whole", q[0], q[10]), span("most", q[3], q[7]), middle);
		},
	};
}
