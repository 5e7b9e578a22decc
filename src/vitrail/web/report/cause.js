// Why a translation is not the reference: the reference's way through the search, token by token.

import {element} from "../dom.js";
import {decimal, significant} from "../numbers.js";

/**
 * @typedef {import("./facts.js").Cause} Cause
 */

/**
 * A probability in per cent that never says 0.
 * @param {number} logProb
 */
export function chanceOf(logProb) {
  const share = 100 * Math.exp(logProb);
  return `${share >= 10 ? decimal(share, 0) : significant(share, 2)} %`;
}

/**
 * The cause in words.
 * @param {Cause} cause
 * @returns {string}
 */
export function causeInWords(cause) {
  if (cause.kind === "right") return "The search finds the reference itself.";
  if (cause.kind === "unknown") return `The model has no tokens for ${cause.unknown.join(", ")}.`;
  const [own, wanted] = [cause.score ?? 0, cause.reference_score ?? 0].map((score) => decimal(score, 3));
  const verdict =
    cause.kind === "search"
      ? `Search error: the model itself prefers the reference (score ${wanted}) to what was found (${own}).`
      : `Model error: the model prefers its own translation (score ${own}) to the reference (${wanted}).`;
  return `${verdict} ${whereItLeft(cause)}`;
}

/**
 * Where the reference left the beam, and what the model said there.
 * @param {Cause} cause
 */
function whereItLeft(cause) {
  if (cause.left === null) return "The reference stayed in the beam to its end.";
  const step = cause.steps[cause.left - 1];
  const asked = `At step ${cause.left}, “${word(step.token)}” had ${chanceOf(step.log_prob)}`;
  const most =
    step.rank === 0
      ? ", the most of all"
      : ` (number ${step.rank + 1}; “${word(step.best)}” had ${chanceOf(step.best_log_prob)})`;
  return `${asked}${most}, and ${fateInWords(cause)}.`;
}

/** @param {Cause} cause */
function fateInWords(cause) {
  if (cause.fate === "pruned") return `was dropped, ${significant(cause.margin ?? 0, 2)} below the last that was kept`;
  if (cause.fate === "dropped") return "ended too far down";
  if (cause.fate === "stopped") return "the search was over";
  return "was not among the candidates";
}

/**
 * The reference as a row of tokens: those that the beam still held, and those it did not.
 * @param {Cause} cause
 */
export function referencePath(cause) {
  return element(
    "ol",
    {class: "path"},
    cause.steps.map((step, place) => {
      const state = step.is_live ? "live" : place + 1 === cause.left ? "left" : "gone";
      const most = `most probable: “${word(step.best)}” ${chanceOf(step.best_log_prob)}`;
      const hint = `${place + 1}: ${chanceOf(step.log_prob)}, number ${step.rank + 1}; ${most}`;
      return element(
        "li",
        {class: `step ${state}`, title: hint},
        element("span", {class: "step-token"}, word(step.token)),
        element("span", {class: "step-chance"}, chanceOf(step.log_prob)),
        step.rank > 0 && element("span", {class: "step-best"}, word(step.best)),
      );
    }),
  );
}

/**
 * A token without the mark for the space before it.
 * @param {string} token
 */
function word(token) {
  return token.length > 1 ? token.replace(/^▁/, "") : token;
}
