// A table of numbers as colours on a canvas, with tokens beside rows and above columns.

const MARGIN = 72; // pixels for a token's name
const WIDTH = 560; // of the map
const HEIGHT = 480;

/**
 * @typedef {object} Picture
 * @property {number} rows
 * @property {number} columns
 * @property {boolean} square  its cells
 * @property {string[] | null} rowNames
 * @property {string[] | null} columnNames
 * @property {(row: number, column: number) => number} value  −1 to 1, or not finite
 */

/**
 * Colours are those of the canvas: its text, and the variables --up and --down.
 * @param {HTMLCanvasElement} canvas
 * @param {Picture} picture
 * @returns the size of a cell, the margins, and the whole width, in pixels
 */
export function paint(canvas, { rows, columns, square, rowNames, columnNames, value }) {
  const width = Math.max(2, Math.floor(Math.min(WIDTH / columns, square ? 28 : WIDTH)));
  const height = square ? width : Math.min(20, Math.max(4, Math.floor(HEIGHT / rows)));
  const left = rowNames && height >= 12 ? MARGIN : 0;
  const top = columnNames && width >= 12 ? MARGIN : 0;
  const all = left + columns * width;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = all * ratio;
  canvas.height = (top + rows * height) * ratio;
  canvas.style.width = `${all}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(canvas);
  const [up, down] = ["--up", "--down"].map((name) => style.getPropertyValue(name));
  context.scale(ratio, ratio);
  context.font = `12px ${style.fontFamily}`;
  context.fillStyle = style.color;
  context.strokeStyle = style.color;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let row = 0; left && row < rows; row++) {
    context.fillText(rowNames?.[row] ?? "", left - 4, top + (row + 0.5) * height, left - 4);
  }
  for (let c = 0; top && c < columns; c++) {
    context.save();
    context.translate(left + (c + 0.5) * width, top - 4);
    context.rotate(Math.PI / 2);
    context.fillText(columnNames?.[c] ?? "", 0, 0, top - 4);
    context.restore();
  }
  for (let row = 0; row < rows; row++) {
    for (let c = 0; c < columns; c++) {
      const [share, x, y] = [value(row, c), left + c * width, top + row * height];
      context.globalAlpha = Number.isFinite(share) ? Math.min(1, Math.abs(share)) : 0.35;
      if (Number.isFinite(share)) {
        context.fillStyle = share < 0 ? down : up;
        context.fillRect(x, y, width, height);
      } else {
        context.beginPath();
        context.moveTo(x, y + height);
        context.lineTo(x + width, y);
        context.stroke();
      }
    }
  }
  return { width, height, left, top, all };
}
