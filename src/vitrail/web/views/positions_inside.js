// Positions that live inside attention: rotations of queries and keys, and vectors for distances.

import {angle} from "../arithmetic.js";
import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {decimal, precise} from "../numbers.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {label} from "../draw/label.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

const DIAL = 40; // radius

/**
 * Rotary positions: the first pairs of the chosen token's query as hands of dials, before and after; and the cosine of
 * every angle as a table.
 * @param {ViewContext} context
 * @param {number} y
 */
export function drawTurns(context, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const half = trace.config.d_k / 2;
  const top = context.inside(`${state.stack}.${state.layer}`) ? drawDials(context, y) : y; // else the table alone
  const tokens = trace.tokens(state.stack);
  label(picture, {
    x: 0,
    y: top + 16,
    text: `the cosine of every angle: ${tokens.length} positions × ${half} pairs`,
    bold: true,
    size: 15,
  });
  const nameWidth = Math.min(100, picture.ruler.widest(tokens, 13, true)) + 10;
  const row = tokens.length > 40 ? 8 : 18;
  const box = {x: nameWidth, y: top + 30, width: Math.min(room - nameWidth, half * 40), height: tokens.length * row};
  if (row > 12) rowLabels(picture, {box, names: tokens, size: 13, width: nameWidth - 10, current: state.token});
  matrix(picture, {
    ...box,
    rows: tokens.length,
    columns: half,
    cellWidth: box.width / half,
    cellHeight: row,
    value: (position, pair) => Math.cos(angle(position, pair, half)),
    name: "cosine of the angle",
    largest: 1,
    key: "turns",
    describe: (position, pair) => [
      `position ${position}, pair ${pair}: ${precise(angle(position, pair, half))} rad`,
      `cos ${precise(Math.cos(angle(position, pair, half)))}`,
    ],
  });
  return top + 40 + box.height;
}

/**
 * The first pairs of the chosen token's query, before and after. Gives the lower edge.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawDials(context, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const path = `${state.stack}.${state.layer}.self_attention`;
  const before = trace.array(`${path}.q`).row(state.head, state.token);
  const after = trace.array(`${path}.q_rotated`).row(state.head, state.token);
  const half = trace.config.d_k / 2;
  const token = trace.tokens(state.stack)[state.token];
  const text = `the query of “${token}” in ${state.stack} ${state.layer}, head ${state.head}: each pair turned by position ${state.token} × its speed`;
  label(picture, {x: 0, y: y + 16, text: room < 600 ? `the query of “${token}”, turned` : text, bold: true, size: 15});
  const space = 2 * DIAL + 24;
  const pairs = Math.min(half, room < 600 ? 6 : 8);
  const perLine = Math.max(1, Math.min(pairs, Math.floor(room / space)));
  for (let pair = 0; pair < pairs; pair++) {
    const middle = {
      x: (pair % perLine) * space + DIAL + 4,
      y: y + 40 + DIAL + Math.floor(pair / perLine) * (space + 34),
    };
    const turn = angle(state.token, pair, half);
    dial(context, middle, [before[pair], before[pair + half]], [after[pair], after[pair + half]]);
    label(picture, {
      x: middle.x,
      y: middle.y + DIAL + 18,
      text: `numbers ${pair} and ${pair + half}`,
      size: 11,
      anchor: "middle",
      quiet: true,
    });
    label(picture, {
      x: middle.x,
      y: middle.y + DIAL + 34,
      text: `${decimal(turn, turn < 0.1 ? 4 : 2)} rad`,
      size: 12,
      anchor: "middle",
      numeric: true,
    });
  }
  return y + 40 + Math.ceil(pairs / perLine) * (space + 34) + 10;
}

/**
 * Two hands: faint before, strong after the turn; both as long as the pair is, to the dial's scale.
 * @param {ViewContext} context
 * @param {{x: number, y: number}} middle
 * @param {number[]} before
 * @param {number[]} after
 */
