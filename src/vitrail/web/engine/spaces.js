// Blanks, as Python knows them. The only normalisation of a text before it is split into subwords: text/spaces.py.

// JavaScript's \s is another set: it has U+FEFF, and neither U+001C to U+001F nor U+0085.
/** What Python counts as white space, as part of a character class. */
export const WHITE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const BLANKS = /[ \t\n\v\f\r▁]+/g;
const ENDS = /^ +| +$/g;
const LETTER = /\p{L}/u;

/**
 * The text that a vocabulary of subwords encodes, and that decoding returns.
 * @param {string} text
 */
export function tidy(text) {
  return text.replace(BLANKS, " ").replace(ENDS, "");
}

/**
 * Whether there is something to translate: at least one letter, and no NUL, which text never contains.
 * @param {string} text
 */
export function isTranslatable(text) {
  return !text.includes("\0") && LETTER.test(text);
}
