// The word vocabulary: the same words as text/words.py finds.

import {UNK} from "./special.js";
import {WHITE} from "./spaces.js";

const ELIDED = "jusqu|lorsqu|presqu|puisqu|quelqu|quoiqu|qu|c|d|j|l|m|n|s|t";
const MARKS = String.raw`!"#$%&()*+,.\/:;<=>?@\[\\\]^_\x60{|}~…«»“”„‘–—¡¿、。，！？：；（）「」`;
const INSIDE = String.raw`[^${WHITE}'${MARKS}\-]`;
const WORD = new RegExp(`(?:${ELIDED})'(?=${INSIDE})|${INSIDE}+(?:['\\-]${INSIDE}+)*|[^${WHITE}]`, "gu");
const LONE_SURROGATE = /[\ud800-\udfff]/gu;
const JOINS_NEXT = new RegExp(`^(?:(?:${ELIDED})'|[(\\[{«“„¡¿])$`, "u");
const JOINS_PREVIOUS = /^[,.;:!?)\]}»”…]$/u;
const MAY_BE_DROPPED = /^[.!…]$/u;

/**
 * The words and punctuation marks of a text, in the form that the vocabulary stores.
 * @param {string} text
 * @returns {string[]}
 */
export function splitWords(text) {
  const plain = text.toLowerCase().replace(/’/g, "'").normalize("NFC").replace(LONE_SURROGATE, "\ufffd");
  return plain.match(WORD) ?? [];
}

/**
 * Words as a text, with no space after an elision and none before closing punctuation.
 * @param {string[]} words
 */
export function joinWords(words) {
  let text = "";
  let touches = true; // the first word needs no space before it
  for (const word of words) {
    if (!touches && !JOINS_PREVIOUS.test(word)) text += " ";
    text += word;
    touches = JOINS_NEXT.test(word);
  }
  return text;
}

/** Words <-> ids. Every other word is unknown. */
export class WordVocabulary {
  /** @param {import("./model_file.js").WordTable} table */
  constructor(table) {
    this.tokens = table.tokens;
    this.firstWord = table.first_word;
    // Only words can be looked up, so typed text never becomes a special symbol.
    this.ids = new Map(this.tokens.slice(this.firstWord).map((word, index) => [word, this.firstWord + index]));
  }

  /** @param {string} text */
  encode(text) {
    return this.knownForm(text).map((word) => this.ids.get(word) ?? UNK);
  }

  /** @param {readonly number[]} ids */
  decode(ids) {
    return joinWords(ids.filter((id) => id >= this.firstWord || id === UNK).map((id) => this.tokens[id]));
  }

  /**
   * The words of a text that have no id, in order and without duplicates.
   * @param {string} text
   */
  unknown(text) {
    return [...new Set(this.knownForm(text).filter((word) => !this.ids.has(word)))];
  }

  /** Every token is a word of its own. */
  beginsWord() {
    return true;
  }

  /** @param {string} text */
  knownForm(text) {
    const words = splitWords(text);
    while (words.length > 1 && MAY_BE_DROPPED.test(words[words.length - 1])) {
      if (this.ids.has(words[words.length - 1])) break;
      words.pop();
    }
    return words;
  }
}
