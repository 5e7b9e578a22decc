// The colour scale of values.

import {shape} from "../dom.js";
import {css, valueRgb} from "../colour.js";
import {decimal} from "../numbers.js";
import {label} from "./label.js";

/** @typedef {import("./picture.js").Picture} Picture */

const STEPS = 40;

/**
 * A scale from the most negative to the most positive colour, with numbers.
 * @param {Picture} picture
 * @param {{x: number, y: number, largest: number, width?: number, digits?: number}} given
 * @returns {import("./picture.js").Box}
 */
export function valueLegend(picture, {x, y, largest, width = 160, digits = 1}) {
  const low = decimal(-largest, digits);
  const high = decimal(largest, digits);
  const left = x + picture.ruler.width(low, 13) + 8;
  label(picture, {x, y: y + 12, text: low, size: 13, quiet: true, numeric: true});
  const scale = shape("g", {"shape-rendering": "crispEdges"});
  for (let i = 0; i < STEPS; i++) {
    const value = ((2 * i) / (STEPS - 1) - 1) * largest;
    const cell = {x: left + (i * width) / STEPS, y, width: width / STEPS + 0.2, height: 14};
    scale.append(shape("rect", {...cell, fill: css(valueRgb(value, largest, picture.theme))}));
  }
  picture.add(scale, {x: left, y, width, height: 14});
  label(picture, {x: left + width + 8, y: y + 12, text: high, size: 13, quiet: true, numeric: true});
  return {x, y, width: left + width + 8 + picture.ruler.width(high, 13) - x, height: 16};
}
