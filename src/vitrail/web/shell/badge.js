// The badge that says how many numbers of the page were recomputed, and with what result.

import {element} from "../dom.js";
import {count, scientific} from "../numbers.js";

/** @typedef {import("../verify.js").Report} Report */

const RECOMPUTED = "Your browser recomputed every checked number, in double precision, from the numbers before it";
const FROM_WEIGHTS =
  ", and once more from the model’s weights and the sentence alone. Differences are measured against the " +
  "largest number of a row; rounding in single precision leaves about 1e-6";

/**
 * "checked 2,304 of 2,310 numbers (99%), largest difference 4e-7".
 * @param {Report} report
 */
export function reportWords(report) {
  const largest = Number.isFinite(report.largest) ? scientific(report.largest) : "infinite";
  const [checked, total] = [count(report.checked), count(report.total)];
  if (report.checked === report.total) return `checked all ${total} numbers, largest difference ${largest}`;
  return `checked ${checked} of ${total} numbers (${shareOf(report)}%), largest difference ${largest}`;
}

/** The share that was checked, in whole per cent, never rounded up. @param {Report} report */
function shareOf({checked, total}) {
  return Math.floor((100 * checked) / total);
}

/** A small panel that opens to the details. */
export class Badge {
  constructor() {
    this.summary = element("summary", {class: "badge-summary"}, "checking…");
    this.details = element("div", {class: "badge-details"});
    this.node = element("details", {class: "badge", "data-verified": "checking"}, this.summary, this.details);
  }

  /** @param {Report} report */
  show(report) {
    const failed = report.failures.length > 0;
    const state = failed ? "failed" : report.finished ? "ok" : "checking";
    this.node.dataset.verified = state;
    const short = {failed: "does not add up", ok: `${shareOf(report)}% checked`, checking: "checking…"}[state];
    this.summary.replaceChildren(
      element("span", {class: "badge-sign", "aria-hidden": "true"}, {failed: "✗", ok: "✓", checking: "…"}[state]),
      element("span", {class: "badge-word"}, short),
    );
    /** @type {HTMLElement[]} */
    const lines = [element("p", {}, `${reportWords(report)}.`)];
    if (failed) {
      lines.push(element("p", {}, "These do not follow from the numbers before them:"));
      lines.push(element("ul", {}, ...report.failures.map(({name, place}) => element("li", {}, `${name}${place}`))));
    } else if (report.finished) {
      lines.push(element("p", {}, `${RECOMPUTED}${report.isFromWeights ? FROM_WEIGHTS : ""}.`));
      if (report.unchecked.length) {
        lines.push(element("p", {}, "Not checked, because this page has neither the model nor what they follow from:"));
        lines.push(element("p", {class: "unchecked"}, report.unchecked.join(", ")));
      }
    }
    this.details.replaceChildren(...lines);
  }
}
