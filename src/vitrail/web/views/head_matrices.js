// The matrices of one head, and of all heads together.

import {precise} from "../numbers.js";
import {matrix} from "../draw/matrix.js";
import {label} from "../draw/label.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {import("./attention_parts.js").AttentionParts} AttentionParts
 */

/**
 * One head's matrix with a row for each token.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{
 *   name: string, array: string, head: number, tokens: string[], meaning: Meaning, x: number, y: number, width: number,
 *   row: number, bare?: boolean}} given
 */
export function headMatrix(context, parts, {name, array, head, tokens, meaning, x, y, width, row, bare = false}) {
  const picture = context.picture("");
  const {d_k} = context.trace.config;
  const tensor = parts.array(array);
  const place = parts.headOf(array === "z" ? "q" : array, head);
  const sub = `${name}${subscript(array === "z" || array === "q" ? head : place)}`;
  if (!bare) label(picture, {x: x + width / 2, y: y - 6, text: sub, size: 13, bold: true, anchor: "middle", meaning});
  matrix(picture, {
    x,
    y,
    rows: tokens.length,
    columns: d_k,
    cellWidth: width / d_k,
    cellHeight: row,
    value: (token, column) => tensor.at(place, token, column),
    name: `${name} of head ${head}`,
    meaning,
    key: `${array}-${head}`,
    describe: (token, column) => [
      `${sub}: “${tokens[token]}”, number ${column}`,
      precise(tensor.at(place, token, column)),
    ],
  });
}

/**
 * A number as a subscript.
 * @param {number} number
 */
export function subscript(number) {
  return String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
}

/**
 * The heads side by side, times W^O.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{x: number, y: number, width: number, row: number}} given
 */
export function outputMatrix(context, parts, {x, y, width, row}) {
  const output = parts.array("output");
  const tokens = parts.queryTokens;
  const {d_model} = context.trace.config;
  matrix(context.picture(""), {
    x,
    y,
    rows: tokens.length,
    columns: d_model,
    cellWidth: width / d_model,
    cellHeight: row,
    value: (token, column) => output.at(token, column),
    name: "Z, the output",
    meaning: "z",
    rowNames: tokens,
    key: "output",
  });
}
