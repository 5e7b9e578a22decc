// How a picture with a row for each token fits the first screen: lower rows first, then fewer of them.

/**
 * How high rows are, and how many of them are shown.
 * @param {number} rows
 * @param {number} space units for all of them
 * @param {{high: number, low: number}} given
 *   high: the height they have if there is room; low: the least at which they can be read
 */
export function rowsThatFit(rows, space, {high, low}) {
  const height = Math.max(low, Math.min(high, space / Math.max(1, rows)));
  return {height, count: Math.max(1, Math.min(rows, Math.floor(space / height + 1e-9)))};
}

/**
 * The first of `count` things around the current one.
 * @param {number} all
 * @param {number} count
 * @param {number} current
 */
export function windowAround(all, count, current) {
  return Math.max(0, Math.min(all - count, current - Math.floor(count / 2)));
}

/**
 * The size of letters in a row.
 * @param {number} height
 * @param {number} most
 */
export function letterSize(height, most) {
  return Math.max(6, Math.min(most, height * 0.72));
}
