// A tiny Transformer written out with loops, and the trace it leaves: every option of the model, without Python.
//
// It shares no arithmetic with the page, so that the page's proof is held to something else than itself. The search is
// the rule of the house: of the best beam_size candidates those that end are set aside, the others go on.

const EOS = 3;
const BOS = 2;
// By the number of heads.
const ALIBI_SLOPES = {3: [1 / 16, 1 / 256, 1 / 4], 4: [1 / 4, 1 / 16, 1 / 64, 1 / 256]};

/** Random numbers that are the same each time (mulberry32), roughly normal. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => uniform() + uniform() + uniform() - 1.5;
}

export const OPTIONS = {
  norm: ["post", "pre"],
  positions: ["sinusoidal", "sinusoidal-concat", "sinusoidal-halves", "learned", "relative", "rope", "alibi"],
};

/** @param {Record<string, any>} changes to the settings below, and {seed, heads_off, beam_size, without_weights} */
export function makeTrace(changes = {}) {
  const {
    seed = 9,
    heads_off = {},
    beam_size = 2,
    kind = "beam",
    without_weights = false,
    source,
    ...settings
  } = changes;
  const config = {
    preset: "tiny",
    d_model: 8,
    heads: 4,
    kv_heads: 2,
    d_k: 4,
    d_ff: 10,
    encoder_layers: 2,
    decoder_layers: 2,
    norm: "post",
    positions: "sinusoidal",
    max_positions: 40,
    max_distance: 2,
    activation: "relu",
    dropout: 0,
    bias: true,
    output_bias: false,
    embedding_scale: true,
    tie_embeddings: "all",
    ...settings,
  };
  const vocabulary = ["<pad>", "<unk>", "<bos>", "<eos>", "<2en>", "<2fr>", ..."abcdefghij"];
  const model = new TinyModel(config, vocabulary.length, randomNumbers(seed), heads_off);
  const sourceIds = source ?? [5, 7, 9, 8, EOS];
  const search = searchFor(model, sourceIds, {beam_size, alpha: 0.7, penalty: seed % 2 ? "length" : "gnmt", limit: 6});
  const ids = [...search.results[0].ids];
  const inputIds = [BOS, ...ids.slice(0, -1)];
  const taps = {};
  model.run(sourceIds, inputIds, (name, value) => (taps[name] = value));
  const tokens = (list) => list.map((id) => vocabulary[id]);
  for (const result of search.results) {
    Object.assign(result, {tokens: tokens(result.ids), text: tokens(result.ids).join(" ")});
  }
  const words = (list) => list.map((id, index) => (id < 6 ? -1 : index));
  const weights = Object.fromEntries(
    Object.entries(model.weights).filter(([name]) => !without_weights || /norm/.test(name)),
  );
  const parts = {};
  for (const [name, value] of Object.entries(model.weights)) {
    const [stack, , layer, part] = name.split(".");
    if (layer === undefined) continue;
    for (const key of [`${stack}.${layer}`, `${stack}.${layer}.${part}`]) {
      parts[key] = (parts[key] ?? 0) + flatten(value).length;
    }
  }
  const document = {
    format: "vitrail-trace",
    version: 1,
    vitrail: "0.1.0",
    model: {
      name: "tiny",
      config,
      languages: ["en", "fr"],
      source_vocabulary: vocabulary.length,
      target_vocabulary: vocabulary.length,
      parameters: {total: 1, embeddings: 1, parts},
    },
    source: {text: "b d c", ids: sourceIds, tokens: tokens(sourceIds), words: words(sourceIds)},
    target: {
      text: tokens(ids.filter((id) => id !== EOS)).join(" "),
      ids,
      tokens: tokens(ids),
      words: words(ids),
      input_ids: inputIds,
      input_tokens: tokens(inputIds),
    },
    to: "fr",
    settings: {beam_size, top_beams: 1},
    what_if: {heads_off, prefix: ""},
    vocabulary,
    arrays: mapValues(taps, encode),
    weights: mapValues(weights, encode),
    weights_of: [],
    embeddings: {source: model.rows("source", sourceIds), target: model.rows("target", inputIds)},
    search: {...search, kind},
    reference: {
      text: "a",
      ids: [6, EOS],
      tokens: ["a", "<eos>"],
      input_ids: [BOS, 6],
      input_tokens: ["<bos>", "a"],
      label_smoothing: 0.1,
      ...mapValues(model.predict(sourceIds, [BOS, 6]), encode),
    },
    probes: null,
    seen: null,
  };
  return document;
}

