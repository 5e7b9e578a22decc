// Special symbols, which have ids but no spelling: typed text never becomes one of them. As text/special.py.

export const PAD = 0;
export const UNK = 1;
export const BOS = 2;
export const EOS = 3;
export const FIRST_LANGUAGE = 4; // language symbols follow: <2en>, <2fr>, …

/**
 * The decoder's input: the target shifted right by one position.
 * @param {number[]} target
 */
export function inputOf(target) {
  return [BOS, ...target.slice(0, -1)];
}
