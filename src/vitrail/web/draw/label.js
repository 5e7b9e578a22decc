// Words in pictures.

import {shape} from "../dom.js";
import {shades} from "../colour.js";

/** @typedef {import("./picture.js").Picture} Picture */

/**
 * A text whose baseline is at y.
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, text: string, size?: number, bold?: boolean, quiet?: boolean, colour?: string,
 *   meaning?: import("../colour.js").Meaning, anchor?: "start" | "middle" | "end", turned?: number,
 *   numeric?: boolean}} given
 *   quiet: in grey; turned: by this many degrees around its point
 */
export function label(picture, given) {
  const {x, y, text, size = 14, bold = false, quiet = false, anchor = "start", turned = 0, numeric = false} = given;
  const colour = given.colour ?? (given.meaning ? shades(given.meaning, picture.theme).ink : undefined);
  const width = picture.ruler.width(text, size, bold);
  const left = x - {start: 0, middle: width / 2, end: width}[anchor];
  const node = shape(
    "text",
    {
      x,
      y,
      class: ["label", quiet && "quiet", bold && "bold", numeric && "numeric"].filter(Boolean).join(" "),
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
