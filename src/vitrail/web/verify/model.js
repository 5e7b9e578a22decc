// How every array of a trace follows from those before it, from the embeddings to the log-probabilities.

import {ACTIVATIONS, logSoftmax, plus} from "../arithmetic.js";
import {Problem} from "../problem.js";
import {positionsOf} from "../positions/kinds.js";
import {attentionSteps} from "./attention.js";
import {fromRows, linear, norm, same, step} from "./recompute.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("./recompute.js").Recomputation} Recomputation
 */

/**
 * How every array follows from others; only those whose operands are in the file.
 * @param {Trace} trace
 * @returns {Generator<Recomputation, void, void>}
 */
export function* recomputations(trace) {
  for (const found of everyStep(trace)) if (found) yield found;
}

/**
 * @param {Trace} trace
 * @returns {Generator<Recomputation | null, void, void>}
 */
function* everyStep(trace) {
  yield* embeddingSteps(trace, "source", trace.source.ids);
  yield* embeddingSteps(trace, "target", trace.target.input_ids);
  for (const stack of /** @type {Stack[]} */ (["encoder", "decoder"])) {
    for (let layer = 0; layer < trace.layers(stack); layer++) yield* layerSteps(trace, stack, layer);
    const last = `${stack}.${trace.layers(stack) - 1}.output`;
    yield trace.config.norm === "pre"
      ? norm(trace, `${stack}.output`, last, `${stack}.final_norm`)
      : same(trace, `${stack}.output`, last);
  }
  const table = {all: "embeddings.shared", target: "embeddings.target", none: "embeddings.output"};
  yield linear(trace, "logits", "decoder.output", table[trace.config.tie_embeddings], "output_bias");
  yield fromRows(trace, "log_probs", ["logits"], (logits) => logSoftmax(logits));
}

/**
 * @param {Trace} trace
 * @param {"source" | "target"} side
 * @param {number[]} ids
 */
function* embeddingSteps(trace, side, ids) {
  const scale = trace.config.embedding_scale ? Math.sqrt(trace.config.d_model) : 1;
  const rows = ids.map((id) => trace.embeddingRow(side, id));
  if (rows.every((row) => row !== null)) {
    yield step(trace, `${side}.embedding`, (row) => Float64Array.from(rows[row] ?? [], (value) => value * scale));
  }
  const {added} = positionsOf(trace).check;
  if (!added) {
    yield same(trace, `${side}.sum`, `${side}.embedding`);
    return;
  }
  const position = added(trace, side);
  if (position) yield step(trace, `${side}.position`, position);
  yield fromRows(trace, `${side}.sum`, [`${side}.embedding`, `${side}.position`], plus);
}

/**
 * @param {Trace} trace
 * @param {Stack} stack
 * @param {number} layer
 */
function* layerSteps(trace, stack, layer) {
  const path = `${stack}.${layer}`;
  const weights = `${stack}.layers.${layer}`;
  const sublayers = trace.sublayers(stack);
  for (const [index, sublayer] of sublayers.entries()) {
    const number = index + 1;
    const addNorm = `${path}.add_norm_${number}`;
    const gain = `${weights}.add_norm_${number}.norm`;
    const x = trace.residual(stack, layer, number);
    const input = trace.sublayerInput(stack, layer, number);
    if (trace.config.norm === "pre") yield norm(trace, `${addNorm}.normed`, x, gain);
    if (sublayer === "feed_forward") {
      const activation = activationOf(trace);
      const feed = `${path}.feed_forward`;
      const inner = `${weights}.feed_forward.inner`;
      yield linear(trace, `${feed}.hidden`, input, `${inner}.weight`, `${inner}.bias`, activation);
      const outer = `${weights}.feed_forward.outer`;
      yield linear(trace, `${feed}.output`, `${feed}.hidden`, `${outer}.weight`, `${outer}.bias`);
    } else {
      yield* attentionSteps(trace, stack, layer, sublayer, input);
    }
    yield fromRows(trace, `${addNorm}.sum`, [x, `${path}.${sublayer}.output`], plus);
    yield trace.config.norm === "pre"
      ? same(trace, `${addNorm}.output`, `${addNorm}.sum`)
      : norm(trace, `${addNorm}.output`, `${addNorm}.sum`, gain);
  }
  yield same(trace, `${path}.output`, `${path}.add_norm_${sublayers.length}.output`);
}

/** @param {Trace} trace */
function activationOf({config}) {
  const found = ACTIVATIONS[config.activation];
  if (!found) {
    throw new Problem(`this page does not know the activation '${config.activation}'`, {fix: "upgrade vitrail"});
  }
  return found;
}
