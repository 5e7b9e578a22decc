// What each kind of position changes: what it adds to the embeddings, and how its self-attention compares two words.
//
// The same kinds as model/positions.py. A kind of its own for cross-attention compares by content alone.

import {dot, rotate, slopeOf} from "../arithmetic.js";
import {Problem} from "../problem.js";
import {LAYOUTS, sinusoid} from "../positions/sinusoids.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {import("../trace.js").ModelConfig} ModelConfig
 * @typedef {(name: string) => Tensor} Weight a parameter by its name
 * @typedef {{rows: Float32Array[], from: number, count: number}} Keys
 *   the first `count` rows are looked at; a head's part of a row begins at `from`
 * @typedef {Record<string, Float32Array>} Named arrays for a listener, by name
 * @typedef {{scores: Float32Array, bias?: Float32Array, before?: Named, after?: Named}} Scores
 *   bias is added after the division by √d_k; before and after: what a listener hears besides the scores
 */

/** Attention by content alone: equation (1) of the paper. Other kinds derive from it. */
export class ByContent {
  /** What the name of a query or key ends in once it is placed. */
  get suffix() {
    return "";
  }

  /**
   * A query or key as it meets others; null: as it is.
   * @param {Float32Array} _vector
   * @param {number} _position
   * @returns {ArrayLike<number> | null}
   */
  place(_vector, _position) {
    return null;
  }

  /**
   * The scores of a query and the first keys.
   * @param {number} _head
   * @param {Float32Array} query
   * @param {number} _position of the query
   * @param {Keys} keys
   * @returns {Scores}
   */
  meet(_head, query, _position, {rows, from, count}) {
    const scores = new Float32Array(count);
    for (let key = 0; key < count; key++) {
      const row = rows[key];
      let sum = 0;
      for (let i = 0; i < query.length; i++) sum += query[i] * row[from + i];
      scores[key] = sum;
    }
    return {scores};
  }

  /**
   * What the weights gather besides the values; null: nothing.
   * @param {Float32Array} _weights
   * @param {number} _position of the query
   * @returns {{sum: Float32Array, heard: (z: Float32Array) => Named} | null}
   */
  gather(_weights, _position) {
    return null;
  }
}

/** Shaw's relative positions: a vector for each distance, added to keys and to values. */
class ByDistance extends ByContent {
  /** @param {Tensor} keys @param {Tensor} values @param {number} most the longest distance with a vector of its own */
  constructor(keys, values, most) {
    super();
    this.keys = keys;
    this.values = values;
    this.most = most;
  }

  /** @param {number} head @param {Float32Array} query @param {number} at @param {Keys} keys */
  meet(head, query, at, keys) {
    const content = super.meet(head, query, at, keys).scores;
    const position = content.map((_, key) => dot(query, this.keys.row(this.distance(at, key))));
    const before = {scores_content: content, scores_position: position};
    return {scores: content.map((score, key) => score + position[key]), before};
  }

  /** @param {Float32Array} weights @param {number} at */
  gather(weights, at) {
    const sum = new Float64Array(this.values.shape[1]);
    weights.forEach((weight, key) => {
      const vector = this.values.row(this.distance(at, key));
      for (let i = 0; i < sum.length; i++) sum[i] += weight * vector[i];
    });
    const found = Float32Array.from(sum);
    return {sum: found, heard: (/** @type {Float32Array} */ z) => ({z_content: z, z_position: found})};
  }

  /** The row of the tables for a distance, clipped. @param {number} query @param {number} key */
  distance(query, key) {
    return Math.max(-this.most, Math.min(this.most, key - query)) + this.most;
  }
}

/** RoPE: queries and keys are rotated by an angle that grows with the position. */
class ByRotation extends ByContent {
  get suffix() {
    return "_rotated";
  }

  /** @param {Float32Array} vector @param {number} position */
  place(vector, position) {
    return rotate(vector, position);
  }
}

/** ALiBi: the farther away a key is, the lower its score. */
class ByBias extends ByContent {
  /** @param {number} heads */
  constructor(heads) {
    super();
    this.heads = heads;
  }

  /** @param {number} head @param {Float32Array} query @param {number} at @param {Keys} keys */
  meet(head, query, at, keys) {
    const slope = slopeOf(head, this.heads);
    const bias = Float32Array.from({length: keys.count}, (_, key) => -slope * Math.abs(key - at));
    return {...super.meet(head, query, at, keys), bias, after: {distance_bias: bias}};
  }
}

/**
 * @param {"source" | "target"} side
 * @param {ModelConfig} config
 * @param {Weight} weight
 * @returns {(position: number) => ArrayLike<number>}
 */
function learnedVectors(side, config, weight) {
  const table = weight(`${side}_positions.table`);
  return (position) => {
    if (position < config.max_positions) return table.row(position);
    const known = `the ${config.max_positions} positions that this model has learned`;
    throw new Problem(`a sentence of ${position + 1} tokens is longer than ${known}`, {fix: "shorten the sentence"});
  };
}

/**
 * @typedef {{
 *   added?: (side: "source" | "target", config: ModelConfig, weight: Weight) =>
 *     (position: number) => ArrayLike<number>,
 *   meeting?: (config: ModelConfig, path: string, weight: Weight) => ByContent, hasLimit?: boolean}} EngineKind
 *   added: the vector that is added to an embedding, by position; meeting: how self-attention compares words, for the
 *   parameters under a path; hasLimit: there are max_positions positions and no more
 */

/** @type {Readonly<Record<string, EngineKind>>} the same list as the model's (a test holds them equal) */
export const ENGINE_POSITIONS = {
  ...Object.fromEntries(
    LAYOUTS.map((layout) => [
      layout.name,
      {
        added:
          (_, {d_model}) =>
          (position) =>
            sinusoid(layout, position, d_model),
      },
    ]),
  ),
  learned: {added: learnedVectors, hasLimit: true},
  relative: {
    meeting: ({max_distance}, path, weight) =>
      new ByDistance(weight(`${path}.dot_product.key_RK`), weight(`${path}.dot_product.value_RK`), max_distance),
  },
  rope: {meeting: () => new ByRotation()},
  alibi: {meeting: ({heads}) => new ByBias(heads)},
};

/** @param {string} name */
export function enginePositions(name) {
  if (Object.hasOwn(ENGINE_POSITIONS, name)) return ENGINE_POSITIONS[name];
  throw new Problem(`this page does not know the positions '${name}'`, {fix: "upgrade vitrail"});
}
