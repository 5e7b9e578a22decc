// Lines from tokens on the left to tokens on the right, as thick as the attention between them.

import {shape} from "../dom.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 */

const FAINTEST = 0.01; // a smaller weight would be invisible

/**
 * @param {Picture} picture
 * @param {{
 *   left: number, right: number, leftY: (index: number) => number, rightY: (index: number) => number,
 *   links: {from: number, to: number, weight: number, colour: string}[], width?: number}} given
 *   left, right: where lines start and end; leftY, rightY: at which height
 */
export function lines(picture, {left, right, leftY, rightY, links, width = 6}) {
  const group = shape("g", {class: "lines", fill: "none", "stroke-linecap": "round"});
  const bend = (right - left) / 2;
  for (const {from, to, weight, colour} of links) {
    if (!(weight >= FAINTEST)) continue;
    const [a, b] = [leftY(from), rightY(to)];
    group.append(
      shape("path", {
        d: `M${left} ${a} C${left + bend} ${a} ${right - bend} ${b} ${right} ${b}`,
        stroke: colour,
        "stroke-width": Math.max(0.75, width * weight),
        opacity: 0.1 + 0.9 * weight ** 0.75,
        "data-from": from,
        "data-to": to,
      }),
    );
  }
  picture.add(group);
  return group;
}
