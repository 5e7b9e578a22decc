// Words in pictures, and how wide they are.

import {shape} from "../dom.js";
import {shades} from "../colour.js";

/** @typedef {import("./picture.js").Picture} Picture */

const FACE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';

/** @type {CanvasRenderingContext2D | null | undefined} */
let ruler;

/**
 * How wide a text is. Where there is no canvas, a good guess.
 * @param {string} text
 * @param {number} [size]
 * @param {boolean} [bold]
 */
export function textWidth(text, size = 14, bold = false) {
  if (ruler === undefined) {
    ruler = typeof document === "object" ? document.createElement("canvas").getContext("2d") : null;
  }
  if (!ruler) return [...text].length * size * 0.56;
  ruler.font = `${bold ? "600 " : ""}${size}px ${FACE}`;
  return ruler.measureText(text).width;
}

/**
 * The text, or as much of it as fits, with an ellipsis.
 * @param {string} text
 * @param {number} width
 * @param {number} [size]
 * @param {boolean} [bold]
 */
export function fitText(text, width, size = 14, bold = false) {
  if (textWidth(text, size, bold) <= width) return text;
  const letters = [...text];
  // Halving finds the longest beginning that fits; a sentence may have a thousand letters.
  let fits = 1;
  let tooLong = letters.length;
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (textWidth(`${letters.slice(0, middle).join("")}…`, size, bold) <= width) fits = middle;
    else tooLong = middle;
  }
  return `${letters.slice(0, fits).join("")}…`;
}

/**
 * The text in lines that are no wider than this, where its words allow it.
 * @param {string} text
 * @param {number} width
 * @param {number} [size]
 * @param {boolean} [bold]
 */
export function wrapText(text, width, size = 14, bold = false) {
  /** @type {string[]} */
  const found = [];
  for (const part of text.split(" ")) {
    const longer = `${found[found.length - 1]} ${part}`;
    if (found.length && textWidth(longer, size, bold) <= width) found[found.length - 1] = longer;
    else found.push(part);
  }
  return found;
}

/**
 * A text whose baseline is at y.
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, text: string, size?: number, bold?: boolean, quiet?: boolean, colour?: string,
 *   meaning?: import("../colour.js").Meaning, anchor?: "start" | "middle" | "end", turned?: number, numeric?: boolean}} given
 *   quiet: in the grey of remarks; turned: by so many degrees around its point
 */
export function label(picture, given) {
  const {x, y, text, size = 14, bold = false, quiet = false, anchor = "start", turned = 0, numeric = false} = given;
  const colour = given.colour ?? (given.meaning ? shades(given.meaning, picture.theme).ink : undefined);
  const width = textWidth(text, size, bold);
  const left = anchor === "start" ? x : anchor === "middle" ? x - width / 2 : x - width;
  const node = shape(
    "text",
    {
      x,
      y,
      class: `label${quiet ? " quiet" : ""}${bold ? " bold" : ""}${numeric ? " numeric" : ""}`,
      "font-size": size,
      "text-anchor": anchor === "start" ? null : anchor,
      fill: colour,
      transform: turned ? `rotate(${turned} ${x} ${y})` : null,
    },
    text,
  );
  const radians = (turned * Math.PI) / 180;
  const reach = turned
    ? {
        x,
        y: y + Math.max(0, width * Math.sin(radians)),
        width: Math.max(0, width * Math.cos(radians)),
        height: size * 0.3,
      }
    : {x: left, y: y - size, width, height: size * 1.3};
  picture.add(node, reach);
  return {x: left, y: y - size, width, height: size * 1.3};
}
