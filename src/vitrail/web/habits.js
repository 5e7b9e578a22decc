// What heads and hidden units usually do, as `vitrail heads` measured it over many sentences (trace/habits.py).

import {decimal} from "./numbers.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {{
 *   habit: string, share: number, low: number, high: number, sure: number, shares: Record<string, number>,
 *   evenness: number}} HeadHabit
 * @typedef {{
 *   sentences: number, heads: Record<string, {even: Record<string, number>, heads: HeadHabit[]}>,
 *   units: Record<string, {fires: EncodedArray, peak: EncodedArray, tokens: EncodedArray, names: string[]}>}} Habits
 * @typedef {import("./tensor.js").EncodedArray} EncodedArray
 * @typedef {{fires: number, peak: number, tokens: string[]}} UnitHabit
 */

/** What a habit means, for the explanation. */
export const HABITS = {
  previous: "the token before",
  itself: "the token itself",
  next: "the token after",
  same_word: "the same word",
  first: "the first token",
  last: "the last token",
  eos: "<eos>",
  translation: "the source word whose translation comes next",
  written: "the source word that was translated last",
  same_place: "the same place in the source",
  spread: "everything alike",
  mixed: "nothing in particular",
};

/**
 * A head's habit; null if it was not measured.
 * @param {Trace} trace
 * @param {string} attention "encoder.0.self_attention"
 * @param {number} head
 * @returns {HeadHabit | null}
 */
export function habitOf(trace, attention, head) {
  return trace.habits?.heads[attention]?.heads[head] ?? null;
}

/**
 * A head in words: "encoder layer 0, self-attention, head 3".
 * @param {string} attention "encoder.0.self_attention"
 * @param {number} head
 */
export function headInWords(attention, head) {
  const [stack, layer, sublayer] = attention.split(".");
  const kind = sublayer === "self_attention" ? "self-attention" : "encoder-decoder attention";
  return `${stack} layer ${layer}, ${kind}, head ${head}`;
}

/**
 * A habit in one or two words: "next 46%", "mixed".
 * @param {HeadHabit} habit
 */
export function habitInShort({habit, share}) {
  const name = habit.replace("_", " ");
  return habit === "mixed" || habit === "spread" ? name : `${name} ${inPerCent(share, 0)}`;
}

/**
 * A habit with how sure it is.
 * @param {HeadHabit} habit
 */
export function habitInWords({habit, share, low, high, sure, shares}) {
  const range = `${inPerCent(share)} (${inPerCent(low)} to ${inPerCent(high)})`;
  if (habit === "spread") return `looks at everything nearly alike: evenness ${range}`;
  if (habit === "mixed") {
    const most = Object.keys(shares).reduce((best, name) => (shares[name] > shares[best] ? name : best));
    return `has no single habit; most of its weight, ${range}, is on ${HABITS[/** @type {keyof HABITS} */ (most)]}`;
  }
  const certain = sure >= 0.995 ? "" : `; in ${inPerCent(sure, 0)} of resampled sets of sentences`;
  return `usually looks at ${HABITS[/** @type {keyof HABITS} */ (habit)] ?? habit}: ${range} of its weight${certain}`;
}

/**
 * What a hidden unit usually fires for; null if it was not measured.
 * @param {Trace} trace
 * @param {string} layer "encoder.0"
 * @param {number} unit
 * @returns {UnitHabit | null}
 */
export function unitHabit(trace, layer, unit) {
  const held = trace.habits?.units[layer];
  if (!held) return null;
  const of = (/** @type {"fires" | "peak" | "tokens"} */ name) => trace.decode(`habits.${layer}.${name}`, held[name]);
  const places = [...of("tokens").row(unit)].filter((place) => place >= 0);
  return {
    fires: of("fires").at(unit),
    peak: of("peak").at(unit),
    tokens: places.map((place) => held.names[place]),
  };
}

/**
 * @param {number} share
 * @param {number} [digits]
 */
export function inPerCent(share, digits = 1) {
  return `${decimal(100 * share, digits)}%`;
}
