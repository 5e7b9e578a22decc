// The colours of a picture: of meanings, heads, values and shares, from the one table in palette.js.

import {OFF_SCALE, ON_CELLS, PALETTE} from "./palette.js";

/**
 * @typedef {import("./palette.js").Theme} Theme
 * @typedef {import("./palette.js").Meaning} Meaning
 * @typedef {import("./palette.js").Shades} Shades
 * @typedef {readonly [number, number, number]} Rgb
 * @typedef {{zero: Rgb, negative: Rgb[], positive: Rgb[]}} Scale from zero outwards, zero included
 */

/** @type {Record<Theme, Scale>} */
const SCALES = {light: scaleOf("light"), dark: scaleOf("dark")};

/**
 * @param {Theme} theme
 * @returns {Scale}
 */
function scaleOf(theme) {
  const {zero, negative, positive} = PALETTE[theme].values;
  return {zero: parse(zero), negative: [zero, ...negative].map(parse), positive: [zero, ...positive].map(parse)};
}

/**
 * The shades of a meaning.
 * @param {Meaning} meaning
 * @param {Theme} theme
 */
export function shades(meaning, theme) {
  return PALETTE[theme].meanings[meaning];
}

/**
 * A head's own colour; after sixteen they begin again.
 * @param {number} head
 * @param {Theme} theme
 */
export function headColour(head, theme) {
  const {heads} = PALETTE[theme];
  return heads[head % heads.length];
}

/** How many heads have a colour of their own. */
export const HEAD_COLOURS = PALETTE.light.heads.length;

/**
 * The colour of a value, of which `largest` is the strongest.
 * @param {number} value
 * @param {number} largest
 * @param {Theme} theme
 * @returns {Rgb}
 */
export function valueRgb(value, largest, theme) {
  const {zero, negative, positive} = SCALES[theme];
  if (Number.isNaN(value)) return parse(OFF_SCALE.notANumber);
  if (!Number.isFinite(value)) return between(zero, parse(OFF_SCALE.hidden), 0.35);
  const share = largest > 0 ? Math.min(1, Math.abs(value) / largest) : 0;
  return along(value < 0 ? negative : positive, share);
}

/**
 * The same, as CSS writes it.
 * @param {number} value
 * @param {number} largest
 * @param {Theme} theme
 */
export function valueColour(value, largest, theme) {
  return css(valueRgb(value, largest, theme));
}

/**
 * A share between 0 and 1 in shades of one colour, from the paper's own to the colour itself.
 * @param {number} share
 * @param {string} colour as "#rrggbb"
 * @param {Theme} theme
 * @returns {Rgb}
 */
export function shareRgb(share, colour, theme) {
  const amount = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return between(SCALES[theme].zero, parse(colour), amount);
}

/**
 * Black or white, whichever reads better on this.
 * @param {Rgb} rgb
 */
export function inkOn(rgb) {
  return luminance(rgb) > 0.18 ? ON_CELLS.dark : ON_CELLS.light;
}

/**
 * @param {Rgb} rgb
 * @returns {string}
 */
export function css(rgb) {
  return `rgb(${rgb.map((part) => Math.round(part)).join(" ")})`;
}

/**
 * "#rrggbb" as three numbers.
 * @param {string} colour
 * @returns {Rgb}
 */
export function parse(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/**
 * How light a colour is, as WCAG counts it: 0 black, 1 white.
 * @param {Rgb} rgb
 */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * @param {readonly Rgb[]} stops
 * @param {number} share
 */
function along(stops, share) {
  const place = share * (stops.length - 1);
  const index = Math.min(Math.floor(place), stops.length - 2);
  return between(stops[index], stops[index + 1], place - index);
}

/**
 * @param {Rgb} a
 * @param {Rgb} b
 * @param {number} share
 * @returns {Rgb}
 */
function between(a, b, share) {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}
