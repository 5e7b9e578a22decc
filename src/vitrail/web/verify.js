// The proof: every recorded number is computed again from the ones before it, in float64, and compared.
//
// `recomputations` says how each array follows from others that the file holds; where an operand is missing (a weight
// matrix that was left out) an array is counted, but not claimed to be checked. The search is checked likewise.

import {activate, dot, layerNorm, lengthPenalty, logSoftmax, mix, plus, rotate, sinusoid, softmax} from "./arithmetic.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./trace.js").Tensor} Tensor
 * @typedef {import("./trace.js").Stack} Stack
 * @typedef {import("./trace.js").Attention} Attention
 * @typedef {import("./trace.js").SearchStep} SearchStep
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {{name: string, recorded: Tensor, recompute: (row: number) => Numbers}} Recomputation
 * @typedef {{name: string, place: string, difference: number}} Failure
 * @typedef {{
 *   checked: number, total: number, largest: number, where: string, failures: Failure[], unchecked: string[],
 *   finished: boolean}} Report
 */

export const TOLERANCE = 1e-4; // |a − b| / max|row|

/** Keeps count of what was compared. */
class Tally {
  constructor() {
    /** @type {Report} */
    this.report = {checked: 0, total: 0, largest: 0, where: "", failures: [], unchecked: [], finished: false};
  }

  /**
   * Compare a recorded row with the one computed again.
   * @param {string} name
   * @param {string} place
   * @param {Numbers} recorded
   * @param {Numbers} expected
   * @param {number} [scale] what a difference is measured against, where it is not the row itself
   */
  compare(name, place, recorded, expected, scale) {
    const difference = rowDifference(recorded, expected, scale);
    this.report.checked += recorded.length;
    if (difference > this.report.largest) {
      this.report.largest = difference;
      this.report.where = `${name}${place}`;
    }
    // Written this way round so that NaN fails.
    if (!(difference <= TOLERANCE)) this.fail(name, place, difference);
  }

  /**
   * @param {string} name
   * @param {string} place
   * @param {number} difference
   */
  fail(name, place, difference) {
    if (!this.report.failures.some((failure) => failure.name === name)) {
      this.report.failures.push({name, place, difference});
    }
  }
}

/**
 * The largest difference of two rows, relative to their largest number. What is not finite must be the same in both.
 * @param {Numbers} recorded
 * @param {Numbers} expected
 * @param {number} [scale]
 */
export function rowDifference(recorded, expected, scale) {
  let size = scale ?? 0;
  let most = 0;
  for (let i = 0; i < recorded.length; i++) {
    const a = recorded[i];
    const b = expected[i];
    if (!Number.isFinite(a) || !Number.isFinite(b)) {
      if (a === b) continue; // -inf and -inf
      return Infinity;
    }
    if (scale === undefined) size = Math.max(size, Math.abs(a), Math.abs(b));
    most = Math.max(most, Math.abs(a - b));
  }
  return most === 0 ? 0 : most / size;
}

/**
 * Check a whole trace, giving way after every row; the report grows meanwhile and is returned at the end.
 * @param {Trace} trace
 * @returns {Generator<Report, Report, void>}
 */
export function* verification(trace) {
  const tally = new Tally();
  const {report} = tally;
  const arrays = new Set(trace.names());
  for (const name of arrays) report.total += trace.facts.arrays[name].shape.reduce((a, b) => a * b, 1);

  for (const {name, recorded, recompute} of recomputations(trace)) {
    arrays.delete(name);
    const width = recorded.shape[recorded.shape.length - 1];
    for (let row = 0; row * width < recorded.size; row++) {
      tally.compare(name, `, row ${row}`, recorded.data.subarray(row * width, (row + 1) * width), recompute(row));
      yield report;
    }
  }
  report.unchecked.push(...arrays);

  yield* checkReference(trace, tally);
  yield* checkChoices(trace, tally);
  yield* checkSearch(trace, tally);
  report.finished = true;
  return report;
}

