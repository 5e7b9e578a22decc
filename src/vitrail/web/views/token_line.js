// Tokens as chips in a row that wraps.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {label} from "../draw/label.js";

/**
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {import("../draw/picture.js").Box} Box
 */

const HEIGHT = 30;
const GAP = 6;

/**
 * The places of the chips, without drawing them.
 * @param {Picture} picture
 * @param {readonly string[]} tokens
 * @param {number} width
 * @param {number} [size]
 */
export function layOutTokens(picture, tokens, width, size = 15) {
  let x = 0;
  let y = 0;
  const chips = tokens.map((token) => {
    const text = picture.ruler.fit(token, width - 20, size, true);
    const chip = picture.ruler.width(text, size, true) + 18;
    if (x > 0 && x + chip > width) {
      x = 0;
      y += HEIGHT + GAP;
    }
    const place = {x, y, width: chip, height: HEIGHT, text};
    x += chip + GAP;
    return place;
  });
  return {chips, height: y + HEIGHT};
}

/**
 * The last tokens of a sentence, as many as fit into some lines; an ellipsis stands for those before them.
 * @param {Picture} picture
 * @param {readonly string[]} tokens
 * @param {number} width
 * @param {number} lines
 */
export function lastTokens(picture, tokens, width, lines) {
  const highest = lines * (HEIGHT + GAP);
  if (layOutTokens(picture, tokens, width).height <= highest) return [...tokens];
  let first = 1;
  while (first < tokens.length - 1 && layOutTokens(picture, ["…", ...tokens.slice(first)], width).height > highest) {
    first++;
  }
  return ["…", ...tokens.slice(first)];
}

/**
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, width: number, tokens: readonly string[], current?: number,
 *   meaning?: import("../colour.js").Meaning, size?: number}} given
 * @returns {{boxes: Box[], height: number, currentNode: SVGElement | null}}
 */
export function tokenLine(picture, {x, y, width, tokens, current, meaning = "neutral", size = 15}) {
  const {chips, height} = layOutTokens(picture, tokens, width, size);
  const {strong, soft, ink} = shades(meaning, picture.theme);
  /** @type {SVGElement | null} */
  let currentNode = null;
  const boxes = chips.map((chip, index) => {
    const isCurrent = index === current;
    const box = {x: x + chip.x, y: y + chip.y, width: chip.width, height: chip.height};
    const node = picture.group({}, () => {
      picture.add(
        shape("rect", {
          ...box,
          rx: 8,
          fill: soft,
          stroke: isCurrent ? strong : "none",
          "stroke-width": isCurrent ? 3 : 0,
        }),
        box,
      );
      label(picture, {
        x: box.x + box.width / 2,
        y: box.y + box.height / 2 + size * 0.35,
        text: chip.text,
        size,
        bold: isCurrent,
        anchor: "middle",
        colour: ink,
      });
    });
    if (isCurrent) currentNode = node;
    return box;
  });
  return {boxes, height, currentNode};
}