class TinyModel {
  constructor(config, vocabulary, random, headsOff) {
    this.config = config;
    this.headsOff = headsOff;
    const weights = (this.weights = {});
    const matrix = (rows, columns, size = 1) =>
      Array.from({length: rows}, () => Array.from({length: columns}, () => Math.fround(size * random())));
    const linear = (name, rows, columns) => {
      weights[`${name}.weight`] = matrix(rows, columns, 0.6);
      if (config.bias) weights[`${name}.bias`] = matrix(1, rows)[0];
    };
    const norm = (name) => {
      weights[`${name}.weight`] = matrix(1, config.d_model, 0.3)[0].map((gain) => Math.fround(1 + gain));
      if (config.bias) weights[`${name}.bias`] = matrix(1, config.d_model)[0];
    };
    const {d_model, d_k, heads, kv_heads, tie_embeddings} = config;
    for (const table of {all: ["shared"], target: ["source", "target"], none: ["source", "target", "output"]}[
      tie_embeddings
    ]) {
      weights[`embeddings.${table}`] = matrix(vocabulary, d_model, 0.7);
    }
    if (config.output_bias) weights.output_bias = matrix(1, vocabulary)[0];
    if (config.positions === "learned") {
      for (const side of ["source", "target"]) {
        weights[`${side}_positions.table`] = matrix(config.max_positions, d_model);
      }
    }
    for (const [stack, parts] of [
      ["encoder", ["self_attention"]],
      ["decoder", ["self_attention", "cross_attention"]],
    ]) {
      for (let layer = 0; layer < config[`${stack}_layers`]; layer++) {
        const path = `${stack}.layers.${layer}`;
        for (const part of parts) {
          linear(`${path}.${part}.query`, heads * d_k, d_model);
          linear(`${path}.${part}.key`, kv_heads * d_k, d_model);
          linear(`${path}.${part}.value`, kv_heads * d_k, d_model);
          linear(`${path}.${part}.output`, d_model, heads * d_k);
        }
        if (config.positions === "relative") {
          const rows = 2 * config.max_distance + 1;
          weights[`${path}.self_attention.dot_product.key_RK`] = matrix(rows, d_k);
          weights[`${path}.self_attention.dot_product.value_RK`] = matrix(rows, d_k);
        }
        linear(`${path}.feed_forward.inner`, config.d_ff, d_model);
        linear(`${path}.feed_forward.outer`, d_model, config.d_ff);
        for (let i = 1; i <= parts.length + 1; i++) norm(`${path}.add_norm_${i}.norm`);
      }
      if (config.norm === "pre") norm(`${stack}.final_norm`);
    }
  }

  rows(side, all) {
    const table = this.weights[`embeddings.${this.config.tie_embeddings === "all" ? "shared" : side}`];
    const ids = [...new Set(all)].sort((a, b) => a - b);
    return {ids, rows: encode(ids.map((id) => table[id]))};
  }

  predict(source, input) {
    const taps = {};
    this.run(source, input, (name, value) => (taps[name] = value));
    return {logits: taps.logits, log_probs: taps.log_probs};
  }

  /** One teacher-forced pass. `tap` hears every value, rounded to float32, and the rounded value flows on. */
  run(source, input, tap) {
    const hear = (name, value) => {
      const rounded = round(value);
      tap(name, rounded);
      return rounded;
    };
    const memory = this.stack("encoder", this.embed("source", source, hear), null, hear);
    const hidden = this.stack("decoder", this.embed("target", input, hear), memory, hear);
    const table =
      this.weights[
        {all: "embeddings.shared", target: "embeddings.target", none: "embeddings.output"}[this.config.tie_embeddings]
      ];
    const bias = this.weights.output_bias;
    const logits = hear(
      "logits",
      hidden.map((x) => table.map((row, i) => times(row, x) + (bias ? bias[i] : 0))),
    );
    hear(
      "log_probs",
      logits.map((row) => {
        const most = Math.max(...row);
        const sum = row.reduce((total, value) => total + Math.exp(value - most), 0);
        return row.map((value) => value - most - Math.log(sum));
      }),
    );
  }

