// The whole Transformer, with the weights of a file: full passes that can be listened to, and cached steps for a
// search. model/transformer.py.

import {layerNorm, logSumExp} from "../arithmetic.js";
import {Problem} from "../problem.js";
import {enginePositions} from "./distance.js";
import {DecoderLayer, EncoderLayer} from "./layers.js";

/**
 * @typedef {import("../tensor.js").Tensor} Tensor
 * @typedef {import("../trace.js").ModelConfig} ModelConfig
 * @typedef {import("./attention.js").Tap} Tap
 * @typedef {import("./attention.js").Past} Past
 * @typedef {{memory: Past, pasts: Past[]}} LayerCache of one decoder layer: the past of each hypothesis
 * @typedef {LayerCache[]} Cache
 */

const TABLES = {
  all: {source: "shared", target: "shared", output: "shared"},
  target: {source: "source", target: "target", output: "target"},
  none: {source: "source", target: "target", output: "output"},
};

/** A model's weights, and what is computed with a few of them. */
export class Parts {
  /**
   * @param {ModelConfig} config
   * @param {ReadonlyMap<string, Tensor>} weights
   * @param {import("./products.js").Products} products
   * @param {Record<string, number[]>} headsOff the heads that are switched off, by attention
   */
  constructor(config, weights, products, headsOff) {
    this.config = config;
    this.weights = weights;
    this.products = products;
    this.headsOff = headsOff;
  }

  /** @param {string} name */
  weight(name) {
    const found = this.weights.get(name);
    if (!found) throw new Problem(`the model in this page lacks '${name}'`, {fix: "write the page again"});
    return found;
  }

  /**
   * A linear layer.
   * @param {Float32Array} x
   * @param {number} count
   * @param {string} name
   */
  linear(x, count, name) {
    const bias = this.weights.get(`${name}.bias`)?.data ?? null;
    return this.products.linear(x, count, this.weight(`${name}.weight`), bias);
  }

  /**
   * A layer norm of every row.
   * @param {Float32Array} x
   * @param {number} count
   * @param {string} name
   */
  norm(x, count, name) {
    const gain = this.weight(`${name}.weight`).data;
    const bias = this.weights.get(`${name}.bias`)?.data ?? null;
    const width = x.length / count;
    const normed = new Float32Array(x.length);
    for (let place = 0; place < x.length; place += width) {
      normed.set(layerNorm(x.subarray(place, place + width), gain, bias), place);
    }
    return normed;
  }
}

/** From source ids, and the target ids so far, to a score for every word that may come next. */
export class Transformer {
  /** @param {Parts} parts */
  constructor(parts) {
    const {config} = parts;
    this.parts = parts;
    this.config = config;
    this.encoder = Array.from({length: config.encoder_layers}, (_, n) => new EncoderLayer(parts, `encoder.${n}`));
    this.decoder = Array.from({length: config.decoder_layers}, (_, n) => new DecoderLayer(parts, `decoder.${n}`));
    this.tables = TABLES[config.tie_embeddings];
    this.kind = enginePositions(config.positions);
    const added = (/** @type {"source" | "target"} */ side) =>
      this.kind.added?.(side, config, (name) => parts.weight(name)) ?? null;
    this.positions = {source: added("source"), target: added("target")};
  }

  /** The longest translation, if the positions have an end. */
  get maxPositions() {
    return this.kind.hasLimit ? this.config.max_positions : null;
  }

  /** The number of target ids. */
  get vocabulary() {
    return this.outputTable().shape[0];
  }

  /**
   * Read a source sentence.
   * @param {readonly number[]} ids
   * @param {Tap | null} [tap]
   */
  encode(ids, tap = null) {
    let x = this.embed("source", ids, () => 0, tap, true);
    for (const layer of this.encoder) x = layer.run(x, ids.length, tap);
    return this.finish("encoder", x, ids.length, tap);
  }

  /**
   * Every target position at once. None of them sees the ones after it.
   * @param {readonly number[]} ids the decoder's input, which begins with `<bos>`
   * @param {Float32Array} memory
   * @param {number} sources how many positions the memory has
   * @param {Tap | null} [tap]
   */
  decode(ids, memory, sources, tap = null) {
    let x = this.embed("target", ids, () => 0, tap, true);
    for (const layer of this.decoder) x = layer.run(x, ids.length, memory, sources, tap);
    return this.finish("decoder", x, ids.length, tap);
  }

