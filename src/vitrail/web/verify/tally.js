// What was compared, and how far apart it was.

/**
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {{name: string, place: string, difference: number}} Failure
 * @typedef {{
 *   checked: number, total: number, largest: number, where: string, failures: Failure[], unchecked: string[],
 *   finished: boolean, isFromWeights: boolean}} Report
 *   isFromWeights: whether everything was also computed from the weights and the sentence alone
 */

export const TOLERANCE = 1e-4; // |a − b| / max|row|

/** Keeps count of what was compared. */
export class Tally {
  constructor() {
    /** @type {Report} */
    this.report = {
      ...{checked: 0, total: 0, largest: 0, where: "", failures: [], unchecked: []},
      ...{finished: false, isFromWeights: false},
    };
  }

  /**
   * Compare a recorded row with the recomputed one.
   * @param {string} name
   * @param {string} place
   * @param {Numbers} recorded
   * @param {Numbers} expected
   * @param {number} [scale] what a difference is measured against, if not the row itself
   */
  compare(name, place, recorded, expected, scale) {
    this.report.checked += recorded.length;
    this.compareAgain(name, place, recorded, expected, scale);
  }

  /**
   * Compare numbers that are counted already with another way to compute them.
   * @param {string} name
   * @param {string} place
   * @param {Numbers} recorded
   * @param {Numbers} expected
   * @param {number} [scale]
   */
  compareAgain(name, place, recorded, expected, scale) {
    const difference = rowDifference(recorded, expected, scale);
    if (difference > this.report.largest) {
      this.report.largest = difference;
      this.report.where = `${name}${place}`;
    }
    // Written this way so that NaN fails.
    if (!(difference <= TOLERANCE)) this.fail(name, place, difference);
  }

  /**
   * @param {string} name
   * @param {string} place
   * @param {number} difference
   */
  fail(name, place, difference) {
    if (!this.report.failures.some((failure) => failure.name === name)) {
      this.report.failures.push({name, place, difference});
    }
  }
}

/**
 * The largest difference of two rows, relative to their largest number. Infinite numbers must be the same in both.
 * @param {Numbers} recorded
 * @param {Numbers} expected
 * @param {number} [scale]
 */
export function rowDifference(recorded, expected, scale) {
  let size = scale ?? 0;
  let most = 0;
  for (let i = 0; i < recorded.length; i++) {
    const a = recorded[i];
    const b = expected[i];
    if (!Number.isFinite(a) || !Number.isFinite(b)) {
      if (a === b) continue; // -inf and -inf
      return Infinity;
    }
    if (scale === undefined) size = Math.max(size, Math.abs(a), Math.abs(b));
    most = Math.max(most, Math.abs(a - b));
  }
  return most === 0 ? 0 : most / size;
}

/** @param {Numbers} row */
export function largestSize(row) {
  let size = 0;
  for (let i = 0; i < row.length; i++) if (Number.isFinite(row[i])) size = Math.max(size, Math.abs(row[i]));
  return size;
}