  embed(side, ids, hear) {
    const {tie_embeddings, embedding_scale, d_model, positions} = this.config;
    const table = this.weights[`embeddings.${tie_embeddings === "all" ? "shared" : side}`];
    const scale = embedding_scale ? d_model ** 0.5 : 1;
    const x = hear(
      `${side}.embedding`,
      ids.map((id) => table[id].map((value) => value * scale)),
    );
    if (["relative", "rope", "alibi"].includes(positions)) return hear(`${side}.sum`, x);
    const place = hear(
      `${side}.position`,
      ids.map((_, at) => this.position(side, at)),
    );
    return hear(
      `${side}.sum`,
      x.map((row, at) => row.map((value, i) => value + place[at][i])),
    );
  }

  position(side, at) {
    const {positions, d_model} = this.config;
    if (positions === "learned") return this.weights[`${side}_positions.table`][at];
    const half = d_model / 2;
    const steps = positions === "sinusoidal-concat" ? half - 1 : half;
    const angles = Array.from({length: half}, (_, i) => at / 10000 ** (i / steps));
    if (positions === "sinusoidal") return angles.flatMap((a) => [Math.sin(a), Math.cos(a)]);
    return [...angles.map(Math.sin), ...angles.map(Math.cos)];
  }

  stack(name, x, memory, hear) {
    const {norm} = this.config;
    for (let layer = 0; layer < this.config[`${name}_layers`]; layer++) {
      const path = `${name}.${layer}`;
      const weights = `${name}.layers.${layer}`;
      const parts = [
        [
          "self_attention",
          (y) =>
            this.attend(`${path}.self_attention`, `${weights}.self_attention`, y, y, name === "decoder", true, hear),
        ],
        ...(memory
          ? [
              [
                "cross_attention",
                (y) =>
                  this.attend(`${path}.cross_attention`, `${weights}.cross_attention`, y, memory, false, false, hear),
              ],
            ]
          : []),
        ["feed_forward", (y) => this.think(`${path}.feed_forward`, `${weights}.feed_forward`, y, hear)],
      ];
      parts.forEach(([, part], index) => {
        const addNorm = `${path}.add_norm_${index + 1}`;
        const gain = `${weights}.add_norm_${index + 1}.norm`;
        const input = norm === "pre" ? hear(`${addNorm}.normed`, this.normed(x, gain)) : x;
        const result = part(input);
        const sum = hear(
          `${addNorm}.sum`,
          x.map((row, t) => row.map((value, i) => value + result[t][i])),
        );
        x = hear(`${addNorm}.output`, norm === "pre" ? sum : this.normed(sum, gain));
      });
      x = hear(`${path}.output`, x);
    }
    return hear(`${name}.output`, norm === "pre" ? this.normed(x, `${name}.final_norm`) : x);
  }

  normed(x, name) {
    const gain = this.weights[`${name}.weight`];
    const bias = this.weights[`${name}.bias`];
    return x.map((row) => {
      const mean = row.reduce((a, b) => a + b) / row.length;
      const variance = row.reduce((sum, value) => sum + (value - mean) * (value - mean), 0) / row.length;
      return row.map((value, i) => ((value - mean) / Math.sqrt(variance + 1e-5)) * gain[i] + (bias ? bias[i] : 0));
    });
  }

  linear(name, x) {
    const matrix = this.weights[`${name}.weight`];
    const bias = this.weights[`${name}.bias`];
    return x.map((row) => matrix.map((weights, i) => times(weights, row) + (bias ? bias[i] : 0)));
  }

  think(path, weights, x, hear) {
    const activation = {relu: (v) => (v > 0 ? v : 0), silu: (v) => v / (1 + Math.exp(-v)), gelu}[
      this.config.activation
    ];
    const hidden = hear(
      `${path}.hidden`,
      this.linear(`${weights}.inner`, x).map((row) => row.map(activation)),
    );
    return hear(`${path}.output`, this.linear(`${weights}.outer`, hidden));
  }