  /**
   * The log-probabilities of the word after each of the decoder's inputs.
   * @param {readonly number[]} source
   * @param {readonly number[]} input
   * @param {Tap | null} [tap]
   * @param {Float32Array} [memory] the encoder's output, if the source has been read
   */
  logProbs(source, input, tap = null, memory = this.encode(source, tap)) {
    return this.predict(this.decode(input, memory, source.length, tap), input.length, tap);
  }

  /**
   * The final linear layer and log-softmax.
   * @param {Float32Array} hidden
   * @param {number} count
   * @param {Tap | null} [tap]
   */
  predict(hidden, count, tap = null) {
    const bias = this.parts.weights.get("output_bias")?.data ?? null;
    const logits = this.parts.products.linear(hidden, count, this.outputTable(), bias);
    const width = logits.length / count;
    tap?.("logits", [count, width], logits);
    const found = tap ? new Float32Array(logits.length) : logits; // nobody else needs the logits
    for (let place = 0; place < logits.length; place += width) {
      const shift = logSumExp(logits.subarray(place, place + width));
      for (let i = place; i < place + width; i++) found[i] = logits[i] - shift;
    }
    tap?.("log_probs", [count, width], found);
    return found;
  }

  /**
   * What the decoder would say if a layer's output were its last: the log-probabilities of every row.
   * @param {Float32Array} x
   * @param {number} count
   */
  say(x, count) {
    return this.predict(this.finish("decoder", x, count, null), count);
  }

  /**
   * Get ready to translate word by word, with one empty hypothesis.
   * @param {readonly number[]} source
   * @param {Float32Array} [memory] the encoder's output, if the source has been read
   * @returns {Cache}
   */
  start(source, memory = this.encode(source)) {
    return this.decoder.map((layer) => ({
      memory: layer.remember(memory, source.length, null),
      pasts: [{keys: [], values: []}],
    }));
  }

  /**
   * Add the newest id of every hypothesis; give the log-probabilities of the next, a row for each.
   * @param {readonly number[]} ids
   * @param {Cache} cache
   */
  step(ids, cache) {
    const position = cache[0].pasts[0].keys.length;
    let x = this.embed("target", ids, () => position, null, false);
    this.decoder.forEach((layer, index) => {
      x = layer.step(x, cache[index].pasts, cache[index].memory);
    });
    return this.predict(this.finish("decoder", x, ids.length, null), ids.length);
  }

  /**
   * Let each hypothesis continue one of the former ones.
   * @param {Cache} cache
   * @param {readonly number[]} parents
   */
  reorder(cache, parents) {
    for (const layer of cache) {
      const {pasts} = layer;
      layer.pasts = parents.map((parent) => ({keys: [...pasts[parent].keys], values: [...pasts[parent].values]}));
    }
  }

  /**
   * The table of one side's embeddings.
   * @param {"source" | "target"} side
   */
  table(side) {
    return this.parts.weight(`embeddings.${this.tables[side]}`);
  }

  outputTable() {
    return this.parts.weight(`embeddings.${this.tables.output}`);
  }

  /**
   * Embeddings that know their positions.
   * @param {"source" | "target"} side
   * @param {readonly number[]} ids
   * @param {(row: number) => number} first the position of the first
   * @param {Tap | null} tap
   * @param {boolean} isSequence whether each id stands behind the one before it
   */
  embed(side, ids, first, tap, isSequence) {
    const {d_model: width, embedding_scale: isScaled} = this.config;
    const shape = [ids.length, width];
    const table = this.table(side);
    const scale = isScaled ? Math.sqrt(width) : 1;
    const x = new Float32Array(ids.length * width);
    ids.forEach((id, row) =>
      x.set(
        table.row(id).map((value) => value * scale),
        row * width,
      ),
    );
    if (tap) tap(`${side}.embedding`, shape, x.slice());
    const vectorOf = this.positions[side];
    if (vectorOf) {
      const added = new Float32Array(x.length);
      ids.forEach((_, row) => added.set(vectorOf(first(row) + (isSequence ? row : 0)), row * width));
      tap?.(`${side}.position`, shape, added);
      for (let i = 0; i < x.length; i++) x[i] += added[i];
    }
    tap?.(`${side}.sum`, shape, x);
    return x;
  }

  /**
   * The end of a stack: with pre-norm, one more norm.
   * @param {"encoder" | "decoder"} stack
   * @param {Float32Array} x
   * @param {number} count
   * @param {Tap | null} tap
   */
  finish(stack, x, count, tap) {
    const output = this.config.norm === "pre" ? this.parts.norm(x, count, `${stack}.final_norm`) : x;
    tap?.(`${stack}.output`, [count, output.length / count], output);
    return output;
  }
}
