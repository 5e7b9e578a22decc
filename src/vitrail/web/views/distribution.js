// Distributions over a vocabulary: the most probable words, the sum of the rest, the target, the loss.

/** @typedef {ArrayLike<number>} Numbers */

/**
 * The places of the largest numbers, largest first; among equals, the first.
 * @param {Numbers} values
 * @param {number} most how many
 */
export function largestPlaces(values, most) {
  /** @type {number[]} */
  const found = [];
  for (let i = 0; i < values.length; i++) {
    if (found.length === most && !(values[i] > values[found[most - 1]])) continue;
    let place = found.length;
    while (place > 0 && values[i] > values[found[place - 1]]) place--;
    found.splice(place, 0, i);
    if (found.length > most) found.pop();
  }
  return found;
}

/**
 * The rest of a distribution without some of its places: summed one by one, because 1 minus the others is noise.
 * @param {Numbers} probabilities
 * @param {readonly number[]} without
 */
export function restOf(probabilities, without) {
  const gone = new Set(without);
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) if (!gone.has(i)) sum += probabilities[i];
  return sum;
}

/**
 * The target: 1 − ε on the correct word, and ε spread over the whole vocabulary.
 * @param {boolean} isRight
 * @param {number} smoothing ε
 * @param {number} vocabulary how many words there are
 */
export function smoothedTarget(isRight, smoothing, vocabulary) {
  return (isRight ? 1 - smoothing : 0) + smoothing / vocabulary;
}

/**
 * @typedef {{p: number, q: number, gradient: number, crossEntropy: number, entropy: number}} LossTerm
 *   for a word: the model's probability, the target's, their difference, −q log p, −q log q
 */

/**
 * The loss at one position, word by word: the shown words, then the sum of all others, then of everything.
 * @param {{
 *   shown: readonly number[], right: number, smoothing: number, vocabulary: number,
 *   logProb: (id: number) => number | null, rest: number}} given
 *   logProb: null if it was not kept; rest: the total probability of the words not kept
 * @returns {{terms: LossTerm[], others: LossTerm, all: LossTerm, isLeast: boolean}}
 *   isLeast: some words were not kept, so the cross-entropy is a lower bound
 */
export function lossTerms({shown, right, smoothing, vocabulary, logProb, rest}) {
  /** @type {(id: number, logP: number) => LossTerm} */
  const termOf = (id, logP) => {
    const p = Math.exp(logP);
    const q = smoothedTarget(id === right, smoothing, vocabulary);
    return {p, q, gradient: p - q, crossEntropy: q > 0 ? -q * logP : 0, entropy: q > 0 ? -q * Math.log(q) : 0};
  };
  const terms = shown.map((id) => termOf(id, logProb(id) ?? -Infinity));
  const isShown = new Set(shown);
  const others = noTerm();
  let unkept = 0;
  for (let id = 0; id < vocabulary; id++) {
    if (isShown.has(id)) continue;
    const logP = logProb(id);
    if (logP === null) unkept++;
    else addTerm(others, termOf(id, logP));
  }
  const q = smoothing / vocabulary;
  if (unkept > 0) {
    // An even spread costs the least (Jensen), so the true cross-entropy is no smaller.
    const each = rest / unkept;
    others.p += rest;
    others.q += unkept * q;
    if (q > 0) others.crossEntropy += -unkept * q * Math.log(each);
    if (q > 0) others.entropy += -unkept * q * Math.log(q);
    others.gradient = others.p - others.q;
  }
  const all = noTerm();
  for (const term of [...terms, others]) addTerm(all, term);
  return {terms, others, all, isLeast: unkept > 0 && q > 0};
}

/** @returns {LossTerm} */
function noTerm() {
  return {p: 0, q: 0, gradient: 0, crossEntropy: 0, entropy: 0};
}

/**
 * @param {LossTerm} sum
 * @param {LossTerm} term
 */
function addTerm(sum, term) {
  sum.p += term.p;
  sum.q += term.q;
  sum.gradient += term.gradient;
  sum.crossEntropy += term.crossEntropy;
  sum.entropy += term.entropy;
}
