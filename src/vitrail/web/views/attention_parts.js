// One attention, one head, one query: the arrays that the views of rows 7 to 13 draw.

import {positionsOf} from "../positions/kinds.js";
import {PLAIN} from "../positions/plain.js";
import {attentionOf} from "../state.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {"q" | "k" | "v"} Letter
 * @typedef {{
 *   rows: number, columns: number, at: (row: number, column: number) => number,
 *   bias: ((column: number) => number) | null}} Projection
 *   W as the post draws it: a row for each input, a column for each output
 */

const PARAMETERS = {q: "query", k: "key", v: "value"};

/** Everything about the attention that a state names. */
export class AttentionParts {
  /** @param {ViewContext} context */
  constructor(context) {
    const {trace, state, attention} = context;
    this.trace = trace;
    this.path = attention;
    this.kind = attentionOf(state);
    this.stack = state.stack;
    this.layer = state.layer;
    this.head = state.head;
    this.kvHead = trace.kvHead(state.head);
    this.queryTokens = trace.tokens(state.stack);
    this.keyTokens = trace.keyTokens(state.stack, this.kind);
    this.token = state.token;
    this.isCross = this.kind === "cross_attention";
    this.isMasked = state.stack === "decoder" && !this.isCross;
    /** What positions do in this attention: nothing in encoder-decoder attention. */
    this.positions = this.isCross ? PLAIN : positionsOf(trace);
    this.isOff = trace.isOff(attention, state.head);
    this.parameters = `${state.stack}.layers.${state.layer}.${this.kind}`;
    this.hasWeights = context.weights(`${state.stack}.${state.layer}`);
    /** The name of what queries are computed from; below, of what keys and values are computed from. */
    this.inputName = trace.sublayerInput(state.stack, state.layer, this.isCross ? 2 : 1);
    this.seenName = this.isCross ? "encoder.output" : this.inputName;
  }

  /** @param {string} name "scores" */
  has(name) {
    return this.trace.has(`${this.path}.${name}`);
  }

  /** @param {string} name "scores" */
  array(name) {
    return this.trace.array(`${this.path}.${name}`);
  }

  get input() {
    return this.trace.array(this.inputName);
  }

  get seen() {
    return this.trace.array(this.seenName);
  }

  /**
   * What this kind of positions has to say in a view.
   * @param {ViewContext} context
   */
  sayPositions(context) {
    this.positions.say[context.viewId]?.(context, this);
  }

  /**
   * The head, or kv head, under which q, k or v is recorded.
   * @param {string} name
   * @param {number} [head]
   */
  headOf(name, head = this.head) {
    return name.startsWith("q") ? head : this.trace.kvHead(head);
  }

  /**
   * The q, k or v of one token in this head.
   * @param {string} name "q", or another name of queries, keys or values
   * @param {number} token
   */
  vector(name, token) {
    return this.array(name).row(this.headOf(name), token);
  }

  /**
   * The part of W^Q, W^K or W^V that belongs to a head; null if the file does not contain it.
   * @param {Letter} letter
   * @param {number} [head]
   * @returns {Projection | null}
   */
  projection(letter, head = this.head) {
    const name = `${this.parameters}.${PARAMETERS[letter]}`;
    const weight = this.trace.weight(`${name}.weight`);
    if (!weight) return null;
    const columns = this.trace.config.d_k;
    const first = this.headOf(letter, head) * columns;
    const bias = this.trace.weight(`${name}.bias`);
    return {
      rows: weight.shape[1],
      columns,
      at: (row, column) => weight.at(first + column, row),
      bias: bias && ((column) => bias.at(first + column)),
    };
  }

  /**
   * W^O: a row for each number of the heads side by side.
   * @returns {Projection | null}
   */
  outputProjection() {
    const weight = this.trace.weight(`${this.parameters}.output.weight`);
    if (!weight) return null;
    const bias = this.trace.weight(`${this.parameters}.output.bias`);
    return {
      rows: weight.shape[1],
      columns: weight.shape[0],
      at: (row, column) => weight.at(column, row),
      bias: bias && ((column) => bias.at(column)),
    };
  }

  /** "head 2", or "head 2 (with keys and values of kv head 0)". */
  get headName() {
    const {heads, kv_heads} = this.trace.config;
    if (heads === kv_heads) return `head ${this.head}`;
    return `head ${this.head}, which shares the keys and values of kv head ${this.kvHead}`;
  }
}

/**
 * Which keys of a row to show, in the order of the sentence: all, or those with the largest values.
 * @param {ArrayLike<number>} values scores or weights
 * @param {number} most
 * @param {number} always one that is always shown, if it is a key: a query of another sentence may not be
 */
export function keysToShow(values, most, always) {
  const all = Array.from(values, (_, key) => key);
  if (all.length <= most) return all;
  const largest = all.sort((a, b) => values[b] - values[a]).slice(0, most);
  return [...new Set(always < all.length ? [...largest, always] : largest)].sort((a, b) => a - b);
}

/**
 * The key with the largest weight.
 * @param {ArrayLike<number>} weights
 */
export function strongest(weights) {
  let best = 0;
  for (let i = 1; i < weights.length; i++) if (weights[i] > weights[best]) best = i;
  return best;
}
