// Frames around parts of the model, boxes with their names, arrows between them.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {label} from "./label.js";
import {pressable} from "./reading.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Box} Box
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {[number, number]} Point
 */

const LEAST_TWO_LINES = 2.3; // of a box's height, in heights of its letters

/**
 * A frame with a title in its upper left corner.
 * @param {Picture} picture
 * @param {Box & {meaning?: Meaning, title?: string, note?: string, dashed?: boolean, current?: boolean}} given
 * @returns {Box}
 */
export function frame(
  picture,
  {x, y, width, height, meaning = "neutral", title, note, dashed = false, current = false},
) {
  const {strong, soft} = shades(meaning, picture.theme);
  const area = {x, y, width, height};
  picture.add(
    shape("rect", {
      ...area,
      rx: 12,
      fill: soft,
      stroke: strong,
      "stroke-width": current ? 3 : 1.5,
      "stroke-dasharray": dashed ? "6 5" : null,
    }),
    area,
  );
  if (title) label(picture, {x: x + 14, y: y + 24, text: title, bold: true, size: 15, meaning});
  if (note) label(picture, {x: x + width - 14, y: y + 24, text: note, size: 13, quiet: true, anchor: "end"});
  return area;
}

/**
 * A box with a word or two in it; with `onpick` it is a button.
 * @param {Picture} picture
 * @param {Box & {
 *   text: string, note?: string, meaning?: Meaning, onpick?: () => void, spoken?: string, key?: string,
 *   current?: boolean, filled?: boolean, size?: number}} given
 * @returns {Box}
 */
export function box(picture, given) {
  const {x, y, width, height, text, note, meaning = "neutral", current = false, filled = true, size = 15} = given;
  const {strong, soft, ink} = shades(meaning, picture.theme);
  const area = {x, y, width, height};
  const group = picture.group({class: "box"}, () => {
    picture.add(
      shape("rect", {
        ...area,
        rx: 8,
        class: filled ? "" : "paper",
        fill: filled ? soft : null,
        stroke: strong,
        "stroke-width": current ? 3 : 1.5,
      }),
      area,
    );
    if (note && height < LEAST_TWO_LINES * size) {
      oneLine(picture, {area, text, note, size, ink});
      return;
    }
    const middle = y + height / 2 + size * 0.35 - (note ? size * 0.55 : 0);
    label(picture, {
      x: x + width / 2,
      y: middle,
      text: picture.ruler.fit(text, width - 12, size, true),
      size,
      bold: true,
      anchor: "middle",
      colour: ink,
    });
    if (note) {
      const below = picture.ruler.fit(note, width - 12, 12);
      label(picture, {x: x + width / 2, y: middle + size + 3, text: below, size: 12, quiet: true, anchor: "middle"});
    }
  });
  if (given.onpick) {
    pressable(picture, group, {label: given.spoken ?? text, onpick: given.onpick, key: given.key, current});
  }
  return area;
}

/**
 * A name and a note side by side, in a box that is too low for one below the other.
 * @param {Picture} picture
 * @param {{area: Box, text: string, note: string, size: number, ink: string}} given
 */
function oneLine(picture, {area: {x, y, width, height}, text, note, size, ink}) {
  const baseline = y + height / 2 + size * 0.35;
  const name = picture.ruler.fit(text, width - 20, size, true);
  label(picture, {x: x + 10, y: baseline, text: name, size, bold: true, colour: ink});
  const room = width - 32 - picture.ruler.width(name, size, true);
  const shown = picture.ruler.fit(note, room, 12);
  if (room > 0) label(picture, {x: x + width - 10, y: baseline, text: shown, size: 12, quiet: true, anchor: "end"});
}

/**
 * An arrow through some points, with round corners.
 * @param {Picture} picture
 * @param {{points: Point[], meaning?: Meaning, dashed?: boolean, head?: boolean, width?: number}} given
 */
export function arrow(picture, {points, meaning = "neutral", dashed = false, head = true, width = 2}) {
  const colour = shades(meaning, picture.theme).strong;
  const last = points[points.length - 1];
  const before = points[points.length - 2];
  const length = Math.hypot(last[0] - before[0], last[1] - before[1]) || 1;
  const along = [(last[0] - before[0]) / length, (last[1] - before[1]) / length];
  const size = head ? 4 + width * 2 : 0;
  const end = /** @type {Point} */ ([last[0] - along[0] * size, last[1] - along[1] * size]);
  picture.add(
    shape("path", {
      d: roundedPath([...points.slice(0, -1), end], 10),
      fill: "none",
      stroke: colour,
      "stroke-width": width,
      "stroke-linecap": "round",
      "stroke-dasharray": dashed ? "2 6" : null,
    }),
  );
  if (head) {
    const side = size * 0.55;
    const a = [end[0] - along[1] * side, end[1] + along[0] * side];
    const b = [end[0] + along[1] * side, end[1] - along[0] * side];
    picture.add(shape("path", {d: `M${last} L${a} L${b} Z`, fill: colour}));
  }
  for (const [x, y] of points) picture.reach(x + width, y + width);
}

/**
 * A path through points whose corners are rounded.
 * @param {Point[]} points
 * @param {number} radius
 */
export function roundedPath(points, radius) {
  let path = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [from, corner, to] = [points[i - 1], points[i], points[i + 1]];
    const enter = toward(corner, from, radius);
    const leave = toward(corner, to, radius);
    path += ` L${enter} Q${corner} ${leave}`;
  }
  return `${path} L${points[points.length - 1]}`;
}

/**
 * @param {Point} from
 * @param {Point} to
 * @param {number} distance
 * @returns {Point}
 */
function toward(from, to, distance) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const share = Math.min(distance, length / 2) / length;
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}
