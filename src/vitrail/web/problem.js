// What went wrong, where, and how to fix it: Vitrail's errors on the page.

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
 * Anything thrown, as a problem.
 * @param {unknown} thrown
 * @returns {Problem}
 */
export function asProblem(thrown) {
  if (thrown instanceof Problem) return thrown;
  return new Problem(thrown instanceof Error ? thrown.message : String(thrown), {
    fix: "this is a bug in the page: please report it",
  });
}
