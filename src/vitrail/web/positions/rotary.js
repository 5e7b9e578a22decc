// Rotary positions (RoPE): self-attention rotates queries and keys by an angle that grows with the position.

import {angle, rotate} from "../arithmetic.js";
import {shades} from "../colour.js";
import {shape} from "../dom.js";
import {label} from "../draw/label.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {decimal, precise} from "../numbers.js";
import {fromRows} from "../verify/recompute.js";
import {PLAIN} from "./plain.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 */

const DIAL = 40; // radius

/** @type {import("./plain.js").PositionKind} */
export const rotaryPositions = {
  ...PLAIN,
  name: "rope",
  say: {
    positions(context) {
      context.say`This model adds nothing to the embeddings. Instead, self-attention rotates each query and key, two
        numbers at a time, by an angle that grows with the position. Their dot product then depends on how far apart the
        two words are. The tables below show what the paper does instead.`;
    },
    "query-key-value"(context, parts) {
      context.say`This model adds no position vectors. Instead it rotates queries and keys by an angle that grows with
        the position (${parts.token} here). Both are shown before and after.`;
    },
    score(context) {
      context.say`Queries and keys were rotated by an angle that grows with their position, so their dot product also
        depends on how far apart the two tokens are.`;
    },
  },
  draw: (context, _layout, y) => drawTurns(context, y),
  describe({trace, state}) {
    const token = trace.tokens(state.stack)[state.token];
    return `The queries and keys of “${token}” are rotated according to its position, ${state.token}.`;
  },
  meeting: {q: "q_rotated", k: "k_rotated"},
  placed: {
    word: "rotated",
    sign: "↻",
    note: (token) => `rotated for position ${token}`,
    tell(before, index) {
      const pair = (index + before.length / 2) % before.length;
      const numbers = `${decimal(before[index], 4)} and ${decimal(before[pair], 4)}`;
      return `rotated together with number ${pair}; before: ${numbers}`;
    },
  },
  check: {
    ...PLAIN.check,
    *placed(trace, path) {
      for (const name of [`${path}.q`, `${path}.k`]) {
        const length = trace.has(name) ? trace.array(name).shape[1] : 1;
        yield fromRows(trace, `${name}_rotated`, [name], (vector, _, row) => rotate(vector, row % length));
      }
    },
  },
};

/**
 * The first pairs of the chosen token's query as hands of dials, before and after; and the cosine of every angle as a
 * table.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawTurns(context, y) {
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
  const where = `${state.stack} ${state.layer}, head ${state.head}`;
  const text = `the query of “${token}” in ${where}: each pair rotated by ${state.token} × its frequency`;
  label(picture, {x: 0, y: y + 16, text: room < 600 ? `the query of “${token}”, rotated` : text, bold: true, size: 15});
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
 * Two hands, faint before the rotation and strong after it, as long as the pair of numbers.
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
