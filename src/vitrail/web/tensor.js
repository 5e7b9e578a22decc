// Numbers with axes, and how a file stores them.

import {Problem} from "./problem.js";

/**
 * @typedef {{shape: readonly number[], data?: string, values?: Float32Array, same?: string}} EncodedArray
 *   data: as a file stores the numbers; values: as the page's own model computed them
 */

/** What to do about a damaged file. */
export const COPY_AGAIN = "copy the file again, or record the sentence again";

/** Numbers with axes, the last one running fastest. */
export class Tensor {
  /**
   * @param {readonly number[]} shape
   * @param {Float32Array} data
   */
  constructor(shape, data) {
    this.shape = shape;
    this.data = data;
  }

  /**
   * One number: `at(head, query, key)`.
   * @param {...number} index
   */
  at(...index) {
    let place = 0;
    for (let axis = 0; axis < this.shape.length; axis++) place = place * this.shape[axis] + index[axis];
    return this.data[place];
  }

  /**
   * All numbers under the leading indices, without copying them: `row(head, query)` is that query's row.
   * @param {...number} index
   */
  row(...index) {
    let place = 0;
    let size = 1;
    this.shape.forEach((length, axis) => {
      if (axis < index.length) place = place * length + index[axis];
      else size *= length;
    });
    return this.data.subarray(place * size, (place + 1) * size);
  }

  /** How many numbers there are. */
  get size() {
    return this.data.length;
  }
}

/**
 * The numbers of an encoded array: base64 of little-endian float32, so that -inf survives.
 * @param {EncodedArray} encoded
 * @param {string} where
 * @returns {Tensor}
 */
export function decodeArray(encoded, where) {
  const size = encoded.shape.reduce((product, length) => product * length, 1);
  if (encoded.values) return new Tensor(encoded.shape, encoded.values);
  const binary = atob(encoded.data ?? "");
  if (binary.length !== 4 * size) {
    throw new Problem(`there are ${binary.length} bytes for ${encoded.shape.join(" × ")} numbers`, {
      where,
      fix: COPY_AGAIN,
    });
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Tensor(encoded.shape, new Float32Array(bytes.buffer));
}