/**
 * Check a whole trace at once.
 * @param {Trace} trace
 */
export function verifyNow(trace) {
  const work = verification(trace);
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/**
 * How every array follows from others; only those whose operands the file holds.
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
  const position = `${side}.position`;
  if (!trace.has(position)) {
    yield same(trace, `${side}.sum`, `${side}.embedding`);
    return;
  }
  const {positions, d_model} = trace.config;
  const learned = trace.weight(`${side}_positions.table`);
  if (positions.startsWith("sinusoidal")) yield step(trace, position, (row) => sinusoid(positions, row, d_model));
  else if (learned) yield step(trace, position, (row) => learned.row(row));
  yield fromRows(trace, `${side}.sum`, [`${side}.embedding`, position], plus);
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
      const kind = trace.config.activation;
      const feed = `${path}.feed_forward`;
      const inner = `${weights}.feed_forward.inner`;
      yield linear(trace, `${feed}.hidden`, input, `${inner}.weight`, `${inner}.bias`, (x) => activate(kind, x));
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

/**
 * @param {Trace} trace
 * @param {Stack} stack
 * @param {number} layer
 * @param {Attention} attention
 * @param {string} input
 */
function* attentionSteps(trace, stack, layer, attention, input) {
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

/**
 * @param {Trace} trace
 * @param {string} name
 */
function held(trace, name) {
  return trace.has(name) ? trace.array(name) : null;
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {(row: number) => Numbers} recompute
 * @returns {Recomputation | null}
 */
function step(trace, name, recompute) {
  return trace.has(name) ? {name, recorded: trace.array(name), recompute} : null;
}

/**
 * A step whose rows follow from the same rows of one or two others.
 * @param {Trace} trace
 * @param {string} name
 * @param {string[]} operands
 * @param {(a: Numbers, b: Numbers, row: number) => Numbers} rule
 */
function fromRows(trace, name, operands, rule) {
  const tensors = operands.map((operand) => held(trace, operand));
  if (tensors.includes(null)) return null;
  const [a, b] = tensors.map((tensor) => (/** @type {number} */ row) => flatRow(/** @type {Tensor} */ (tensor), row));
  return step(trace, name, (row) => rule(a(row), b ? b(row) : [], row));
}

/**
 * @param {Tensor} tensor
 * @param {number} row
 */
function flatRow(tensor, row) {
  const width = tensor.shape[tensor.shape.length - 1];
  return tensor.data.subarray(row * width, (row + 1) * width);
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} other
 */
function same(trace, name, other) {
  return fromRows(trace, name, [other], (values) => values);
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} parameters
 */
function norm(trace, name, input, parameters) {
  const gain = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  if (!gain) return null;
  return fromRows(trace, name, [input], (values) => layerNorm(values, gain.data, bias && bias.data));
}

/**
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} weight
 * @param {string} bias
 * @param {(x: number) => number} [activation]
 */
function linear(trace, name, input, weight, bias, activation = (x) => x) {
  const matrix = trace.weight(weight);
  const shift = trace.weight(bias);
  const recorded = held(trace, name);
  if (!matrix || !recorded || matrix.shape[0] !== recorded.shape[1]) return null;
  return fromRows(trace, name, [input], (x) =>
    Float64Array.from({length: matrix.shape[0]}, (_, i) =>
      activation(dot(x, matrix.row(i)) + (shift ? shift.data[i] : 0)),
    ),
  );
}

/**
 * A linear step whose result is split into heads: q, k or v.
 * @param {Trace} trace
 * @param {string} name
 * @param {string} input
 * @param {string} parameters
 */
function split(trace, name, input, parameters) {
  const matrix = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  const x = held(trace, input);
  const recorded = held(trace, name);
  if (!matrix || !x || !recorded) return null;
  const [, positions, width] = recorded.shape;
  return step(trace, name, (row) => {
    const first = Math.floor(row / positions) * width;
    const vector = x.row(row % positions);
    return Float64Array.from(
      {length: width},
      (_, i) => dot(vector, matrix.row(first + i)) + (bias ? bias.data[first + i] : 0),
    );
  });
}

/**
 * The heads' z side by side, through W^O.
 * @param {Trace} trace
 * @param {string} name
 * @param {string} heads
 * @param {string} parameters
 */
function joined(trace, name, heads, parameters) {
  const matrix = trace.weight(`${parameters}.weight`);
  const bias = trace.weight(`${parameters}.bias`);
  const z = held(trace, heads);
  if (!matrix || !z) return null;
  const [count, , width] = z.shape;
  return step(trace, name, (row) => {
    const together = new Float64Array(count * width);
    for (let head = 0; head < count; head++) together.set(z.row(head, row), head * width);
    return Float64Array.from(
      {length: matrix.shape[0]},
      (_, i) => dot(together, matrix.row(i)) + (bias ? bias.data[i] : 0),
    );
  });
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 */
function* checkReference(trace, tally) {
  const arrays = trace.referenceArrays();
  if (!arrays) return;
  tally.report.total += arrays.logits.size + arrays.log_probs.size;
  tally.report.unchecked.push("reference.logits");
  for (let row = 0; row < arrays.log_probs.shape[0]; row++) {
    tally.compare("reference.log_probs", `, row ${row}`, arrays.log_probs.row(row), logSoftmax(arrays.logits.row(row)));
    yield tally.report;
  }
}

/**
 * The chosen words: the translation is the search's first result; and with one beam each of its words must be the most
 * probable one allowed.
 * @param {Trace} trace
 * @param {Tally} tally
 */
function* checkChoices(trace, tally) {
  const {ids} = trace.target;
  const found = trace.search.results[0]?.ids ?? [];
  tally.report.total += ids.length;
  tally.report.checked += ids.length;
  if (String(found) !== String(ids)) tally.fail("target.ids", ", not what the search found", Infinity);
  const logProbs = held(trace, "log_probs");
  const isGreedy = trace.search.kind === "beam" && trace.search.beam_size === 1 && !trace.whatIf.prefix;
  if (!isGreedy || !logProbs) return;
  for (const [position, id] of ids.entries()) {
    const row = logProbs.row(position);
    // The search ran on the fast path: two words may change places where they are as good as equal.
    const difference = rowDifference([row[id]], [row[mostProbable(row, trace)]], largestSize(row));
    if (!(difference <= TOLERANCE)) tally.fail("target.ids", `, position ${position}`, difference);
    yield tally.report;
  }
}

/**
 * The most probable id of those that a translation may contain.
 * @param {Numbers} row
 * @param {Trace} trace
 */
export function mostProbable(row, trace) {
  const firstWord = 4 + trace.model.languages.length;
  let best = 3; // <eos> is always allowed
  for (let id = firstWord; id < row.length; id++) if (row[id] > row[best]) best = id;
  return best;
}

/**
 * The search's own arithmetic: totals, scores, ranks, margins, and who goes on; and the log-probabilities of what it
 * returned against those of the recorded pass.
 * @param {Trace} trace
 * @param {Tally} tally
 */
function* checkSearch(trace, tally) {
  const {steps, results} = trace.search;
  for (const [index, current] of steps.entries()) {
    checkLive(trace, tally, index);
    checkCandidates(trace, tally, current);
    yield tally.report;
  }
  const logProbs = held(trace, "log_probs");
  for (const [index, result] of results.entries()) {
    const place = `, result ${index + 1}`;
    const sum = result.log_probs.reduce((a, b) => a + b, 0);
    tally.report.total += result.log_probs.length + 1;
    if (trace.search.kind === "beam" && index > 0 && result.score > results[index - 1].score) {
      tally.fail("search.results.score", `${place}, better than the one before it`, Infinity);
    }
    tally.compare("search.results.score", place, [result.score], [sum / penaltyAt(trace, result.ids.length)]);
    if (logProbs && startsWith(trace.target.ids, result.ids) && result.ids.length <= logProbs.shape[0]) {
      compareLogProbs(trace, tally, "search.results.log_probs", place, result.ids, result.log_probs);
    }
    yield tally.report;
  }
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {number} index
 */
function checkLive(trace, tally, index) {
  const {live, step: number} = trace.search.steps[index];
  tally.report.total += live.length;
  const before = trace.search.steps[index - 1];
  for (const [place, hypothesis] of live.entries()) {
    const where = `, step ${number}, hypothesis ${place}`;
    if (!before) {
      tally.compare("search.live.total", where, [hypothesis.total], [0]);
      continue;
    }
    const parent = before.candidates.find((one) => one.fate === "kept" && one.becomes === place);
    if (!parent) {
      tally.fail("search.candidates.becomes", where, Infinity);
      continue;
    }
    tally.compare("search.live.total", where, [hypothesis.total], [parent.total]);
    const tokens = [...(before.live[parent.parent]?.tokens_so_far ?? []), parent.id];
    if (String(tokens) !== String(hypothesis.tokens_so_far)) tally.fail("search.live.tokens_so_far", where, Infinity);
  }
}

/**
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {SearchStep} current
 */
function checkCandidates(trace, tally, {step: number, live, candidates}) {
  const isBeam = trace.search.kind === "beam";
  const worstKept = candidates
    .filter((one) => one.fate === "kept" || one.fate === "stopped")
    .reduce((least, one) => Math.min(least, one.total), Infinity);
  for (const [place, one] of candidates.entries()) {
    const where = `, step ${number}, candidate ${place}`;
    const parent = live[one.parent];
    tally.report.total += 3 + (one.margin === null ? 0 : 1);
    if (!parent) {
      tally.fail("search.candidates.parent", where, Infinity);
      continue;
    }
    tally.compare("search.candidates.total", where, [one.total], [parent.total + one.log_prob]);
    tally.compare("search.candidates.score", where, [one.score], [one.total / penaltyAt(trace, number)]);
    if (one.margin !== null) {
      tally.compare("search.candidates.margin", where, [one.margin], [worstKept - one.total], Math.abs(one.total));
    }
    if (isBeam && (one.rank !== place || (place > 0 && one.total > candidates[place - 1].total))) {
      tally.fail("search.candidates.rank", where, Infinity);
    }
    const ids = [...parent.tokens_so_far, one.id];
    if (trace.has("log_probs") && startsWith(trace.target.ids, parent.tokens_so_far)) {
      if (ids.length <= trace.array("log_probs").shape[0]) {
        compareLogProbs(trace, tally, "search.candidates.log_prob", where, ids, [one.log_prob]);
      }
    }
  }
}

/**
 * The last of these ids' log-probabilities against the recorded pass, measured by the row that each comes from.
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {string} name
 * @param {string} place
 * @param {number[]} ids
 * @param {number[]} recorded
 */
function compareLogProbs(trace, tally, name, place, ids, recorded) {
  const logProbs = trace.array("log_probs");
  const first = ids.length - recorded.length;
  for (const [index, value] of recorded.entries()) {
    const row = logProbs.row(first + index);
    tally.compare(name, place, [value], [row[ids[first + index]]], largestSize(row));
  }
}

/** @param {Numbers} row */
function largestSize(row) {
  let size = 0;
  for (let i = 0; i < row.length; i++) if (Number.isFinite(row[i])) size = Math.max(size, Math.abs(row[i]));
  return size;
}

/**
 * @param {Trace} trace
 * @param {number} length
 */
function penaltyAt(trace, length) {
  return lengthPenalty(length, trace.search.penalty, trace.search.alpha);
}

/**
 * @param {number[]} whole
 * @param {number[]} start
 */
function startsWith(whole, start) {
  return start.length <= whole.length && start.every((id, index) => whole[index] === id);
}
