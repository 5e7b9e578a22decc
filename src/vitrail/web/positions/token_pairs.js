// A table with a number for every pair of tokens: what a position scheme says about their distance.

import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/**
 * The row's token looks at the column's. Gives the lower edge.
 * @param {ViewContext} context
 * @param {{
 *   y: number, title: string, widest: number, value: (query: number, key: number) => number, name: string,
 *   key: string, largest?: number, written: {from: number, digits: number},
 *   describe: (query: number, key: number) => string[]}} given
 *   widest: a cell may become so wide; written: the numbers are written into cells of at least this width
 */
export function drawTokenPairs(context, {y, title, widest, written, ...given}) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const tokens = trace.tokens(state.stack);
  label(picture, {x: 0, y: y + 16, text: title, bold: true, size: 15});
  const nameWidth = Math.min(90, picture.ruler.widest(tokens, 13, true)) + 10;
  const cell = Math.max(6, Math.min(widest, (room - nameWidth - 30) / tokens.length));
  const top = y + 30 + columnLabelsHeight(picture, tokens, cell, 12);
  const box = {x: nameWidth, y: top, width: tokens.length * cell, height: tokens.length * Math.min(cell, 24)};
  if (cell >= 14) {
    const size = Math.min(13, cell * 0.7);
    rowLabels(picture, {box, names: tokens, size, width: nameWidth - 10, current: state.token});
    columnLabels(picture, {box, names: tokens, size: 12});
  }
  matrix(picture, {
    ...box,
    ...given,
    rows: tokens.length,
    columns: tokens.length,
    cellWidth: cell,
    cellHeight: box.height / tokens.length,
    digits: cell >= written.from ? written.digits : undefined,
    current: {row: state.token},
    onpick: (token) => context.update({token}),
  });
  return top + box.height;
}
