/* Saves the order of the rows, and which are folded and pinned, in the browser's storage, so that they survive a
 * reload.  A browser may refuse storage; the rows then have their initial order and state after a reload. */

/* Identifies a row in reports of one trace. */
function rowKey(row) {
	const group = row.group ?? row, track = row.group ? [row.kind, row.title, row.place, row.kind === "counter" ? 0 : row.row.tid] : [];
	return JSON.stringify([group.name, group.kind, ...track]);
}

class SavedRows {
	constructor(model) {
		this.key = `epprof rows ${model.facts.trace.file_id}`;
	}

	save(view) {
		const keys = (rows) => Array.from(rows, rowKey);
		const order = keys(view.groups.flatMap((group) => [group, ...group.tracks]));
		try {
			localStorage.setItem(this.key, JSON.stringify({ order, folded: keys(view.folded), pinned: keys(view.pinned) }));
		} catch {
			/* The storage is refused or full. */
		}
	}

	restore(view) {
		try {
			const saved = JSON.parse(localStorage.getItem(this.key));
			if (saved)
				this.apply(view, saved);
		} catch {
			view.resetRows();
		}
	}

	/* Rows that were not saved follow the others. */
	apply(view, { order, folded, pinned }) {
		const place = new Map(order.map((key, i) => [key, i])), placeOf = (row) => place.get(rowKey(row)) ?? order.length;
		const sort = (rows) => rows.sort((a, b) => placeOf(a) - placeOf(b));
		const chosen = (keys) => new Set(view.model.rows.filter((row) => keys.includes(rowKey(row))));
		sort(view.groups);
		view.groups.forEach((group) => sort(group.tracks));
		view.folded = chosen(folded);
		view.pinned = chosen(pinned);
		view.measure();
	}
}
