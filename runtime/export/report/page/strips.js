/* Draws events that are narrower than a pixel.  Each level is drawn into one row of pixels of an image; then all rows
 * are stretched to the height of a bar. */
class Strips {
	constructor(width) {
		this.width = width;
		this.canvas = new OffscreenCanvas(width, 128);
		this.image = new ImageData(width, 128);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.tops = [];
	}

	/* The row of pixels of the level at `y`; valid until the next draw. */
	row(context, y) {
		if (this.tops.length === 128)
			this.draw(context);
		const place = this.tops.push(y) - 1;
		return this.pixels.subarray(place * this.width, (place + 1) * this.width);
	}

	draw(context) {
		const { tops, width } = this;
		if (!tops.length)
			return;
		this.canvas.getContext("2d").putImageData(this.image, 0, 0, 0, 0, width, tops.length);
		context.imageSmoothingEnabled = false;
		tops.forEach((y, place) => context.drawImage(this.canvas, 0, place, width, 1, 0, y, width, BAR - 2));
		this.pixels.fill(0, 0, tops.length * width);
		tops.length = 0;
	}
}
