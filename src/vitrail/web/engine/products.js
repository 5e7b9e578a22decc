// Products of matrices, which are nearly all of the work: in plain JavaScript, which runs everywhere.
//
// `simd.js` has the same two methods, several times as fast. `openProducts` chooses.

import {openSimd} from "./simd.js";

/**
 * @typedef {{
 *   linear: (x: Float32Array, count: number, matrix: import("../tensor.js").Tensor, bias: Float32Array | null) =>
 *     Float32Array,
 *   take: (count: number) => Float32Array}} Products
 *   linear: each of `count` rows of x times the transposed matrix (outputs × inputs), plus a bias.
 *   take: room for some of a model's weights
 */

/**
 * Room for that many weights, and the products with them.
 * @param {number} floats
 * @param {number[][]} shapes of the weights
 * @returns {Products}
 */
export function openProducts(floats, shapes) {
  return openSimd(floats, shapes) ?? new PlainProducts();
}

/** Products in plain JavaScript. Sums are in double precision. */
export class PlainProducts {
  /** @param {number} count */
  take(count) {
    return new Float32Array(count);
  }

  /**
   * @param {Float32Array} x
   * @param {number} count
   * @param {import("../tensor.js").Tensor} matrix
   * @param {Float32Array | null} bias
   */
  linear(x, count, {shape, data}, bias) {
    const [outputs, inputs] = shape;
    const result = new Float32Array(count * outputs);
    for (let row = 0; row < count; row++) {
      for (let output = 0; output < outputs; output++) {
        let sum = bias ? bias[output] : 0;
        const first = row * inputs;
        const weights = output * inputs;
        for (let i = 0; i < inputs; i++) sum += x[first + i] * data[weights + i];
        result[row * outputs + output] = sum;
      }
    }
    return result;
  }
}
