// One attention as it was recorded: what its scores and its z are computed from again, row by row.

import {dot, mix, plus} from "../arithmetic.js";
import {fromRows, held, step} from "./recompute.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {(head: number, query: number, key: number) => Numbers} VectorOf
 */

/** The arrays of one attention. A row of its scores, weights and z belongs to one query of one head. */
export class RecordedAttention {
  /**
   * @param {{
   *   trace: Trace, path: string, parameters: string, q: Tensor, k: Tensor, v: Tensor, weights: Tensor}} given
   *   path: "encoder.0.self_attention"; parameters: the same among the model's parameters; q, k: as they meet
   */
  constructor({trace, path, parameters, q, k, v, weights}) {
    this.trace = trace;
    this.path = path;
    this.parameters = parameters;
    this.q = q;
    this.weights = weights;
    this.queries = q.shape[1];
    this.keys = k.shape[1];
    /** @type {VectorOf} */
    this.key = (head, _query, key) => k.row(trace.kvHead(head), key);
    /** @type {VectorOf} */
    this.value = (head, _query, key) => v.row(trace.kvHead(head), key);
  }

  /**
   * The query of a row, and its head.
   * @param {number} row
   */
  place(row) {
    return {head: Math.floor(row / this.queries), query: row % this.queries};
  }

  /**
   * Every query times a vector for each key.
   * @param {string} name
   * @param {VectorOf} vector
   */
  products(name, vector) {
    return step(this.trace, `${this.path}.${name}`, (row) => {
      const {head, query} = this.place(row);
      const q = this.q.row(head, query);
      return Float64Array.from({length: this.keys}, (_, key) => dot(q, vector(head, query, key)));
    });
  }

  /**
   * A vector for each key, weighted and summed, for every query.
   * @param {string} name
   * @param {VectorOf} vector
   * @param {{isZ?: boolean}} [how] isZ: what leaves the head, which is nothing if the head is switched off
   */
  mixtures(name, vector, {isZ = false} = {}) {
    return step(this.trace, `${this.path}.${name}`, (row) => {
      const {head, query} = this.place(row);
      const weights = this.weights.row(head, query);
      const sum = mix(weights, (key) => vector(head, query, key), this.trace.config.d_k);
      return isZ ? this.gated(sum, head) : sum;
    });
  }

  /**
   * The sum of two arrays.
   * @param {string} name
   * @param {[string, string]} parts
   * @param {{isZ?: boolean}} [how]
   */
  sum(name, parts, {isZ = false} = {}) {
    const operands = parts.map((part) => `${this.path}.${part}`);
    return fromRows(this.trace, `${this.path}.${name}`, operands, (a, b, row) =>
      isZ ? this.gated(plus(a, b), this.place(row).head) : plus(a, b),
    );
  }

  /**
   * @param {Float64Array} values
   * @param {number} head
   */
  gated(values, head) {
    return this.trace.isOff(this.path, head) ? values.map((value) => value * 0) : values;
  }
}

/**
 * An attention's arrays, or null if the file does not hold them.
 * @param {Trace} trace
 * @param {string} path
 * @param {string} parameters
 * @param {{q: string, k: string}} meeting the names of the queries and keys that meet
 */
export function recordedAttention(trace, path, parameters, meeting) {
  const [q, k, v, weights] = [meeting.q, meeting.k, "v", "weights"].map((name) => held(trace, `${path}.${name}`));
  return q && k && v && weights && new RecordedAttention({trace, path, parameters, q, k, v, weights});
}
