// Two translations compared: which of their tokens correspond, and where their numbers part.

import {readRequest, writeHeads, writeRequest} from "./request.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./trace.js").Stack} Stack
 * @typedef {import("./trace.js").Attention} Attention
 * @typedef {import("./request.js").TraceRequest} TraceRequest
 * @typedef {[number, number][]} Pairs places in the first and in the second
 * @typedef {{mean: number, most: number, at: [number, number]}} Moved
 *   the share of its weight that a head puts elsewhere: on average over the tokens that both have, the most, and where
 * @typedef {{stack: Stack, layer: number, sublayer: Attention, head: number, moved: Moved}} HeadMoved
 */

const SECOND = "b."; // before the options of the second request in the address: b.text, b.heads_off, …
const PARTED = 0.01; // of its weight: a head that moves less than this looks at the same

/**
 * The second request that the address describes: the first one with some changes. Null if there is none.
 * @param {Record<string, string>} options
 * @param {TraceRequest} first
 * @returns {TraceRequest | null}
 */
export function secondRequest(options, first) {
  const own = Object.entries(options).filter(([key]) => key.startsWith(SECOND));
  if (!own.length) return null;
  /** @type {Record<string, string>} */
  const merged = {};
  for (const [key, value] of Object.entries(writeRequest(first))) if (value !== null) merged[key] = value;
  for (const [key, value] of own) merged[key.slice(SECOND.length)] = value;
  return readRequest(merged);
}

/**
 * The options of the address for a second request with these changes; those of an earlier one are removed.
 * @param {Record<string, string>} options
 * @param {Record<string, string> | null} changes null: no second request
 * @returns {Record<string, string | null>}
 */
export function secondOptions(options, changes) {
  /** @type {Record<string, string | null>} */
  const found = {};
  for (const key of Object.keys(options)) if (key.startsWith(SECOND)) found[key] = null;
  for (const [key, value] of Object.entries(changes ?? {})) found[SECOND + key] = value;
  return found;
}

/**
 * The places that two sequences have in common: their longest common subsequence.
 * @param {readonly string[]} one
 * @param {readonly string[]} other
 * @returns {Pairs}
 */
