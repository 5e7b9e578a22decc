// Relative positions (Shaw et al.): self-attention has a learned vector for every distance, for keys and for values.

import {label} from "../draw/label.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {decimal, precise} from "../numbers.js";
import {PLAIN, queryTimesKey} from "./plain.js";
import {drawTokenPairs} from "./token_pairs.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Tensor} Tensor
 */

/** @type {import("./plain.js").PositionKind} */
export const relativePositions = {
  ...PLAIN,
  name: "relative",
  say: {
    positions(context) {
      const {max_distance} = context.trace.config;
      context.say`This model adds nothing to the embeddings. Instead, self-attention has a learned vector for each
        distance from ${decimal(-max_distance, 0)} to ${max_distance} and adds it to the keys and values at that
        distance. Larger distances are clipped. The tables below show what the paper does instead.`;
    },
    score(context) {
      context.say`In this model a score has two parts: q·k (the content), and the query times a learned vector for the
        distance between the two tokens (the position), up to ${context.trace.config.max_distance} places.`;
    },
    "weighted-values"(context) {
      context.say`This model also adds, for each token, its weight times a learned vector for its distance: the row
        labelled ${"distances"}.`;
    },
    matrices(context) {
      context.say`In this model the distances between tokens contribute to the scores and to Z; the numbers shown
        include that.`;
    },
  },
  draw: (context, _layout, y) => drawDistances(context, y),
  describe: () => "Each distance between tokens has a learned vector.",
  scoreParts(parts) {
    const asking = parts.queryTokens[parts.token];
    const table = tableOf(parts.trace, parts.parameters, "key");
    return [
      queryTimesKey(parts, "content", "scores_content"),
      {
        title: "position",
        array: "scores_position",
        letter: "a",
        heading(key) {
          const distance = clippedDistance(parts.trace, parts.token, key);
          return `q “${asking}” · the vector for distance ${decimal(distance, 0)}`;
        },
        vector: (key) => table && table.row(rowOf(parts.trace, parts.token, key)),
        missing: "this file does not contain the vectors",
      },
    ];
  },
  moreValues: (parts) => [{name: "distances", values: parts.array("z_position").row(parts.head, parts.token)}],
  check: {
    ...PLAIN.check,
    *scores(attention) {
      yield attention.products("scores_content", attention.key);
      const table = tableOf(attention.trace, attention.parameters, "key");
      if (table) yield attention.products("scores_position", distanceVectors(attention.trace, table));
      yield attention.sum("scores", ["scores_content", "scores_position"]);
    },
    *z(attention) {
      yield attention.mixtures("z_content", attention.value);
      const table = tableOf(attention.trace, attention.parameters, "value");
      if (table) yield attention.mixtures("z_position", distanceVectors(attention.trace, table));
      yield attention.sum("z", ["z_content", "z_position"], {isZ: true});
    },
  },
};

/**
 * The learned vectors of an attention, one row for each distance; null if the file does not hold them.
 * @param {Trace} trace
 * @param {string} parameters "encoder.layers.0.self_attention"
 * @param {"key" | "value"} what
 */
function tableOf(trace, parameters, what) {
  return trace.weight(`${parameters}.dot_product.${what}_RK`);
}

/**
 * The distance from a query to a key, clipped to the size of the table.
 * @param {Trace} trace
 * @param {number} query
 * @param {number} key
 */
function clippedDistance(trace, query, key) {
  const {max_distance} = trace.config;
  return Math.max(-max_distance, Math.min(max_distance, key - query));
}

/**
 * The row of a table for a query and a key.
 * @param {Trace} trace
 * @param {number} query
 * @param {number} key
 */
function rowOf(trace, query, key) {
  return clippedDistance(trace, query, key) + trace.config.max_distance;
}

/**
 * @param {Trace} trace
 * @param {Tensor} table
 * @returns {import("../verify/recorded_attention.js").VectorOf}
 */
function distanceVectors(trace, table) {
  return (_head, query, key) => table.row(rowOf(trace, query, key));
}

/**
 * The distance between every two tokens, and the learned vectors of the distances.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawDistances(context, y) {
  const {trace, state} = context;
  const tokens = trace.tokens(state.stack);
  const {max_distance, d_k} = trace.config;
  const below = drawTokenPairs(context, {
    y,
    title: "distance from the row’s token to the column’s, clipped",
    widest: 34,
    value: (query, key) => clippedDistance(trace, query, key),
    name: "distance",
    largest: max_distance,
    key: "distances",
    written: {from: 24, digits: 0},
    describe: (query, key) => [
      `“${tokens[query]}” → “${tokens[key]}”`,
      `distance ${decimal(key - query, 0)}, counted as ${decimal(clippedDistance(trace, query, key), 0)}`,
    ],
  });
  let bottom = below + 24;
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
  const table = tableOf(trace, `${state.stack}.layers.${state.layer}.self_attention`, what);
  const rows = 2 * max_distance + 1;
  const text = `${layer}: a learned vector of ${d_k} numbers for each distance, added to ${what}s`;
  label(picture, {x: 0, y: y + 16, text: room < 600 ? `vectors added to ${what}s` : text, bold: true, size: 15});
  if (!table) {
    label(picture, {x: 0, y: y + 42, text: "this file does not contain the table", quiet: true});
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
