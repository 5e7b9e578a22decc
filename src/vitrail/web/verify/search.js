// The search's own arithmetic, and its choices against the log-probabilities of the recorded pass.

import {held} from "./recompute.js";
import {largestSize, rowDifference, TOLERANCE} from "./tally.js";
import {lengthPenalty} from "../arithmetic.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").SearchStep} SearchStep
 * @typedef {import("./tally.js").Tally} Tally
 * @typedef {import("../engine/oracle.js").Oracle} Oracle
 * @typedef {ArrayLike<number>} Numbers
 */

/**
 * The chosen words: the translation is the search's first result; with one beam, each of its words must be the most
 * probable one allowed.
 * @param {Trace} trace
 * @param {Tally} tally
 */
export function* checkChoices(trace, tally) {
  const {ids} = trace.target;
  const found = trace.search.results[0]?.ids ?? [];
  tally.report.total += ids.length;
  tally.report.checked += ids.length;
  if (String(found) !== String(ids)) tally.fail("target.ids", ", not what the search found", Infinity);
  const logProbs = held(trace, "log_probs");
  const isGreedy = trace.search.kind === "beam" && trace.search.beam_size === 1 && !trace.whatIf.prefix;
  if (!isGreedy || !logProbs) return;
  for (const [position, id] of ids.entries()) {
    const row = logProbs.row(position);
    // The search ran on the fast path, where two words of almost the same probability may trade places.
    const difference = rowDifference([row[id]], [row[mostProbable(row, trace)]], largestSize(row));
    if (!(difference <= TOLERANCE)) tally.fail("target.ids", `, position ${position}`, difference);
    yield tally.report;
  }
}

/**
 * The most probable id of those that a translation may contain.
 * @param {Numbers} row
 * @param {Trace} trace
 */
function mostProbable(row, trace) {
  const firstWord = 4 + trace.model.languages.length;
  let best = 3; // <eos> is always allowed
  for (let id = firstWord; id < row.length; id++) if (row[id] > row[best]) best = id;
  return best;
}

/**
 * The search's own arithmetic: totals, scores, ranks, margins and which hypotheses continue; and the log-probabilities
 * of its candidates and results against those of the recorded pass, or of the model if the page has it.
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {Oracle | null} oracle
 */
export function* checkSearch(trace, tally, oracle) {
  const {steps, results} = trace.search;
  for (const [index, current] of steps.entries()) {
    checkLive(trace, tally, index);
    checkCandidates(trace, tally, current, oracle);
    yield tally.report;
  }
  for (const [index, result] of results.entries()) {
    const place = `, result ${index + 1}`;
    const sum = result.log_probs.reduce((a, b) => a + b, 0);
    tally.report.total += result.log_probs.length + 1;
    if (trace.search.kind === "beam" && index > 0 && result.score > results[index - 1].score) {
      tally.fail("search.results.score", `${place}, better than the one before it`, Infinity);
    }
    tally.compare("search.results.score", place, [result.score], [sum / penaltyAt(trace, result.ids.length)]);
    for (const [length, value] of result.log_probs.entries()) {
      const row = rowAfter(trace, result.ids.slice(0, length), oracle);
      if (!row) continue;
      tally.compare("search.results.log_probs", place, [value], [row[result.ids[length]]], largestSize(row));
    }
    yield tally.report;
  }
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {number} index
 */
function checkLive(trace, tally, index) {
  const {live, step: number} = trace.search.steps[index];
  tally.report.total += live.length;
  const before = trace.search.steps[index - 1];
  for (const [place, hypothesis] of live.entries()) {
    const where = `, step ${number}, hypothesis ${place}`;
    if (!before) {
      tally.compare("search.live.total", where, [hypothesis.total], [0]);
      continue;
    }
    const parent = before.candidates.find((one) => one.fate === "kept" && one.becomes === place);
    if (!parent) {
      tally.fail("search.candidates.becomes", where, Infinity);
      continue;
    }
    tally.compare("search.live.total", where, [hypothesis.total], [parent.total]);
    const tokens = [...(before.live[parent.parent]?.tokens_so_far ?? []), parent.id];
    if (String(tokens) !== String(hypothesis.tokens_so_far)) tally.fail("search.live.tokens_so_far", where, Infinity);
  }
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {SearchStep} current
 * @param {Oracle | null} oracle
 */
function checkCandidates(trace, tally, {step: number, live, candidates}, oracle) {
  const isBeam = trace.search.kind === "beam";
  const worstKept = candidates
    .filter((one) => one.fate === "kept" || one.fate === "stopped")
    .reduce((least, one) => Math.min(least, one.total), Infinity);
  for (const [place, one] of candidates.entries()) {
    const where = `, step ${number}, candidate ${place}`;
    const parent = live[one.parent];
    tally.report.total += 3 + (one.margin === null ? 0 : 1);
    if (!parent) {
      tally.fail("search.candidates.parent", where, Infinity);
      continue;
    }
    tally.compare("search.candidates.total", where, [one.total], [parent.total + one.log_prob]);
    tally.compare("search.candidates.score", where, [one.score], [one.total / penaltyAt(trace, number)]);
    if (one.margin !== null) {
      tally.compare("search.candidates.margin", where, [one.margin], [worstKept - one.total], Math.abs(one.total));
    }
    if (isBeam && (one.rank !== place || (place > 0 && one.total > candidates[place - 1].total))) {
      tally.fail("search.candidates.rank", where, Infinity);
    }
    const row = rowAfter(trace, parent.tokens_so_far, oracle);
    if (row) tally.compare("search.candidates.log_prob", where, [one.log_prob], [row[one.id]], largestSize(row));
    if (oracle && one.chance !== undefined) {
      tally.compareAgain(
        "search.candidates.chance",
        where,
        [one.chance],
        [oracle.chance(parent.tokens_so_far, one.id)],
      );
    }
  }
  if (oracle && isBeam) checkBest(trace, tally, {step: number, live, candidates}, oracle);
}

/**
 * That the candidates are the best continuations: as good, place by place, as those that the model finds.
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {SearchStep} current
 * @param {Oracle} oracle
 */
function checkBest(trace, tally, {step: number, live, candidates}, oracle) {
  const count = 2 * trace.search.beam_size;
  const best = live
    .flatMap(({tokens_so_far: tokens, total}) => oracle.best(tokens, count).map(({logProb}) => total + logProb))
    .filter((total) => total > -Infinity)
    .sort((a, b) => b - a)
    .slice(0, count);
  const totals = candidates.map(({total}) => total);
  const where = `, step ${number}`;
  if (best.length !== totals.length) tally.fail("search.candidates", where, Infinity);
  else tally.compareAgain("search.candidates", where, totals, best);
}

/**
 * The log-probabilities of the word after these: of the recorded pass if it went this way, else the model's.
 * @param {Trace} trace
 * @param {number[]} tokens
 * @param {Oracle | null} oracle
 * @returns {Numbers | null}
 */
function rowAfter(trace, tokens, oracle) {
  const logProbs = held(trace, "log_probs");
  const isRecorded = logProbs && startsWith(trace.target.ids, tokens) && tokens.length < logProbs.shape[0];
  return isRecorded ? logProbs.row(tokens.length) : (oracle?.after(tokens) ?? null);
}

/**
 * @param {Trace} trace
 * @param {number} length
 */
function penaltyAt(trace, length) {
  return lengthPenalty(length, trace.search.penalty, trace.search.alpha);
}

/**
 * @param {number[]} whole
 * @param {number[]} start
 */
function startsWith(whole, start) {
  return start.length <= whole.length && start.every((id, index) => whole[index] === id);
}
