// Numbers that add up on the screen, to the digits shown.

/**
 * Round terms so that the rounded terms add up to the rounded sum. Each stays within one unit of its last digit: those
 * nearest to the next number are rounded up (the method of largest remainders). A zero stays a zero.
 * @param {ArrayLike<number>} terms
 * @param {number} total their sum, as recorded
 * @param {number} digits
 */
export function addsUp(terms, total, digits) {
  const unit = 10 ** digits;
  const whole = Array.from(terms, (term) => Math.floor(term * unit));
  let missing = Math.round(total * unit) - whole.reduce((sum, number) => sum + number, 0);
  const order = Array.from(terms, (term, index) => ({index, rest: term * unit - whole[index], isZero: term === 0}))
    .filter(({isZero}) => !isZero)
    .sort((a, b) => b.rest - a.rest);
  // If more than one unit per term is missing, the terms do not sum to the total, and the result shows that.
  for (const {index} of order) {
    if (missing <= 0) break;
    whole[index] += 1;
    missing -= 1;
  }
  return whole.map((number) => number / unit + 0); // + 0: no minus before a zero
}
