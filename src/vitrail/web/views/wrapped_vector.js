// A vector with its numbers written out, wrapped into lines like text.

import {matrix, strip} from "../draw/matrix.js";

/**
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {import("../colour.js").Meaning} Meaning
 */

/** How high a line is. */
export const LINE = 24;

/**
 * How many numbers go on a line: all, or a round number that fits.
 * @param {number} length
 * @param {number} room
 * @param {number} [cellWidth]
 */
export function columnsFor(length, room, cellWidth = 44) {
  const most = Math.max(1, Math.floor(room / cellWidth));
  if (length <= most) return length;
  for (const round of [32, 16, 8, 4]) if (round <= most) return round;
  return most;
}

/**
 * @param {number} length
 * @param {number} columns
 */
export function wrappedHeight(length, columns) {
  return Math.ceil(length / columns) * LINE;
}

/**
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, values: ArrayLike<number>, columns: number, name: string, cellWidth?: number,
 *   meaning?: Meaning, digits?: number, largest?: number, describe?: (index: number) => string[],
 *   onread?: (index: number | null) => void, key?: string, isRead?: boolean}} given
 *   isRead: whether its own numbers can be read
 * @returns {Box}
 */
export function wrappedVector(picture, given) {
  const {x, y, values, columns, cellWidth = 44, digits = 2} = given;
  const fullRows = Math.floor(values.length / columns);
  const largest = given.largest ?? Math.max(...Array.from(values, (value) => Math.abs(value)));
  /** @type {(first: number, rows: number, width: number, top: number) => void} */
  const part = (first, rows, width, top) => {
    const index = (/** @type {number} */ row, /** @type {number} */ column) => first + row * columns + column;
    matrix(picture, {
      x,
      y: top,
      rows,
      columns: width,
      value: (row, column) => values[index(row, column)],
      name: given.name,
      meaning: given.meaning,
      cellWidth,
      cellHeight: LINE,
      largest,
      digits,
      describe: (row, column) =>
        given.describe?.(index(row, column)) ?? [
          `${given.name}, number ${index(row, column)}`,
          String(values[index(row, column)]).replace("-", "−"),
        ],
      onread:
        given.onread && ((row, column) => given.onread?.(row === null || column === null ? null : index(row, column))),
      key: `${given.key ?? given.name}-${first}`,
    });
  };
  const rest = values.length - fullRows * columns;
  const drawn = picture.group({class: "wrapped-vector"}, () => {
    if (fullRows) part(0, fullRows, columns, y);
    if (rest) part(fullRows * columns, 1, rest, y + fullRows * LINE);
  });
  if (given.isRead === false) for (const grid of drawn.querySelectorAll(".readable")) grid.remove();
  return {x, y, width: Math.min(columns, values.length) * cellWidth, height: wrappedHeight(values.length, columns)};
}

/**
 * A strip that cannot be read itself, because something around it can: fewer stops for the keyboard.
 * @param {Picture} picture
 * @param {Parameters<typeof strip>[1]} given
 */
export function bareStrip(picture, given) {
  const drawn = picture.group({}, () => {
    strip(picture, given);
  });
  drawn.querySelector(".readable")?.remove();
}
