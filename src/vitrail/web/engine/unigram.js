// The unigram model, as sentencepiece does it: the split of a text whose pieces have the highest total score.

const UNKNOWN_PENALTY = 10; // below the worst piece

/**
 * The most probable pieces of a text; a character that no piece covers is a part of its own.
 * @param {string} text
 * @param {ReadonlyMap<string, number>} scores
 * @param {number} longest characters of the longest piece
 * @returns {string[]}
 */
export function likeliestPieces(text, scores, longest) {
  const letters = [...text];
  const unknown = Math.fround(lowest(scores) - UNKNOWN_PENALTY);
  // For every place, the best split of what stands before it: its score, in float32, and where its last piece begins.
  const best = new Float32Array(letters.length + 1);
  const begins = new Int32Array(letters.length + 1).fill(-1);
  /** @param {number} end @param {number} start @param {number} total */
  const offer = (end, start, total) => {
    if (begins[end] !== -1 && !(total > best[end])) return;
    best[end] = total;
    begins[end] = start;
  };
  for (let start = 0; start < letters.length; start++) {
    let piece = "";
    let hasOwn = false;
    for (let end = start + 1; end <= Math.min(letters.length, start + longest); end++) {
      piece += letters[end - 1];
      const score = scores.get(piece);
      if (score === undefined) continue;
      offer(end, start, score + best[start]);
      if (end === start + 1) hasOwn = true;
    }
    if (!hasOwn) offer(start + 1, start, Math.fround(unknown + best[start]));
  }
  /** @type {string[]} */
  const parts = [];
  for (let end = letters.length; end > 0; end = begins[end]) parts.push(letters.slice(begins[end], end).join(""));
  return parts.reverse();
}

/** @param {ReadonlyMap<string, number>} scores */
function lowest(scores) {
  let least = Infinity;
  for (const score of scores.values()) least = Math.min(least, score);
  return least;
}
