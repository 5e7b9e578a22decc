// Subwords: pieces of text, and bytes for what no piece covers. The same ids as sentencepiece gives.

import {Problem} from "../problem.js";
import {mergePieces} from "./merges.js";
import {tidy} from "./spaces.js";
import {UNK} from "./special.js";
import {likeliestPieces} from "./unigram.js";

const SPACE = "▁"; // what sentencepiece writes before a word
const REPLACEMENT = "\ufffd";

/** A vocabulary of subwords: nothing is unknown to it. */
export class SubwordVocabulary {
  /** @param {import("./model_file.js").SubwordTable} table */
  constructor(table) {
    this.tokens = table.tokens;
    this.control = new Set(table.control);
    this.bytes = table.bytes;
    this.byteOf = new Map(table.bytes.map((id, byte) => [id, byte]));
    /** @type {Map<string, number>} */
    this.ids = new Map();
    /** @type {Map<string, number>} */
    this.scores = new Map();
    this.longest = 1;
    // Neither special symbols nor bytes: a typed "<eos>" or "<0x41>" is ordinary text.
    for (const [id, token] of this.tokens.entries()) {
      if (id === UNK || this.control.has(id) || this.byteOf.has(id)) continue;
      this.ids.set(token, id);
      this.scores.set(token, table.scores[id]);
      this.longest = Math.max(this.longest, [...token].length);
    }
    this.isMerged = table.kind === "bpe";
  }

  /** @param {string} text */
  encode(text) {
    const plain = tidy(text);
    if (/[\ud800-\udfff]/u.test(plain)) throw new Problem("this is not Unicode text: it has half a character");
    if (!plain) return [];
    const spelled = SPACE + plain.replaceAll(" ", SPACE);
    const parts = this.isMerged
      ? mergePieces(spelled, this.scores)
      : likeliestPieces(spelled, this.scores, this.longest);
    return parts.flatMap((part) => this.ids.get(part) ?? this.spell(part));
  }

  /** @param {readonly number[]} ids */
  decode(ids) {
    let text = "";
    /** @type {number[]} */
    let run = []; // bytes that may form characters together
    for (const id of ids) {
      if (this.control.has(id)) continue;
      const byte = this.byteOf.get(id);
      if (byte !== undefined) {
        run.push(byte);
        continue;
      }
      text += decodeBytes(run) + (id === UNK ? ` ${this.tokens[UNK]}` : this.tokens[id]);
      run = [];
    }
    return tidy(text + decodeBytes(run));
  }

  /** Bytes can spell every word. */
  unknown() {
    return [];
  }

  /** @param {number} id */
  beginsWord(id) {
    return this.tokens[id].startsWith(SPACE);
  }

  /**
   * A character in bytes.
   * @param {string} letter
   */
  spell(letter) {
    return [...new TextEncoder().encode(letter)].map((byte) => this.bytes[byte]);
  }
}

/**
 * Bytes as text. Each byte that is not part of a character becomes U+FFFD, as in sentencepiece.
 * @param {number[]} bytes
 */
function decodeBytes(bytes) {
  let text = "";
  for (let place = 0; place < bytes.length;) {
    const length = characterLength(bytes, place);
    text += length ? new TextDecoder().decode(Uint8Array.from(bytes.slice(place, place + length))) : REPLACEMENT;
    place += length || 1;
  }
  return text;
}

/**
 * How many bytes the character at this place has; 0 if none begins here.
 * @param {number[]} bytes
 * @param {number} place
 */
function characterLength(bytes, place) {
  const first = bytes[place];
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  const rest = bytes.slice(place + 1, place + length);
  if (length === 0 || rest.length < length - 1 || rest.some((byte) => byte >> 6 !== 2)) return 0;
  const code = rest.reduce((sum, byte) => sum * 64 + (byte & 63), length === 1 ? first : first & (0x7f >> length));
  const least = [0, 0, 0x80, 0x800, 0x10000][length];
  return code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}
