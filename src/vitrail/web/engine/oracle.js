// What a trace should say, computed again from the weights and the sentence: the badge compares the trace with it.

import {restrict} from "./limits.js";
import {distribution} from "./sampling.js";
import {bestOf} from "./beam.js";
import {listen} from "./record.js";
import {BOS, inputOf} from "./special.js";
import {decodeArray} from "../tensor.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {ArrayLike<number>} Numbers
 */

/** A model that was asked nothing but the sentence and the settings of one trace. */
export class Oracle {
  /**
   * @param {import("./record.js").Recorder} recorder
   * @param {Trace} trace
   */
  constructor(recorder, trace) {
    this.trace = trace;
    this.recorder = recorder;
    this.model = recorder.model(trace.whatIf.heads_off);
    this.source = recorder.tokenizers.encodeSource(trace.source.text, trace.to);
    this.memory = this.model.encode(this.source);
    /** @type {Map<string, Numbers>} */
    this.rows = new Map();
  }

  /** Every array that the model computes on the way to the translation. */
  arrays() {
    return tensorsOf(listen(this.model, this.source, inputOf(this.trace.target.ids)));
  }

  /** The reference's logits and log-probabilities. */
  reference() {
    if (!this.trace.reference) return null;
    return tensorsOf(listen(this.model, this.source, inputOf(this.trace.reference.ids)));
  }

  /**
   * The log-probabilities of the word after these.
   * @param {readonly number[]} tokens
   * @returns {Numbers}
   */
  after(tokens) {
    const known = this.rows.get(String(tokens));
    if (known) return known;
    const input = [BOS, ...tokens];
    const hidden = this.model.decode(input, this.memory, this.source.length);
    const found = this.model.predict(hidden, input.length);
    const width = found.length / input.length;
    for (let length = 0; length < input.length; length++) {
      this.rows.set(String(tokens.slice(0, length)), found.subarray(length * width, (length + 1) * width));
    }
    return found.subarray((input.length - 1) * width);
  }

  /**
   * The ids of the best continuations of a hypothesis, best first, of those that this search may generate.
   * @param {readonly number[]} tokens
   * @param {number} count
   */
  best(tokens, count) {
    const row = this.allowed(tokens);
    return bestOf(row, count).map((id) => ({id, logProb: row[id]}));
  }

  /**
   * The probability with which a sample draws an id.
   * @param {readonly number[]} tokens
   * @param {number} id
   */
  chance(tokens, id) {
    const {temperature, top_k: topK, top_p: topP} = this.trace.settings;
    return distribution(this.allowed(tokens), {temperature, topK, topP})[id];
  }

  /** @param {readonly number[]} tokens */
  allowed(tokens) {
    const {forbidden, target} = this.recorder.tokenizers;
    const row = Float32Array.from(this.after(tokens));
    restrict(row, {forbidden, prefix: target.encode(this.trace.whatIf.prefix)}, tokens.length + 1);
    return row;
  }
}

/** @param {Record<string, import("../tensor.js").EncodedArray>} heard */
function tensorsOf(heard) {
  return new Map(Object.entries(heard).map(([name, encoded]) => [name, decodeArray(encoded, name)]));
}
