// The two vocabularies of a model, and the rows of ids that it reads. As text/pair.py.

import {Problem} from "../problem.js";
import {BOS, EOS, FIRST_LANGUAGE, PAD, UNK} from "./special.js";
import {SubwordVocabulary} from "./subwords.js";
import {WordVocabulary} from "./words.js";

/**
 * @typedef {WordVocabulary | SubwordVocabulary} Vocabulary
 * @typedef {import("./model_file.js").ModelSheet} ModelSheet
 */

/** Text <-> ids for both sides. */
export class Tokenizers {
  /** @param {ModelSheet} sheet */
  constructor(sheet) {
    this.source = openVocabulary(sheet.source);
    this.target = sheet.target ? openVocabulary(sheet.target) : this.source;
    this.languages = sheet.languages;
    /** The target ids that a translation must not contain. */
    this.forbidden = [PAD, UNK, BOS, ...this.languages.map((_, index) => FIRST_LANGUAGE + index)];
  }

  /**
   * A source row: the target language's symbol if there are several languages, the text, `<eos>`.
   * @param {string} text
   * @param {string | null} to
   */
  encodeSource(text, to) {
    return [...this.asksFor(to), ...this.source.encode(text), EOS];
  }

  /**
   * A target row: the text, `<eos>`.
   * @param {string} text
   */
  encodeTarget(text) {
    return [...this.target.encode(text), EOS];
  }

  /**
   * The number, from 0, of the word that each token belongs to; -1 for special symbols.
   * @param {Vocabulary} vocabulary
   * @param {readonly number[]} ids
   */
  wordNumbers(vocabulary, ids) {
    let number = -1;
    return ids.map((id) => {
      if (id < FIRST_LANGUAGE + this.languages.length) return -1;
      if (number < 0 || vocabulary.beginsWord(id)) number++;
      return number;
    });
  }

  /** @param {string | null} to */
  asksFor(to) {
    if (!this.languages.length) return [];
    const place = this.languages.indexOf(to ?? "");
    if (place >= 0) return [FIRST_LANGUAGE + place];
    throw new Problem(`this model does not translate into '${to ?? ""}'`, {
      where: "the target language",
      fix: `choose one of: ${this.languages.join(", ")}`,
    });
  }
}

/**
 * Refuse a text with words that have no id, instead of guessing.
 * @param {Vocabulary} vocabulary
 * @param {string} text
 * @param {string} where
 */
export function refuseUnknown(vocabulary, text, where) {
  const names = vocabulary.unknown(text).map((word) => `'${word}'`);
  if (!names.length) return;
  throw new Problem(`this model does not know ${names.join(", ")}`, {
    where,
    fix: "use words from its vocabulary, which the view “The vocabulary” lists",
  });
}

/** @param {import("./model_file.js").VocabularyTable} table */
function openVocabulary(table) {
  return table.kind === "word" ? new WordVocabulary(table) : new SubwordVocabulary(table);
}