  attend(path, weights, x, seen, hidesFuture, hasPositions, hear) {
    const {d_k, heads, kv_heads, positions, max_distance} = this.config;
    const split = (rows, count) =>
      Array.from({length: count}, (_, h) => rows.map((row) => row.slice(h * d_k, (h + 1) * d_k)));
    let q = hear(`${path}.q`, split(this.linear(`${weights}.query`, x), heads));
    let k = hear(`${path}.k`, split(this.linear(`${weights}.key`, seen), kv_heads));
    const v = hear(`${path}.v`, split(this.linear(`${weights}.value`, seen), kv_heads));
    if (positions === "rope" && hasPositions) {
      q = hear(
        `${path}.q_rotated`,
        q.map((rows) => rows.map(turn)),
      );
      k = hear(
        `${path}.k_rotated`,
        k.map((rows) => rows.map(turn)),
      );
    }
    const shared = heads / kv_heads;
    const of = (h) => Math.floor(h / shared);
    const relative = positions === "relative" && hasPositions;
    const row = (t, s) => Math.min(max_distance, Math.max(-max_distance, s - t)) + max_distance;
    let scores = q.map((rows, h) => rows.map((one) => k[of(h)].map((other) => times(one, other))));
    if (relative) {
      const content = hear(`${path}.scores_content`, scores);
      const table = this.weights[`${weights}.dot_product.key_RK`];
      const place = hear(
        `${path}.scores_position`,
        q.map((rows) => rows.map((one, t) => seen.map((_, s) => times(one, table[row(t, s)])))),
      );
      scores = content.map((rows, h) => rows.map((values, t) => values.map((value, s) => value + place[h][t][s])));
    }
    scores = hear(`${path}.scores`, scores);
    let logits = scores.map((rows) => rows.map((values) => values.map((value) => value / d_k ** 0.5)));
    if (positions === "alibi" && hasPositions) {
      const bias = hear(
        `${path}.distance_bias`,
        ALIBI_SLOPES[heads].map((slope) =>
          x.map((_row, t) => seen.map((_, s) => (s > t ? slope * (t - s) : slope * (s - t)))),
        ),
      );
      logits = logits.map((rows, h) => rows.map((values, t) => values.map((value, s) => value + bias[h][t][s])));
    }
    const scaled = hear(
      `${path}.scaled`,
      logits.map((rows) =>
        rows.map((values, t) => values.map((value, s) => (hidesFuture && s > t ? -Infinity : value))),
      ),
    );
    const mixed = hear(
      `${path}.weights`,
      scaled.map((rows) =>
        rows.map((values) => {
          const most = Math.max(...values);
          const powers = values.map((value) => Math.exp(value - most));
          const sum = powers.reduce((a, b) => a + b);
          return powers.map((power) => power / sum);
        }),
      ),
    );
    const isOff = (h) => (this.headsOff[path] ?? []).includes(h);
    let z = mixed.map((rows, h) =>
      rows.map((values) =>
        Array.from({length: d_k}, (_, i) => values.reduce((sum, weight, s) => sum + weight * v[of(h)][s][i], 0)),
      ),
    );
    if (relative) {
      const content = hear(`${path}.z_content`, z);
      const table = this.weights[`${weights}.dot_product.value_RK`];
      const place = hear(
        `${path}.z_position`,
        mixed.map((rows) =>
          rows.map((values, t) =>
            Array.from({length: d_k}, (_, i) =>
              values.reduce((sum, weight, s) => sum + weight * table[row(t, s)][i], 0),
            ),
          ),
        ),
      );
      z = content.map((rows, h) => rows.map((values, t) => values.map((value, i) => value + place[h][t][i])));
    }
    z = hear(
      `${path}.z`,
      z.map((rows, h) => rows.map((values) => values.map((value) => (isOff(h) ? 0 : value)))),
    );
    return hear(
      `${path}.output`,
      this.linear(
        `${weights}.output`,
        x.map((_, t) => z.flatMap((rows) => rows[t])),
      ),
    );
  }
}

