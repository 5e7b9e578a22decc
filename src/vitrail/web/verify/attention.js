// How the arrays of one attention follow from each other: from x to q, k and v, scores, weights, z and the output.

import {softmax} from "../arithmetic.js";
import {positionsOf} from "../positions/kinds.js";
import {PLAIN} from "../positions/plain.js";
import {fromRows, joined, split} from "./recompute.js";
import {recordedAttention} from "./recorded_attention.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../trace.js").Attention} Attention
 */

/**
 * @param {Trace} trace
 * @param {Stack} stack
 * @param {number} layer
 * @param {Attention} attention
 * @param {string} input
 */
export function* attentionSteps(trace, stack, layer, attention, input) {
  const path = `${stack}.${layer}.${attention}`;
  const parameters = `${stack}.layers.${layer}.${attention}`;
  const isCross = attention === "cross_attention";
  const seen = isCross ? "encoder.output" : input;
  const {meeting, bias, check} = isCross ? PLAIN : positionsOf(trace);

  yield split(trace, `${path}.q`, input, `${parameters}.query`);
  yield split(trace, `${path}.k`, seen, `${parameters}.key`);
  yield split(trace, `${path}.v`, seen, `${parameters}.value`);
  yield* check.placed(trace, path);
  const recorded = recordedAttention(trace, path, parameters, meeting);
  if (!recorded) return;

  yield* check.scores(recorded);
  const hidesFuture = stack === "decoder" && !isCross;
  const root = Math.sqrt(trace.config.d_k);
  yield fromRows(trace, `${path}.scaled`, [`${path}.scores`], (scores, _, row) => {
    const {head, query} = recorded.place(row);
    return Float64Array.from(scores, (score, key) => {
      if (hidesFuture && key > query) return -Infinity;
      return score / root + (bias ? bias.of(trace, head, query, key) : 0);
    });
  });
  yield fromRows(trace, `${path}.weights`, [`${path}.scaled`], (scaled) => softmax(scaled));
  yield* check.z(recorded);
  yield joined(trace, `${path}.output`, `${path}.z`, `${parameters}.output`);
}
