// Pieces of words grouped into words, and attention between groups.

/**
 * @typedef {{text: string, tokens: number[]}} Group
 */

/**
 * Groups neighbouring tokens of the same word; special tokens stay alone.
 * @param {string[]} tokens
 * @param {number[]} words the number of each token's word, -1 for specials
 * @returns {Group[]}
 */
export function groupWords(tokens, words) {
  /** @type {Group[]} */
  const groups = [];
  tokens.forEach((token, index) => {
    const last = groups[groups.length - 1];
    if (index > 0 && last && words[index] >= 0 && words[index] === words[index - 1]) {
      last.tokens.push(index);
      last.text += token;
    } else groups.push({text: token, tokens: [index]});
  });
  for (const group of groups) group.text = written(group.text);
  return groups;
}

/**
 * Pieces as people write them: without the space mark, and with bytes decoded into letters.
 * @param {string} pieces
 */
function written(pieces) {
  const letters = pieces.replace(/(<0x[0-9A-F]{2}>)+/g, (run) => {
    const bytes = Array.from(run.matchAll(/0x(..)/g), ([, digits]) => parseInt(digits, 16));
    return new TextDecoder().decode(new Uint8Array(bytes));
  });
  return letters.replace(/^▁/, "") || pieces;
}

/**
 * Every token by itself.
 * @param {string[]} tokens
 * @returns {Group[]}
 */
export function ungrouped(tokens) {
  return tokens.map((text, index) => ({text, tokens: [index]}));
}

/**
 * How much a group looks at another: the total weight its tokens give to the other's tokens, averaged over its tokens.
 * The weights of a group still sum to 1.
 * @param {(query: number, key: number) => number} weight
 * @param {Group} from
 * @param {Group} to
 */
export function groupWeight(weight, from, to) {
  let sum = 0;
  for (const query of from.tokens) for (const key of to.tokens) sum += weight(query, key);
  return sum / from.tokens.length;
}

/**
 * Whether any word has several tokens.
 * @param {number[]} words
 */
export function hasPieces(words) {
  return words.some((word, index) => index > 0 && word >= 0 && word === words[index - 1]);
}
