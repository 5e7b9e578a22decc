// ALiBi (Press et al.): self-attention lowers each score by the distance between the two tokens times the head's slope.

import {slopeOf} from "../arithmetic.js";
import {label} from "../draw/label.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {decimal, precise, significant} from "../numbers.js";
import {step} from "../verify/recompute.js";
import {PLAIN} from "./plain.js";
import {drawTokenPairs} from "./token_pairs.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 */

const FEWEST = 16; // distances shown, even if the sentence is shorter

/** @type {import("./plain.js").PositionKind} */
export const alibiPositions = {
  ...PLAIN,
  name: "alibi",
  say: {
    positions(context) {
      const all = slopesOf(context.trace);
      context.say`This model adds nothing to the embeddings. Instead, self-attention lowers each score by the distance
        between the two tokens times a slope. Each head has its own slope, from ${significant(Math.max(...all))} to
        ${significant(Math.min(...all))}: a head with a steep slope looks nearby, one with a gentle slope also looks far
        away. Nothing here is learned, and no distance is too large. The tables below show what the paper does
        instead.`;
      if (context.state.stack === "encoder") {
        context.say`In the encoder, tokens before and after count alike: only how far away they are matters.`;
      }
    },
    score(context) {
      context.say`In this model a score does not depend on positions yet. The next step takes the distance between the
        two tokens into account.`;
    },
    softmax(context, {head}) {
      const slope = slopeOf(head, context.trace.config.heads);
      context.say`After the division this model adds a bias: minus the distance between the two tokens times the head’s
        slope, here ${significant(slope)}. A token ${"4"} places away loses ${significant(4 * slope)}.`;
    },
    matrices(context) {
      context.say`After the division by √d_k this model adds a bias, which is lower the farther apart two tokens are.`;
    },
  },
  draw: (context, _layout, y) => drawTokens(context, drawSlopes(context, y) + 24),
  describe({trace}) {
    const all = slopesOf(trace).map((slope, head) => `head ${head}: ${significant(slope)}`);
    return `Each score is lowered by the distance between the tokens times the head’s slope. ${all.join(", ")}.`;
  },
  bias: {title: "+ bias", of: biasOf},
  check: {
    ...PLAIN.check,
    *scores(attention) {
      yield* PLAIN.check.scores(attention);
      const {trace, path, keys} = attention;
      yield step(trace, `${path}.distance_bias`, (row) => {
        const {head, query} = attention.place(row);
        return Float64Array.from({length: keys}, (_, key) => biasOf(trace, head, query, key));
      });
    },
  },
};

/** @param {Trace} trace */
function slopesOf({config}) {
  return Array.from({length: config.heads}, (_, head) => slopeOf(head, config.heads));
}

/**
 * What is added to a score after it is divided by √d_k.
 * @param {Trace} trace
 * @param {number} head
 * @param {number} query
 * @param {number} key
 */
function biasOf(trace, head, query, key) {
  return -slopeOf(head, trace.config.heads) * Math.abs(key - query);
}

/**
 * The bias of every head for each distance. Gives the lower edge.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawSlopes(context, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const all = slopesOf(trace);
  const distances = Array.from({length: Math.max(FEWEST, trace.tokens(state.stack).length)}, (_, index) => index);
  label(picture, {
    x: 0,
    y: y + 16,
    text: room < 600 ? "the bias of each head, by distance" : "the bias of each head, by distance: − slope × distance",
    bold: true,
    size: 15,
  });
  const names = all.map((slope, head) => `head ${head}: ${room < 600 ? "" : "slope "}${significant(slope)}`);
  const nameWidth = picture.ruler.widest(names, 13, true) + 10;
  const cell = Math.min(34, (room - nameWidth) / distances.length);
  const row = all.length > 20 ? 10 : 22;
  const box = {x: nameWidth, y: y + 50, width: distances.length * cell, height: all.length * row};
  if (row > 12) rowLabels(picture, {box, names, size: 13, current: state.head});
  const every = Math.ceil(26 / cell); // so that the numbers above the columns do not touch
  for (const distance of distances.filter((one) => one % every === 0)) {
    label(picture, {
      x: box.x + (distance + 0.5) * cell,
      y: box.y - 8,
      text: String(distance),
      size: 12,
      anchor: "middle",
      quiet: true,
      numeric: true,
    });
  }
  matrix(picture, {
    ...box,
    rows: all.length,
    columns: distances.length,
    cellWidth: cell,
    cellHeight: row,
    value: (head, distance) => -all[head] * distance,
    name: "bias by distance",
    digits: cell >= 32 && row > 12 ? 2 : undefined,
    key: "slopes",
    current: {row: state.head},
    onpick: (head) => context.update({head}),
    describe: (head, distance) => [
      `head ${head}, distance ${distance}: −${precise(all[head])} × ${distance}`,
      precise(-all[head] * distance),
    ],
  });
  return box.y + box.height;
}

/**
 * The bias between every two tokens in the chosen head. Gives the lower edge.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawTokens(context, y) {
  const {trace, state, room} = context;
  const tokens = trace.tokens(state.stack);
  const hidesFuture = state.stack === "decoder";
  const hidden = hidesFuture ? "; later tokens are hidden" : "";
  const text = `in head ${state.head}: the bias between the row’s token and the column’s${hidden}`;
  const bias = (/** @type {number} */ query, /** @type {number} */ key) =>
    hidesFuture && key > query ? -Infinity : biasOf(trace, state.head, query, key);
  return drawTokenPairs(context, {
    y,
    title: room < 600 ? `the bias in head ${state.head}` : text,
    widest: 40,
    value: bias,
    name: "bias",
    key: "biases",
    written: {from: 34, digits: 2},
    describe: (query, key) => [
      `“${tokens[query]}” → “${tokens[key]}”, distance ${decimal(Math.abs(key - query), 0)}`,
      hidesFuture && key > query ? "hidden: −∞ instead of a score" : precise(bias(query, key)),
    ],
  });
}
