// How the arrays of one attention follow from each other: from x to q, k and v, scores, weights, z and the output.

import {dot, mix, plus, rotate, softmax} from "../arithmetic.js";
import {fromRows, held, joined, split, step} from "./recompute.js";

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
  const weights = `${stack}.layers.${layer}.${attention}`;
  const seen = attention === "cross_attention" ? "encoder.output" : input;
  const {d_k, max_distance} = trace.config;

  yield split(trace, `${path}.q`, input, `${weights}.query`);
  yield split(trace, `${path}.k`, seen, `${weights}.key`);
  yield split(trace, `${path}.v`, seen, `${weights}.value`);
  for (const name of ["q", "k"]) {
    const length = trace.has(`${path}.${name}`) ? trace.array(`${path}.${name}`).shape[1] : 1;
    yield fromRows(trace, `${path}.${name}_rotated`, [`${path}.${name}`], (v, _, row) => rotate(v, row % length));
  }

  const isRotated = trace.has(`${path}.q_rotated`);
  const isRelative = trace.has(`${path}.scores_content`);
  const q = held(trace, isRotated ? `${path}.q_rotated` : `${path}.q`);
  const k = held(trace, isRotated ? `${path}.k_rotated` : `${path}.k`);
  const v = held(trace, `${path}.v`);
  const mixed = held(trace, `${path}.weights`);
  if (!q || !k || !v || !mixed) return;
  const queries = q.shape[1];
  const keys = k.shape[1];
  /** @param {number} row */
  const headOf = (row) => Math.floor(row / queries);
  /** @type {(row: number, key: number) => number} the row of a relative table: how far the key stands after the query */
  const distance = (row, key) =>
    Math.max(-max_distance, Math.min(max_distance, key - (row % queries) - (keys - queries))) + max_distance;

  yield step(trace, isRelative ? `${path}.scores_content` : `${path}.scores`, (row) => {
    const query = q.row(headOf(row), row % queries);
    return Float64Array.from({length: keys}, (_, key) => dot(query, k.row(trace.kvHead(headOf(row)), key)));
  });
  if (isRelative) {
    const table = trace.weight(`${weights}.dot_product.key_RK`);
    if (table) {
      yield step(trace, `${path}.scores_position`, (row) => {
        const query = q.row(headOf(row), row % queries);
        return Float64Array.from({length: keys}, (_, key) => dot(query, table.row(distance(row, key))));
      });
    }
    yield fromRows(trace, `${path}.scores`, [`${path}.scores_content`, `${path}.scores_position`], plus);
  }
  const hidesFuture = stack === "decoder" && attention === "self_attention";
  yield fromRows(trace, `${path}.scaled`, [`${path}.scores`], (scores, _, row) =>
    Float64Array.from(scores, (score, key) =>
      hidesFuture && key > row % queries ? -Infinity : score / Math.sqrt(d_k),
    ),
  );
  yield fromRows(trace, `${path}.weights`, [`${path}.scaled`], (scaled) => softmax(scaled));

  /** @type {(row: number) => number} 0 where the head was switched off */
  const gate = (row) => (trace.isOff(path, headOf(row)) ? 0 : 1);
  /** @param {number} row */
  const gathered = (row) =>
    mix(mixed.row(headOf(row), row % queries), (key) => v.row(trace.kvHead(headOf(row)), key), d_k);
  if (isRelative) {
    yield step(trace, `${path}.z_content`, gathered);
    const table = trace.weight(`${weights}.dot_product.value_RK`);
    if (table) {
      yield step(trace, `${path}.z_position`, (row) =>
        mix(mixed.row(headOf(row), row % queries), (key) => table.row(distance(row, key)), d_k),
      );
    }
    yield fromRows(trace, `${path}.z`, [`${path}.z_content`, `${path}.z_position`], (content, position, row) =>
      plus(content, position).map((value) => value * gate(row)),
    );
  } else {
    yield step(trace, `${path}.z`, (row) => gathered(row).map((value) => value * gate(row)));
  }
  yield joined(trace, `${path}.output`, `${path}.z`, `${weights}.output`);
}
