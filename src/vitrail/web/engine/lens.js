// Two questions to a finished translation: what each layer would say, and which word mattered. trace/lens.py and
// trace/left_out.py.

import {bestOf} from "./beam.js";
import {inputOf} from "./special.js";

/**
 * @typedef {import("./transformer.js").Transformer} Transformer
 * @typedef {import("../tensor.js").EncodedArray} EncodedArray
 * @typedef {import("../trace.js").EncodedLens} EncodedLens
 * @typedef {import("../trace.js").EncodedLeftOut} EncodedLeftOut
 */

const MOST_PROBABLE = 8;

/**
 * For the decoder's input and after each layer: the most probable ids at each step, and how the chosen one fares.
 * @param {Transformer} model
 * @param {Record<string, EncodedArray>} arrays
 * @param {number[]} target
 * @returns {Record<string, EncodedLens>}
 */
export function lensOf(model, arrays, target) {
  const names = ["target.sum", ...model.decoder.map((_, layer) => `decoder.${layer}.output`)];
  const valuesOf = (/** @type {string} */ name) => arrays[name].values ?? new Float32Array(0);
  return Object.fromEntries(
    names.map((name, index) => {
      const isLast = index === names.length - 1; // what the model itself says
      const found = isLast ? valuesOf("log_probs") : model.say(valuesOf(name), target.length);
      const rows = split(found, target.length);
      const best = rows.map((row) => bestOf(row, MOST_PROBABLE));
      return [
        name,
        {
          ids: best,
          log_probs: encoded(rows.map((row, step) => best[step].map((id) => row[id]))),
          chosen: {shape: [target.length], values: Float32Array.from(rows, (row, step) => row[target[step]])},
          rank: rows.map((row, step) => countAbove(row, row[target[step]])),
        },
      ];
    }),
  );
}

/**
 * For each word of the source: the translation's chances without it. Null if there is no word.
 * @param {Transformer} model
 * @param {number[]} source
 * @param {number[]} words the word of each token, or -1
 * @param {number[]} target
 * @returns {EncodedLeftOut | null}
 */
export function leftOutOf(model, source, words, target) {
  const places = Array.from({length: Math.max(-1, ...words) + 1}, (_, word) =>
    words.flatMap((other, at) => (other === word ? [at] : [])),
  );
  if (!places.length) return null;
  const without = places.map((gone) => {
    const rest = source.filter((_, at) => !gone.includes(at));
    return split(model.logProbs(rest, inputOf(target)), target.length);
  });
  return {
    places,
    log_probs: encoded(without.map((rows) => rows.map((row, step) => row[target[step]]))),
    best: without.map((rows) => rows.map((row) => bestOf(row, 1)[0])),
  };
}

/** @param {Float32Array} values @param {number} count of rows */
function split(values, count) {
  const width = values.length / count;
  return Array.from({length: count}, (_, row) => values.subarray(row * width, (row + 1) * width));
}

/** @param {Float32Array} row @param {number} bound */
function countAbove(row, bound) {
  let above = 0;
  for (let i = 0; i < row.length; i++) if (row[i] > bound) above++;
  return above;
}

/** @param {number[][]} rows @returns {EncodedArray} */
function encoded(rows) {
  return {shape: [rows.length, rows[0]?.length ?? 0], values: Float32Array.from(rows.flat())};
}