export function commonPairs(one, other) {
  const longest = Array.from({length: one.length + 1}, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      longest[i][j] = one[i] === other[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  /** @type {Pairs} */
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < one.length && j < other.length) {
    if (one[i] === other[j]) pairs.push([i++, j++]);
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/**
 * How much weight moves from one row of attention to another; weight on keys that only one has counts as moved.
 * @param {ArrayLike<number>} one
 * @param {ArrayLike<number>} other
 * @param {Pairs} keys
 */
export function movedWeight(one, other, keys) {
  let common = 0;
  for (const [i, j] of keys) common += Math.min(one[i], other[j]);
  return Math.max(0, 1 - common); // both sum to 1
}

/**
 * For each layer and head of one kind of attention, how much of its weight moves. Null if the models don't correspond.
 * @param {Trace} one
 * @param {Trace} other
 * @param {Stack} stack
 * @param {Attention} sublayer
 * @returns {Moved[][] | null}
 */
export function movedByHeads(one, other, stack, sublayer) {
  if (one.layers(stack) !== other.layers(stack) || one.config.heads !== other.config.heads) return null;
  const queries = commonPairs(one.tokens(stack), other.tokens(stack));
  const keys = commonPairs(one.keyTokens(stack, sublayer), other.keyTokens(stack, sublayer));
  return Array.from({length: one.layers(stack)}, (_, layer) => {
    const path = `${stack}.${layer}.${sublayer}`;
    const [first, second] = [one.array(`${path}.weights`), other.array(`${path}.weights`)];
    return Array.from({length: one.config.heads}, (__, head) => {
      const isOff = one.isOff(path, head) !== other.isOff(path, head);
      const moved = queries.map(([i, j]) => (isOff ? 1 : movedWeight(first.row(head, i), second.row(head, j), keys)));
      const most = Math.max(0, ...moved);
      const at = queries[moved.indexOf(most)] ?? [0, 0];
      return {mean: moved.length ? moved.reduce((sum, each) => sum + each, 0) / moved.length : 0, most, at};
    });
  });
}

/**
 * How far the vectors after each layer are apart, for the tokens that both have: 0 is the same, 1 as far as either is
 * long.
 * @param {Trace} one
 * @param {Trace} other
 * @param {Stack} stack
 * @returns {{pairs: Pairs, apart: number[][]} | null} by layer, from the input up, and pair
 */
export function apartByLayers(one, other, stack) {
  if (one.layers(stack) !== other.layers(stack) || one.config.d_model !== other.config.d_model) return null;
  const pairs = commonPairs(one.tokens(stack), other.tokens(stack));
  const names = [
    stack === "encoder" ? "source.sum" : "target.sum",
    ...Array.from({length: one.layers(stack)}, (_, layer) => `${stack}.${layer}.output`),
  ];
  const apart = names.map((name) => {
    const [first, second] = [one.array(name), other.array(name)];
    return pairs.map(([i, j]) => relativeDistance(first.row(i), second.row(j)));
  });
  return {pairs, apart};
}

/**
 * @param {ArrayLike<number>} one
 * @param {ArrayLike<number>} other
 */
export function relativeDistance(one, other) {
  let [difference, first, second] = [0, 0, 0];
  for (let i = 0; i < one.length; i++) {
    difference += (one[i] - other[i]) ** 2;
    first += one[i] ** 2;
    second += other[i] ** 2;
  }
  const length = (Math.sqrt(first) + Math.sqrt(second)) / 2;
  return length > 0 ? Math.sqrt(difference) / length : 0;
}

/**
 * How much probability moves from word to word at each step, as long as both have written the same.
 * @param {Trace} one
 * @param {Trace} other
 * @returns {number[] | null} null for models with different vocabularies
 */
export function movedBySteps(one, other) {
  if (one.vocabulary.length !== other.vocabulary.length) return null;
  const [first, second] = [one.array("log_probs"), other.array("log_probs")];
  const found = [];
  for (let step = 0; step < Math.min(one.target.ids.length, other.target.ids.length); step++) {
    const [own, others] = [first.row(step), second.row(step)];
    let common = 0;
    for (let id = 0; id < own.length; id++) common += Math.exp(Math.min(own[id], others[id]));
    found.push(Math.max(0, 1 - common));
    if (one.target.ids[step] !== other.target.ids[step]) break;
  }
  return found;
}

/**
 * The first head, in the order in which the model computes them, that looks elsewhere; and the one that moves most.
 * @param {Trace} one
 * @param {Trace} other
 * @returns {{first: HeadMoved, most: HeadMoved} | null}
 */
export function headsThatPart(one, other) {
  /** @type {HeadMoved[]} */
  const all = [];
  const add = (/** @type {Stack} */ stack, /** @type {Attention} */ sublayer) =>
    movedByHeads(one, other, stack, sublayer)?.forEach((heads, layer) =>
      heads.forEach((moved, head) => all.push({stack, layer, sublayer, head, moved})),
    );
  add("encoder", "self_attention");
  add("decoder", "self_attention");
  add("decoder", "cross_attention");
  const place = (/** @type {HeadMoved} */ {stack, layer, sublayer}) =>
    (stack === "encoder" ? 0 : 1000) + 2 * layer + (sublayer === "cross_attention" ? 1 : 0);
  const parted = all.filter(({moved}) => moved.most > PARTED).sort((a, b) => place(a) - place(b) || a.head - b.head);
  if (!parted.length) return null;
  const most = parted.reduce((best, each) => (each.moved.most > best.moved.most ? each : best));
  return {first: parted[0], most};
}

/**
 * What the second request changes, in words.
 * @param {TraceRequest} first
 * @param {TraceRequest} second
 * @returns {string[]}
 */
export function changesBetween(first, second) {
  const changes = [];
  if (first.model !== second.model) changes.push(`model ${second.model}`);
  if (first.text !== second.text) changes.push(`“${second.text}”`);
  if (first.to !== second.to) changes.push(`into ${second.to}`);
  const [own, others] = [writeHeads(first.heads_off), writeHeads(second.heads_off)];
  const off = `off: ${others.replaceAll("_", "-").replaceAll(":", " head ")}`;
  if (own !== others) changes.push(others ? off : "all heads on");
  const prefix = second.prefix ? `begins with “${second.prefix}”` : "no forced words";
  if (first.prefix !== second.prefix) changes.push(prefix);
  for (const [name, value] of Object.entries(second.decode)) {
    if (first.decode[name] !== value) changes.push(`${name.replaceAll("_", " ")} ${value}`);
  }
  return changes;
}

/**
 * What to compare a sentence with, if nothing was chosen: the other half of the post's puzzle about "it".
 * @param {string} text
 * @returns {string | null}
 */
export function otherHalf(text) {
  const [, start, adjective, end] = /^(.*\bit was too )(tired|wide)(\W*)$/i.exec(text) ?? [];
  if (start === undefined) return null;
  return `${start}${adjective.toLowerCase() === "tired" ? "wide" : "tired"}${end}`;
}
