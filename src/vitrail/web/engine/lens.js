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
  return Object.fromEntries(
    names.map((name) => {
      const rows = model.say(arrays[name].values ?? new Float32Array(0), target.length);
      const best = rows.map((row) => bestOf(row, MOST_PROBABLE));
      return [
        name,
        {
          ids: best,
          log_probs: encoded(rows.map((row, step) => best[step].map((id) => row[id]))),
          chosen: {shape: [target.length], values: Float32Array.from(rows, (row, step) => row[target[step]])},
          rank: rows.map((row, step) => row.reduce((rank, value) => rank + (value > row[target[step]] ? 1 : 0), 0)),
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
    const found = model.logProbs(rest, inputOf(target));
    const width = found.length / target.length;
    return target.map((_, step) => found.subarray(step * width, (step + 1) * width));
  });
  return {
    places,
    log_probs: encoded(without.map((rows) => rows.map((row, step) => row[target[step]]))),
    best: without.map((rows) => rows.map((row) => bestOf(row, 1)[0])),
  };
}

/** @param {number[][]} rows @returns {EncodedArray} */
function encoded(rows) {
  return {shape: [rows.length, rows[0]?.length ?? 0], values: Float32Array.from(rows.flat())};
}
