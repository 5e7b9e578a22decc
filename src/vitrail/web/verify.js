// The check: every recorded number is recomputed in float64 from the ones before it, and compared.
//
// `verify/model.js` says how each array follows from others in the file. If an operand is missing (a weight matrix that
// was left out), an array is counted but not reported as checked. `verify/search.js` checks the search. If the page has
// the model, every number is also computed from the weights and the sentence alone: `verify/from_scratch.js`.

import {checkChoices, checkSearch} from "./verify/search.js";
import {compareArrays, checkWords} from "./verify/from_scratch.js";
import {logSoftmax} from "./arithmetic.js";
import {recomputations} from "./verify/model.js";
import {Tally} from "./verify/tally.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./verify/tally.js").Report} Report
 */

/**
 * Check a whole trace, yielding the growing report after every row and returning it at the end.
 * @param {Trace} trace
 * @param {import("./engine/oracle.js").Oracle | null} [oracle] the model, if the page has it
 * @returns {Generator<Report, Report, void>}
 */
export function* verification(trace, oracle = null) {
  const tally = new Tally();
  const {report} = tally;
  const arrays = new Set(trace.names());
  for (const name of arrays) report.total += trace.facts.arrays[name].shape.reduce((a, b) => a * b, 1);

  for (const {name, recorded, recompute} of recomputations(trace)) {
    arrays.delete(name);
    const width = recorded.shape[recorded.shape.length - 1];
    for (let row = 0; row * width < recorded.size; row++) {
      tally.compare(name, `, row ${row}`, recorded.data.subarray(row * width, (row + 1) * width), recompute(row));
      yield report;
    }
  }
  report.unchecked.push(...arrays);

  yield* checkReference(trace, tally, oracle);
  yield* checkChoices(trace, tally);
  yield* checkSearch(trace, tally, oracle);
  if (oracle) {
    report.isFromWeights = true;
    checkWords(trace, tally, oracle);
    yield* compareArrays(trace, tally, oracle);
  }
  report.finished = true;
  return report;
}

/**
 * Check a whole trace at once.
 * @param {Trace} trace
 */
export function verifyNow(trace) {
  const work = verification(trace);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {import("./engine/oracle.js").Oracle | null} oracle
 */
function* checkReference(trace, tally, oracle) {
  const arrays = trace.referenceArrays();
  if (!arrays) return;
  tally.report.total += arrays.logits.size + arrays.log_probs.size;
  const logits = oracle?.reference()?.get("logits");
  if (!logits) tally.report.unchecked.push("reference.logits");
  for (let row = 0; logits && row < logits.shape[0]; row++) {
    tally.compare("reference.logits", `, row ${row}`, arrays.logits.row(row), logits.row(row));
  }
  for (let row = 0; row < arrays.log_probs.shape[0]; row++) {
    tally.compare("reference.log_probs", `, row ${row}`, arrays.log_probs.row(row), logSoftmax(arrays.logits.row(row)));
    yield tally.report;
  }
}
