// What a search may generate: how long, which ids, and with which first words. decode/request.py, decode/hypothesis.py.

import {Problem} from "../problem.js";
import {EOS} from "./special.js";

/**
 * @typedef {{
 *   source: number[], limit: number, forbidden: number[], prefix: number[], beamSize: number, topBeams: number,
 *   alpha: number, penalty: "length" | "gnmt", temperature: number, topK: number, topP: number,
 *   seed: bigint, memory?: Float32Array}} SearchRequest
 *   memory: the encoder's output, if the source has been read
 * @typedef {{ids: number[], logProbs: number[], score: number, finished: boolean}} Hypothesis
 *   ids: with `<eos>` if it is finished
 */

/**
 * The most ids to generate, `<eos>` included.
 * @param {readonly number[]} source
 * @param {number} maxExtra
 * @param {number | null} maxPositions
 */
export function lengthLimit(source, maxExtra, maxPositions) {
  return Math.min(source.length + maxExtra, maxPositions ?? Infinity);
}

/**
 * Refuse first words that no translation can have.
 * @param {SearchRequest} request
 */
export function checkPrefix({prefix, limit, forbidden}) {
  if (prefix.some((id) => id === EOS || forbidden.includes(id))) {
    throw new Problem("the prefix contains a symbol that no translation may contain", {
      where: "the first words",
      fix: "remove special symbols and unknown words",
    });
  }
  if (prefix.length > limit) {
    throw new Problem(`the prefix has ${prefix.length} tokens, but the translation may have at most ${limit}`, {
      where: "the first words",
      fix: "shorten them",
    });
  }
}

/**
 * Set the log-probabilities of ids that may not be generated at this step to -inf, in place.
 * @param {Float32Array} row
 * @param {{forbidden: readonly number[], prefix: readonly number[]}} request
 * @param {number} step from 1
 */
export function restrict(row, {forbidden, prefix}, step) {
  for (const id of forbidden) row[id] = -Infinity;
  if (step > prefix.length) return;
  const forced = row[prefix[step - 1]];
  row.fill(-Infinity);
  row[prefix[step - 1]] = forced;
}

/** Refuse predictions that are not numbers: no search could use them. @param {number} best */
export function refuseBroken(best) {
  if (!Number.isNaN(best)) return;
  throw new Problem("the model's predictions are not numbers (NaN)", {
    fix: "its weights are damaged, or its training diverged: use an earlier checkpoint",
  });
}

/** Refuse a search that found nothing. @returns {never} */
export function refuseNothing() {
  throw new Problem("the model gives no translation any probability", {fix: "check the first words"});
}
