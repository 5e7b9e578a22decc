// Who checks the numbers: the page itself, in idle time, or its model, which can compute all of them again.

import {runIdle} from "./idle.js";
import {verification} from "./verify.js";

/**
 * Check a trace. Gives a way to stop.
 * @param {import("./source.js").Source} source
 * @param {import("./trace.js").Trace} trace
 * @param {string} model
 * @param {{progress: (report: import("./verify.js").Report) => void, fail: (thrown: unknown) => void}} tell
 * @returns {() => void}
 */
export function startChecking(source, trace, model, {progress, fail}) {
  if ("check" in source) return source.check(trace, model, {progress, fail});
  return runIdle(verification(trace), {progress, done: progress, fail});
}
