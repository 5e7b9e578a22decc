// Byte-pair encoding, as sentencepiece does it: merge neighbours, the best piece first, until no pair is a piece.

/**
 * The pieces of a text; a character that is not a piece stays a part of its own.
 * @param {string} text
 * @param {ReadonlyMap<string, number>} scores of the pieces: those with higher scores are merged first
 * @returns {string[]}
 */
export function mergePieces(text, scores) {
  const parts = [...text];
  // The score of the piece that each part and its right neighbour form. A merge changes only the entries beside it.
  const pairs = new Float64Array(Math.max(0, parts.length - 1));
  /** @param {number} place */
  const look = (place) => scores.get(parts[place] + parts[place + 1]) ?? NONE;
  for (let place = 0; place < pairs.length; place++) pairs[place] = look(place);
  let count = pairs.length;
  for (let best = bestPair(pairs, count); best >= 0; best = bestPair(pairs, count)) {
    parts.splice(best, 2, parts[best] + parts[best + 1]);
    pairs.copyWithin(best, best + 1, count--);
    if (best > 0) pairs[best - 1] = look(best - 1);
    if (best < count) pairs[best] = look(best);
  }
  return parts;
}

const NONE = -Infinity;

/**
 * The pair with the best score, the leftmost if several have it; -1 if no pair is a piece.
 * @param {Float64Array} pairs
 * @param {number} count
 */
function bestPair(pairs, count) {
  let best = -1;
  let most = NONE;
  for (let place = 0; place < count; place++) {
    if (pairs[place] > most) {
      most = pairs[place];
      best = place;
    }
  }
  return best;
}
