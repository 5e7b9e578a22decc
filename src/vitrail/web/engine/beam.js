// Beam search by the rule of decode/beam.py: keep a few partial translations and extend the best of them.

import {lengthPenalty} from "../arithmetic.js";
import {refuseBroken, refuseNothing, restrict} from "./limits.js";
import {BOS, EOS} from "./special.js";

/**
 * @typedef {import("./limits.js").SearchRequest} SearchRequest
 * @typedef {import("./limits.js").Hypothesis} Hypothesis
 * @typedef {{ids: number[], logProbs: number[], total: number}} Live a growing hypothesis, without `<bos>`
 * @typedef {{parent: number, id: number, logProb: number, total: number}} Continuation
 * @typedef {{setAside: Set<number>, survivors: number[]}} Decision the ranks of candidates
 * @typedef {{
 *   searched: (step: number, live: Live[], candidates: Continuation[], decision: Decision, isDone: boolean) => void
 *   }} BeamListener
 */

/**
 * The complete hypotheses of a sentence, best first, at most `topBeams`.
 * @param {import("./transformer.js").Transformer} model
 * @param {SearchRequest} request
 * @param {BeamListener} [listener]
 * @returns {Hypothesis[]}
 */
export function beamSearch(model, request, listener) {
  const {beamSize, limit} = request;
  const cache = model.start(request.source, request.memory);
  /** @type {Hypothesis[]} */
  const complete = [];
  /** @type {Live[]} */
  let live = [{ids: [], logProbs: [], total: 0}];
  for (let step = 1; ; step++) {
    const predicted = model.step(
      live.map(({ids}) => (ids.length ? ids[ids.length - 1] : BOS)),
      cache,
    );
    const width = predicted.length / live.length;
    const rows = live.map((_, index) => predicted.subarray(index * width, (index + 1) * width));
    for (const row of rows) restrict(row, request, step);
    const candidates = bestContinuations(live, rows, 2 * beamSize);
    const isLast = step >= limit;
    const decision = decide(candidates, isLast, beamSize);
    for (const rank of decision.setAside) complete.push(hypothesisOf(extended(live, candidates[rank]), request));
    const isDone = isLast || !decision.survivors.length || complete.length >= beamSize;
    listener?.searched(step, live, candidates, decision, isDone);
    if (isDone) break;
    const kept = decision.survivors.map((rank) => candidates[rank]);
    model.reorder(
      cache,
      kept.map(({parent}) => parent),
    );
    live = kept.map((candidate) => extended(live, candidate));
  }
  if (!complete.length) refuseNothing();
  return ranked(complete).slice(0, request.topBeams);
}

/**
 * The best continuations of all live hypotheses, best first. Ties go to the lower hypothesis, then the lower id.
 * @param {Live[]} live
 * @param {Float32Array[]} rows of log-probabilities
 * @param {number} count
 * @returns {Continuation[]}
 */
function bestContinuations(live, rows, count) {
  const found = rows.flatMap((row, parent) =>
    bestOf(row, count).map((id) => ({parent, id, logProb: row[id], total: live[parent].total + row[id]})),
  );
  return found
    .filter(({total}) => total > -Infinity)
    .sort((a, b) => b.total - a.total) // stable
    .slice(0, count);
}

/**
 * The ids of the largest numbers, best first; ties go to the lower id.
 * @param {ArrayLike<number>} row
 * @param {number} count
 * @returns {number[]}
 */
export function bestOf(row, count) {
  /** @type {number[]} */
  const best = [];
  let least = -Infinity;
  for (let id = 0; id < row.length; id++) {
    const value = row[id];
    refuseBroken(value);
    if (best.length === count && !(value > least)) continue;
    let place = best.length;
    while (place > 0 && row[best[place - 1]] < value) place--;
    best.splice(place, 0, id);
    if (best.length > count) best.pop();
    least = row[best[best.length - 1]];
  }
  return best;
}

/**
 * The search rule for one step. Among the best `beamSize` candidates, those that end are set aside; at the last step,
 * all of them. The best `beamSize` that do not end survive. A candidate that ends further down the list is dropped.
 * @param {Continuation[]} candidates
 * @param {boolean} isLast
 * @param {number} beamSize
 * @returns {Decision}
 */
export function decide(candidates, isLast, beamSize) {
  const ranks = candidates.map((_, rank) => rank);
  const ends = (/** @type {number} */ rank) => candidates[rank].id === EOS;
  return {
    setAside: new Set(ranks.slice(0, beamSize).filter((rank) => isLast || ends(rank))),
    survivors: ranks.filter((rank) => !ends(rank)).slice(0, beamSize),
  };
}

/** @param {Live[]} live @param {Continuation} candidate @returns {Live} */
export function extended(live, {parent, id, logProb, total}) {
  return {ids: [...live[parent].ids, id], logProbs: [...live[parent].logProbs, logProb], total};
}

/**
 * @param {{ids: number[], logProbs: number[]}} row
 * @param {SearchRequest} request
 * @returns {Hypothesis}
 */
export function hypothesisOf({ids, logProbs}, {penalty, alpha}) {
  const sum = logProbs.reduce((total, value) => total + value, 0);
  const score = sum / lengthPenalty(ids.length, penalty, alpha);
  return {ids, logProbs, score, finished: ids[ids.length - 1] === EOS};
}

/** Best score first; ties keep the order of completion. @param {readonly Hypothesis[]} hypotheses */
export function ranked(hypotheses) {
  return [...hypotheses].sort((a, b) => b.score - a.score);
}
