// Sampling by the rule of decode/sampling.py: draw each id from the model's distribution, adjusted by temperature,
// top_k and top_p. The seeds are Python's, so the draws are too, unless one falls on the border of two ids' shares.

import {softmax} from "../arithmetic.js";
import {bestOf, hypothesisOf} from "./beam.js";
import {digestOf} from "./blake2b.js";
import {refuseNothing, restrict} from "./limits.js";
import {PythonRandom} from "./random.js";
import {BOS, EOS} from "./special.js";

/**
 * @typedef {import("./limits.js").SearchRequest} SearchRequest
 * @typedef {{draw: number, ids: number[], logProbs: number[]}} Draw
 * @typedef {{id: number, logProbs: Float32Array, chances: Float64Array}} Drawn
 * @typedef {{drew: (step: number, going: Draw[], drawn: Drawn[]) => void}} DrawListener
 */

/**
 * `topBeams` independent draws, in order.
 * @param {import("./transformer.js").Transformer} model
 * @param {SearchRequest} request
 * @param {DrawListener} [listener]
 */
export function sample(model, request, listener) {
  const {limit, topBeams} = request;
  const luck = Array.from({length: topBeams}, (_, draw) => new PythonRandom(seedOf(request, draw)));
  const cache = model.start(request.source, request.memory);
  /** @type {Draw[]} */
  const draws = luck.map((_, draw) => ({draw, ids: [], logProbs: []}));
  let going = [...draws];
  for (let step = 1; going.length && step <= limit; step++) {
    // Before the first draw, all draws are the same hypothesis.
    const inputs = step === 1 ? [BOS] : going.map(({ids}) => ids[ids.length - 1]);
    const predicted = model.step(inputs, cache);
    const width = predicted.length / inputs.length;
    const drawn = going.map(({draw}, index) => {
      const first = step === 1 ? 0 : index * width;
      const logProbs = predicted.subarray(first, first + width);
      restrict(logProbs, request, step);
      const chances = distribution(logProbs, request);
      return {id: pick(chances, luck[draw].next()), logProbs, chances};
    });
    listener?.drew(step, going, drawn);
    drawn.forEach(({id, logProbs}, index) => {
      going[index].ids.push(id);
      going[index].logProbs.push(logProbs[id]);
    });
    const still = going.map((_, index) => index).filter((index) => drawn[index].id !== EOS);
    model.reorder(cache, step === 1 ? still.map(() => 0) : still);
    going = still.map((index) => going[index]);
  }
  return draws.map((draw) => hypothesisOf(draw, request));
}

/**
 * The probabilities to draw from: temperature, then top_k, then top_p.
 * @param {Float32Array} logProbs
 * @param {{temperature: number, topK: number, topP: number}} how
 */
export function distribution(logProbs, {temperature, topK, topP}) {
  const scaled = Float64Array.from(logProbs, (value) => value / temperature);
  if (scaled.every((value) => value === -Infinity)) refuseNothing();
  if (!topK && topP === 1) return softmax(scaled);
  const order = bestOf(scaled, topK || scaled.length);
  const chances = softmax(order.map((id) => scaled[id]));
  if (topP < 1) {
    // The smallest set that reaches top_p: keep an id as long as those before it fall short.
    let before = 0;
    let kept = 0;
    for (let i = 0; i < chances.length; i++) {
      const chance = chances[i];
      before += chance;
      if (before - chance >= topP) chances[i] = 0;
      kept += chances[i];
    }
    for (let i = 0; i < chances.length; i++) chances[i] /= kept;
  }
  const spread = new Float64Array(scaled.length);
  order.forEach((id, rank) => (spread[id] = chances[rank]));
  return spread;
}

/**
 * The id whose share of [0, 1) contains a number; shares are laid out in the order of ids.
 * @param {Float64Array} chances
 * @param {number} luck
 */
function pick(chances, luck) {
  const ends = new Float64Array(chances.length);
  let end = 0;
  for (let id = 0; id < chances.length; id++) ends[id] = end += chances[id];
  const thrown = luck * end;
  return ends.findIndex((value) => value > thrown);
}

/**
 * A seed that depends only on the user's seed, the sentence and the number of the draw.
 * @param {SearchRequest} request
 * @param {number} draw
 */
function seedOf({seed, source}, draw) {
  return digestOf(`${seed}/${draw}/${source.join(",")}`);
}
