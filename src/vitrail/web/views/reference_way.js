// The reference laid into the search: where it left the beam, and whether the search or the model is to blame.

import {plain} from "../context.js";
import {causeInWords, referencePath} from "../report/cause.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../report/facts.js").Cause} Cause
 */

const TIE = 1e-4; // scores closer than this are equal, as between engines

/**
 * Say why the search did not return the reference, and show the reference token by token.
 * @param {ViewContext} context
 */
export function followReference(context) {
  const cause = causeOf(context.trace);
  if (!cause) return;
  context.say`${plain(`The reference is “${context.trace.reference?.text}”. ${causeInWords(cause)}`)}`;
  if (cause.kind !== "right") context.note(referencePath(cause));
}

/**
 * Why the translation is not the reference, as `evaluate/causes.py` finds it; null without a reference or a search.
 * @param {Trace} trace
 * @returns {Cause | null}
 */
export function causeOf(trace) {
  const {reference, search} = trace;
  const tables = trace.referenceArrays();
  const [best] = search.results;
  if (!reference || !tables || !best || search.kind !== "beam") return null;
  const {ids, tokens} = reference;
  const {left, candidate} = leavingStep(search, ids);
  const steps = ids.map((id, place) => {
    const row = tables.log_probs.row(place);
    let [most, rank] = [0, 0];
    for (let other = 0; other < row.length; other++) {
      if (row[other] > row[most]) most = other;
      if (row[other] > row[id]) rank++;
    }
    return {
      token: tokens[place],
      log_prob: row[id],
      rank,
      best: trace.vocabulary[most],
      best_log_prob: row[most],
      is_live: left === null || place + 1 < left,
    };
  });
  const total = steps.reduce((sum, step) => sum + step.log_prob, 0);
  const length = search.penalty === "gnmt" ? (5 + ids.length) / 6 : Math.max(ids.length, 1);
  const score = total / length ** search.alpha;
  const isSame = best.ids.length === ids.length && best.ids.every((id, place) => id === ids[place]);
  return {
    kind: isSame ? "right" : score > best.score + TIE ? "search" : "model",
    unknown: [],
    found: best.text,
    score: best.score,
    reference_score: score,
    left,
    fate: left === null ? null : (candidate?.fate ?? "unseen"),
    margin: candidate?.margin ?? null,
    steps,
  };
}

/**
 * The step, from 1, at which a row of ids left the beam, and the candidate that it was there, if it was one.
 * @param {import("../trace.js").Search} search
 * @param {number[]} ids
 * @returns {{left: number | null, candidate: import("../trace.js").Candidate | null}}
 */
export function leavingStep(search, ids) {
  for (let place = 0; place < ids.length; place++) {
    const step = search.steps[place];
    if (!step) return {left: place + 1, candidate: null};
    const before = ids.slice(0, place).join(" ");
    const candidate = step.candidates.find(
      ({id, parent}) => id === ids[place] && step.live[parent].tokens_so_far.join(" ") === before,
    );
    if (!candidate || (candidate.fate !== "kept" && candidate.fate !== "finished")) {
      return {left: place + 1, candidate: candidate ?? null};
    }
  }
  return {left: null, candidate: null};
}
