// A table of numbers: named rows, one column per token.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {decimal, precise} from "../numbers.js";
import {label} from "./label.js";
import {readable} from "./reading.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Box} Box
 * @typedef {{
 *   name: string, values: ArrayLike<number>, meaning?: import("../colour.js").Meaning, digits?: number, bold?: boolean,
 *   write?: (value: number) => string}} TableRow
 */

/**
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, columns: string[], rows: TableRow[], name: string, cellWidth?: number, rowHeight?: number,
 *   nameWidth?: number, current?: number, describe?: (row: number, column: number) => string[],
 *   onpick?: (row: number, column: number) => void, size?: number, key?: string}} given
 * @returns {Box} of the numbers alone
 */
export function numberTable(picture, given) {
  const {x, y, columns, rows, rowHeight = 34, current, size = 15} = given;
  const nameWidth = given.nameWidth ?? Math.max(...rows.map((row) => picture.ruler.width(row.name, 14, true))) + 16;
  const cellWidth = given.cellWidth ?? Math.max(58, ...columns.map((name) => picture.ruler.width(name, 14, true) + 16));
  const left = x + nameWidth;
  const top = y + 28;
  columns.forEach((name, column) => {
    const middle = left + (column + 0.5) * cellWidth;
    const text = picture.ruler.fit(name, cellWidth - 6, 14, column === current);
    label(picture, {x: middle, y: y + 18, text, anchor: "middle", bold: column === current});
  });
  rows.forEach((row, index) => {
    const middle = top + (index + 0.5) * rowHeight + size * 0.35;
    const {soft} = shades(row.meaning ?? "neutral", picture.theme);
    picture.add(
      shape("rect", {
        x: left,
        y: top + index * rowHeight + 2,
        width: columns.length * cellWidth,
        height: rowHeight - 4,
        rx: 6,
        fill: soft,
      }),
    );
    label(picture, {
      x: left - 12,
      y: middle,
      text: row.name,
      size: 14,
      bold: true,
      anchor: "end",
      meaning: row.meaning,
    });
    for (let column = 0; column < columns.length; column++) {
      const value = row.values[column];
      label(picture, {
        x: left + (column + 0.5) * cellWidth,
        y: middle,
        text: row.write ? row.write(value) : decimal(value, row.digits ?? 2),
        size,
        anchor: "middle",
        numeric: true,
        bold: row.bold,
      });
    }
  });
  const box = {x: left, y: top, width: columns.length * cellWidth, height: rows.length * rowHeight};
  readable(picture, {
    ...box,
    rows: rows.length,
    columns: columns.length,
    cellWidth,
    cellHeight: rowHeight,
    label: `${given.name}: a table of ${rows.map((row) => row.name).join(", ")} for ${columns.length} columns`,
    describe:
      given.describe ??
      ((row, column) => [`${rows[row].name}, “${columns[column]}”`, precise(rows[row].values[column])]),
    onpick: given.onpick,
    key: given.key ?? given.name,
  });
  return box;
}