/** Beam search over the tiny model, with its record. */
function searchFor(model, source, {beam_size, alpha, penalty, limit}) {
  const divisor = (length) => (penalty === "gnmt" ? ((5 + length) / 6) ** alpha : length ** alpha);
  let live = [{tokens_so_far: [], total: 0, log_probs: []}];
  const steps = [];
  const results = [];
  let named = 0;
  for (let step = 1; live.length; step++) {
    const isLast = step === limit;
    const candidates = live
      .flatMap((hypothesis, parent) => {
        const rows = model.predict(source, [BOS, ...hypothesis.tokens_so_far]).log_probs;
        return rows[rows.length - 1].map((log_prob, id) => ({
          parent,
          id,
          log_prob,
          total: hypothesis.total + log_prob,
        }));
      })
      .filter(({id}) => id === EOS || id > 5)
      .sort((a, b) => b.total - a.total)
      .slice(0, 2 * beam_size)
      .map((one, rank) => ({
        ...one,
        score: one.total / divisor(step),
        rank,
        fate: "pruned",
        margin: null,
        becomes: null,
      }));
    const survivors = candidates.filter(({id}) => id !== EOS).slice(0, beam_size);
    const complete = candidates.filter((one) => one.rank < beam_size && (one.id === EOS || isLast));
    for (const one of complete) {
      const parent = live[one.parent];
      const log_probs = [...parent.log_probs, one.log_prob];
      const score = log_probs.reduce((a, b) => a + b, 0) / divisor(step);
      results.push({
        candidate: one,
        ids: [...parent.tokens_so_far, one.id],
        log_probs,
        score,
        finished: one.id === EOS,
      });
    }
    const isDone = isLast || results.length >= beam_size;
    const worst = survivors[survivors.length - 1];
    for (const one of candidates) {
      if (one.id === EOS) one.fate = complete.includes(one) ? "finished" : "dropped";
      else if (!survivors.includes(one)) one.margin = worst.total - one.total;
      else if (isDone) one.fate = "stopped";
      else Object.assign(one, {fate: "kept", becomes: survivors.indexOf(one)});
    }
    const facts = live.map(({tokens_so_far, total}) => ({hypothesis: named++, tokens_so_far, total}));
    steps.push({step, live: facts, candidates});
    if (isDone) break;
    live = survivors.map((one) => ({
      tokens_so_far: [...live[one.parent].tokens_so_far, one.id],
      total: one.total,
      log_probs: [...live[one.parent].log_probs, one.log_prob],
    }));
  }
  results.sort((a, b) => b.score - a.score);
  results.forEach((result, index) => {
    result.candidate.becomes = index;
    result.returned = index === 0;
    delete result.candidate;
  });
  return {kind: "beam", beam_size, top_beams: 1, alpha, penalty, steps, results};
}

function turn(vector, position) {
  const half = vector.length / 2;
  return vector.map((_, i) => {
    const pair = i % half;
    const a = position / 10000 ** (pair / half);
    const [left, right] = [vector[pair], vector[pair + half]];
    return i < half ? left * Math.cos(a) - right * Math.sin(a) : right * Math.cos(a) + left * Math.sin(a);
  });
}

/** x · Φ(x), with Φ by Simpson's rule: slow, and nothing like the page's series. */
function gelu(x) {
  const steps = 2000;
  const h = x / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) sum += (i === 0 || i === steps ? 1 : i % 2 ? 4 : 2) * Math.exp(-((i * h) ** 2) / 2);
  return x * (0.5 + (sum * h) / 3 / Math.sqrt(2 * Math.PI));
}

function times(a, b) {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}

function round(value) {
  return Array.isArray(value) ? value.map(round) : Math.fround(value);
}

function flatten(value) {
  return Array.isArray(value) ? value.flatMap(flatten) : [value];
}

function mapValues(table, change) {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value)]));
}

function shapeOf(value) {
  return Array.isArray(value) ? [value.length, ...shapeOf(value[0])] : [];
}

/** Nested arrays as the trace holds them. */
export function encode(value) {
  return {shape: shapeOf(value), data: Buffer.from(Float32Array.from(flatten(value)).buffer).toString("base64")};
}

/** The same array with one number changed. */
export function alter(encoded, place, change) {
  const bytes = Buffer.from(encoded.data, "base64");
  const numbers = new Float32Array(new Uint8Array(bytes).buffer);
  numbers[place] = change(numbers[place], numbers);
  return {shape: encoded.shape, data: Buffer.from(numbers.buffer).toString("base64")};
}
