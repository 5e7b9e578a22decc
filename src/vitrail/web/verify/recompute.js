// How an array's rows follow from other arrays in the file: the few kinds of steps that the model consists of. Each
// gives null if the file does not contain what it needs.

import {dot, layerNorm} from "../arithmetic.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {{name: string, recorded: Tensor, recompute: (row: number) => Numbers}} Recomputation
 */

/**
 * @param {Trace} trace
 * @param {string} name
 */
export function held(trace, name) {
  return trace.has(name) ? trace.array(name) : null;
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {(row: number) => Numbers} recompute
 * @returns {Recomputation | null}
 */
export function step(trace, name, recompute) {
  return trace.has(name) ? {name, recorded: trace.array(name), recompute} : null;
}

/**
 * A step whose rows follow from the same rows of one or two others.
 * @param {Trace} trace
 * @param {string} name
 * @param {string[]} operands
 * @param {(a: Numbers, b: Numbers, row: number) => Numbers} rule
 */
export function fromRows(trace, name, operands, rule) {
  const tensors = operands.map((operand) => held(trace, operand));
  if (tensors.includes(null)) return null;
  const [a, b] = tensors.map((tensor) => (/** @type {number} */ row) => flatRow(/** @type {Tensor} */ (tensor), row));
  return step(trace, name, (row) => rule(a(row), b ? b(row) : [], row));
}

/**
 * @param {Tensor} tensor
 * @param {number} row
 */
function flatRow(tensor, row) {
  const width = tensor.shape[tensor.shape.length - 1];
  return tensor.data.subarray(row * width, (row + 1) * width);
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} other
 */
export function same(trace, name, other) {
  return fromRows(trace, name, [other], (values) => values);
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} parameters
 */
export function norm(trace, name, input, parameters) {
  const gain = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  if (!gain) return null;
  return fromRows(trace, name, [input], (values) => layerNorm(values, gain.data, bias && bias.data));
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} weight
 * @param {string} bias
 * @param {(x: number) => number} [activation]
 */
export function linear(trace, name, input, weight, bias, activation = (x) => x) {
  const matrix = trace.weight(weight);
  const shift = trace.weight(bias);
  const recorded = held(trace, name);
  if (!matrix || !recorded || matrix.shape[0] !== recorded.shape[1]) return null;
  return fromRows(trace, name, [input], (x) =>
    Float64Array.from({length: matrix.shape[0]}, (_, i) =>
      activation(dot(x, matrix.row(i)) + (shift ? shift.data[i] : 0)),
    ),
  );
}

/**
 * A linear step whose result is split into heads: q, k or v.
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} parameters
 */
export function split(trace, name, input, parameters) {
  const matrix = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  const x = held(trace, input);
  const recorded = held(trace, name);
  if (!matrix || !x || !recorded) return null;
  const [, positions, width] = recorded.shape;
  return step(trace, name, (row) => {
    const first = Math.floor(row / positions) * width;
    const vector = x.row(row % positions);
    return Float64Array.from(
      {length: width},
      (_, i) => dot(vector, matrix.row(first + i)) + (bias ? bias.data[first + i] : 0),
    );
  });
}

/**
 * The heads' z side by side, through W^O.
 * @param {Trace} trace
 * @param {string} name
 * @param {string} heads
 * @param {string} parameters
 */
export function joined(trace, name, heads, parameters) {
  const matrix = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  const z = held(trace, heads);
  if (!matrix || !z) return null;
  const [count, , width] = z.shape;
  return step(trace, name, (row) => {
    const together = new Float64Array(count * width);
    for (let head = 0; head < count; head++) together.set(z.row(head, row), head * width);
    return Float64Array.from(
      {length: matrix.shape[0]},
      (_, i) => dot(together, matrix.row(i)) + (bias ? bias.data[i] : 0),
    );
  });
}