function dial(context, middle, before, after) {
  const picture = context.picture("");
  const {strong, soft} = shades("q", picture.theme);
  const size = Math.hypot(before[0], before[1]) || 1;
  picture.add(shape("circle", {cx: middle.x, cy: middle.y, r: DIAL, fill: soft, stroke: strong, "stroke-width": 1}), {
    x: middle.x - DIAL,
    y: middle.y - DIAL,
    width: 2 * DIAL,
    height: 2 * DIAL,
  });
  const hand = (/** @type {number[]} */ pair, /** @type {number} */ width, /** @type {number} */ opacity) => {
    const [x, y] = [middle.x + (pair[0] / size) * (DIAL - 4), middle.y - (pair[1] / size) * (DIAL - 4)];
    picture.add(
      shape("line", {
        x1: middle.x,
        y1: middle.y,
        x2: x,
        y2: y,
        stroke: strong,
        "stroke-width": width,
        opacity,
        "stroke-linecap": "round",
      }),
    );
    picture.add(shape("circle", {cx: x, cy: y, r: width, fill: strong, opacity}));
  };
  hand(before, 2, 0.4);
  hand(after, 3.5, 1);
}

/**
 * Relative positions: how far apart every two tokens stand, and the learned vectors of the distances.
 * @param {ViewContext} context
 * @param {number} y
 */
export function drawDistances(context, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const tokens = trace.tokens(state.stack);
  const {max_distance, d_k} = trace.config;
  const clip = (/** @type {number} */ distance) => Math.max(-max_distance, Math.min(max_distance, distance));
  label(picture, {
    x: 0,
    y: y + 16,
    text: "how far the column’s token stands after the row’s, cut off",
    bold: true,
    size: 15,
  });
  const nameWidth = Math.min(90, picture.ruler.widest(tokens, 13, true)) + 10;
  const cell = Math.max(6, Math.min(34, (room - nameWidth - 30) / tokens.length));
  const top = y + 30 + columnLabelsHeight(picture, tokens, cell, 12);
  const box = {x: nameWidth, y: top, width: tokens.length * cell, height: tokens.length * Math.min(cell, 24)};
  if (cell >= 14) {
    rowLabels(picture, {
      box,
      names: tokens,
      size: Math.min(13, cell * 0.7),
      width: nameWidth - 10,
      current: state.token,
    });
    columnLabels(picture, {box, names: tokens, size: 12});
  }
  matrix(picture, {
    ...box,
    rows: tokens.length,
    columns: tokens.length,
    cellWidth: cell,
    cellHeight: box.height / tokens.length,
    value: (query, key) => clip(key - query),
    name: "distance",
    largest: max_distance,
    digits: cell >= 24 ? 0 : undefined,
    key: "distances",
    current: {row: state.token},
    onpick: (token) => context.update({token}),
    describe: (query, key) => [
      `“${tokens[query]}” → “${tokens[key]}”`,
      `distance ${decimal(key - query, 0)}, counted as ${decimal(clip(key - query), 0)}`,
    ],
  });
  let bottom = top + box.height + 24;
  for (const what of /** @type {const} */ (["key", "value"])) bottom = distanceTable(context, what, d_k, bottom);
  return bottom;
}

/**
 * @param {ViewContext} context
 * @param {"key" | "value"} what
 * @param {number} d_k
 * @param {number} y
 */
function distanceTable(context, what, d_k, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const {max_distance} = trace.config;
  const layer = `${state.stack}.${state.layer}`;
  context.weights(layer);
  const table = trace.weight(`${state.stack}.layers.${state.layer}.self_attention.dot_product.${what}_RK`);
  const rows = 2 * max_distance + 1;
  const text = `${layer}: a learned vector of ${d_k} numbers for each distance, added to ${what === "key" ? "keys" : "values"}`;
  label(picture, {x: 0, y: y + 16, text: room < 600 ? `vectors added to ${what}s` : text, bold: true, size: 15});
  if (!table) {
    label(picture, {x: 0, y: y + 42, text: "this table is not in this file", quiet: true});
    return y + 64;
  }
  const row = rows > 20 ? 8 : 18;
  const box = {x: 36, y: y + 28, width: Math.min(room - 40, d_k * 40), height: rows * row};
  const names = Array.from({length: rows}, (_, index) => decimal(index - max_distance, 0));
  if (row > 12) rowLabels(picture, {box, names, size: 12});
  matrix(picture, {
    ...box,
    rows,
    columns: d_k,
    cellWidth: box.width / d_k,
    cellHeight: row,
    value: (distance, number) => table.at(distance, number),
    name: `distance vectors for ${what}s`,
    meaning: what === "key" ? "k" : "v",
    key: `distance-${what}`,
    describe: (distance, number) => [
      `distance ${names[distance]}, number ${number}`,
      precise(table.at(distance, number)),
    ],
  });
  return y + 44 + box.height;
}
