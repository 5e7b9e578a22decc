// What went wrong, where, and how to fix it: the page's share of Vitrail's errors.

/** An error to show to a reader. */
export class Problem extends Error {
  /**
   * @param {string} what
   * @param {{where?: string, fix?: string}} [more]
   */
  constructor(what, more = {}) {
    super(what);
    this.what = what;
    this.where = more.where ?? "";
    this.fix = more.fix ?? "";
  }
}

/**
 * Any thrown thing as a problem.
 * @param {unknown} thrown
 * @returns {Problem}
 */
export function asProblem(thrown) {
  if (thrown instanceof Problem) return thrown;
  return new Problem(thrown instanceof Error ? thrown.message : String(thrown), {
    fix: "this is a fault of the page itself: please report it",
  });
}
