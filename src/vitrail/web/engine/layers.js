// A layer of the encoder and one of the decoder: attention, feed-forward, and the add & normalize around each.

import {ACTIVATIONS} from "../arithmetic.js";
import {Attention} from "./attention.js";

/**
 * @typedef {import("./transformer.js").Parts} Parts
 * @typedef {import("./attention.js").Tap} Tap
 * @typedef {import("./attention.js").Past} Past
 */

/** @type {(row: number) => number} in a full pass, every row stands at its own position */
const ITS_OWN = (row) => row;
/** @type {(row: number) => number} cross-attention knows no positions */
const NOWHERE = () => 0;

/** What both kinds of layers have. */
class Layer {
  /**
   * @param {Parts} parts
   * @param {string} path "encoder.0"
   */
  constructor(parts, path) {
    this.parts = parts;
    this.path = path;
    this.parameters = path.replace(".", ".layers.");
    this.selfAttention = new Attention(parts, `${path}.self_attention`);
  }

  /**
   * A sub-layer, the residual connection around it, and a norm: after the sum, or before the sub-layer.
   * @param {Float32Array} x
   * @param {number} count
   * @param {number} number of the sub-layer, from 1
   * @param {(x: Float32Array) => Float32Array} sublayer
   * @param {Tap | null} tap
   */
  addNorm(x, count, number, sublayer, tap) {
    const name = `${this.path}.add_norm_${number}`;
    const norm = `${this.parameters}.add_norm_${number}.norm`;
    const shape = [count, x.length / count];
    const isPre = this.parts.config.norm === "pre";
    const normed = isPre ? this.parts.norm(x, count, norm) : x;
    if (isPre) tap?.(`${name}.normed`, shape, normed);
    const found = sublayer(normed);
    const sum = new Float32Array(x.length);
    for (let i = 0; i < sum.length; i++) sum[i] = x[i] + found[i];
    tap?.(`${name}.sum`, shape, sum);
    const output = isPre ? sum : this.parts.norm(sum, count, norm);
    tap?.(`${name}.output`, shape, output);
    return output;
  }

  /**
   * @param {Float32Array} x
   * @param {number} count
   * @param {Tap | null} tap
   */
  feedForward(x, count, tap) {
    const {parts, parameters} = this;
    const activate = ACTIVATIONS[parts.config.activation];
    const hidden = parts.linear(x, count, `${parameters}.feed_forward.inner`);
    for (let i = 0; i < hidden.length; i++) hidden[i] = activate(hidden[i]);
    tap?.(`${this.path}.feed_forward.hidden`, [count, hidden.length / count], hidden);
    const output = parts.linear(hidden, count, `${parameters}.feed_forward.outer`);
    tap?.(`${this.path}.feed_forward.output`, [count, output.length / count], output);
    return output;
  }

  /**
   * Every position looks at the others, or only at those before it.
   * @param {Float32Array} x
   * @param {number} count
   * @param {boolean} hidesFuture
   * @param {Tap | null} tap
   */
  lookAround(x, count, hidesFuture, tap) {
    const q = this.selfAttention.queries(x, count, ITS_OWN, tap);
    const past = this.selfAttention.keysValues(x, count, ITS_OWN, tap);
    const seenBy = (/** @type {number} */ row) => ({...past, position: row, visible: hidesFuture ? row + 1 : count});
    return this.selfAttention.gather(q, count, seenBy, tap);
  }
}

/** Self-attention, then feed-forward. */
export class EncoderLayer extends Layer {
  /**
   * @param {Float32Array} x
   * @param {number} count
   * @param {Tap | null} tap
   */
  run(x, count, tap) {
    const looked = this.addNorm(x, count, 1, (input) => this.lookAround(input, count, false, tap), tap);
    const output = this.addNorm(looked, count, 2, (input) => this.feedForward(input, count, tap), tap);
    tap?.(`${this.path}.output`, [count, output.length / count], output);
    return output;
  }
}

/** Masked self-attention, cross-attention, then feed-forward. */
export class DecoderLayer extends Layer {
  /**
   * @param {Parts} parts
   * @param {string} path
   */
  constructor(parts, path) {
    super(parts, path);
    this.crossAttention = new Attention(parts, `${path}.cross_attention`);
  }

  /**
   * The memory's keys and values, which do not change during a search.
   * @param {Float32Array} memory
   * @param {number} count
   * @param {Tap | null} tap
   */
  remember(memory, count, tap) {
    return this.crossAttention.keysValues(memory, count, NOWHERE, tap);
  }

  /**
   * Every position at once; none sees those after it.
   * @param {Float32Array} x
   * @param {number} count
   * @param {Float32Array} memory
   * @param {number} sources how many positions the memory has
   * @param {Tap | null} tap
   */
  run(x, count, memory, sources, tap) {
    const looked = this.addNorm(x, count, 1, (input) => this.lookAround(input, count, true, tap), tap);
    const crossed = this.addNorm(
      looked,
      count,
      2,
      (input) => {
        const q = this.crossAttention.queries(input, count, NOWHERE, tap);
        return this.lookAtSource(q, count, this.remember(memory, sources, tap), tap);
      },
      tap,
    );
    const output = this.addNorm(crossed, count, 3, (input) => this.feedForward(input, count, tap), tap);
    tap?.(`${this.path}.output`, [count, output.length / count], output);
    return output;
  }

  /**
   * The newest position of every hypothesis, whose past grows by it.
   * @param {Float32Array} x
   * @param {Past[]} pasts of each hypothesis
   * @param {Past} memory
   */
  step(x, pasts, memory) {
    const count = pasts.length;
    const position = pasts[0].keys.length;
    const here = () => position;
    const looked = this.addNorm(
      x,
      count,
      1,
      (input) => {
        const q = this.selfAttention.queries(input, count, here, null);
        const newest = this.selfAttention.keysValues(input, count, here, null);
        pasts.forEach((past, row) => {
          past.keys.push(newest.keys[row]);
          past.values.push(newest.values[row]);
        });
        const seenBy = (/** @type {number} */ row) => ({...pasts[row], position, visible: position + 1});
        return this.selfAttention.gather(q, count, seenBy, null);
      },
      null,
    );
    const crossed = this.addNorm(
      looked,
      count,
      2,
      (input) => this.lookAtSource(this.crossAttention.queries(input, count, NOWHERE, null), count, memory, null),
      null,
    );
    return this.addNorm(crossed, count, 3, (input) => this.feedForward(input, count, null), null);
  }

  /**
   * @param {Float32Array} q
   * @param {number} count
   * @param {Past} memory
   * @param {Tap | null} tap
   */
  lookAtSource(q, count, memory, tap) {
    const seen = {...memory, position: 0, visible: memory.keys.length};
    return this.crossAttention.gather(q, count, () => seen, tap);
  }
}
