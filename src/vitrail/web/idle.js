// Long work in short slices, so that the page stays responsive while it checks its numbers.

const SLICE = 12; // milliseconds at a time, if the browser cannot say how idle it is

/**
 * Run a generator to its end in idle time. Returns a function that stops it.
 * @template Progress, Result
 * @param {Generator<Progress, Result, void>} work
 * @param {{
 *   progress?: (value: Progress) => void, done: (value: Result) => void, fail: (thrown: unknown) => void}} report
 * @returns {() => void}
 */
export function runIdle(work, report) {
  let stopped = false;
  /** @param {number} until */
  const slice = (until) => {
    if (stopped) return;
    try {
      let step = work.next();
      while (!step.done && now() < until) step = work.next();
      if (step.done) {
        report.done(step.value);
        return;
      }
      report.progress?.(step.value);
    } catch (thrown) {
      report.fail(thrown);
      return;
    }
    schedule();
  };
  const schedule = () => {
    if (typeof requestIdleCallback === "function") {
      requestIdleCallback((deadline) => slice(now() + Math.max(deadline.timeRemaining(), SLICE / 3)), {timeout: 200});
    } else {
      setTimeout(() => slice(now() + SLICE), 0);
    }
  };
  schedule();
  return () => {
    stopped = true;
  };
}

function now() {
  return performance.now();
}
