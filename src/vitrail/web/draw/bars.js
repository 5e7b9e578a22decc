// Numbers as bars, one below the other, each with its name and value.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {decimal, extent} from "../numbers.js";
import {label} from "./label.js";
import {readable} from "./reading.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Box} Box
 */

/**
 * Bars that start at zero; negative ones go to the left.
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, names: string[], values: ArrayLike<number>, name: string, width: number, rowHeight?: number,
 *   nameWidth?: number, largest?: number, meaning?: import("../colour.js").Meaning, colour?: (index: number) => string,
 *   write?: (value: number, index: number) => string, describe?: (index: number) => string[],
 *   onpick?: (index: number) => void, current?: number, key?: string}} given
 *   width: of everything, including names and numbers
 * @returns {Box}
 */
export function bars(picture, given) {
  const {x, y, names, values, width, rowHeight = 28, nameWidth = 110, meaning = "neutral", current} = given;
  const write = given.write ?? ((value) => decimal(value, 3));
  const {least, size} = extent(values);
  const largest = given.largest ?? size;
  const numberWidth = 64;
  const room = Math.max(20, width - nameWidth - numberWidth - 16);
  const zero = x + nameWidth + 8 + (least < 0 ? room / 2 : 0);
  const unit = largest > 0 ? (least < 0 ? room / 2 : room) / largest : 0;
  const {strong} = shades(meaning, picture.theme);
  names.forEach((name, index) => {
    const value = values[index];
    const top = y + index * rowHeight;
    const length = Number.isFinite(value) ? Math.min(Math.abs(value), largest) * unit : 0;
    const middle = top + rowHeight / 2 + 5;
    label(picture, {
      x: x + nameWidth,
      y: middle,
      text: picture.ruler.fit(name, nameWidth, 14, index === current),
      anchor: "end",
      bold: index === current,
    });
    picture.add(
      shape("rect", {
        x: value < 0 ? zero - length : zero,
        y: top + 4,
        width: Math.max(length, 1),
        height: rowHeight - 8,
        rx: 3,
        fill: given.colour?.(index) ?? strong,
      }),
    );
    label(picture, {x: x + width, y: middle, text: write(value, index), anchor: "end", numeric: true});
  });
  const area = {x, y, width, height: names.length * rowHeight};
  readable(picture, {
    ...area,
    rows: names.length,
    columns: 1,
    cellWidth: width,
    cellHeight: rowHeight,
    label: `${given.name}: ${names
      .map((name, index) => `${name} ${write(values[index], index)}`)
      .slice(0, 12)
      .join(", ")}`,
    describe: (row) => given.describe?.(row) ?? [names[row], write(values[row], row)],
    onpick: given.onpick,
    key: given.key ?? given.name,
  });
  return area;
}
