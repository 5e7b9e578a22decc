// The trace: everything recorded about one translation, by name. The format is docs/trace.md.

import {COPY_AGAIN, decodeArray} from "./tensor.js";
import {Problem} from "./problem.js";

const VERSION = 1;
const PRONOUNS = ["it", "il", "elle"]; // their meaning depends on another word of the sentence

/**
 * @typedef {"encoder" | "decoder"} Stack
 * @typedef {"self_attention" | "cross_attention"} Attention
 * @typedef {Attention | "feed_forward"} Sublayer
 * @typedef {import("./tensor.js").EncodedArray} EncodedArray
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {{
 *   preset: string, d_model: number, heads: number, kv_heads: number, d_k: number, d_ff: number,
 *   encoder_layers: number, decoder_layers: number, norm: "post" | "pre", positions: string, max_positions: number,
 *   max_distance: number, activation: string, bias: boolean, output_bias: boolean,
 *   embedding_scale: boolean, tie_embeddings: "all" | "target" | "none"}} ModelConfig
 * @typedef {{
 *   name: string, config: ModelConfig, languages: string[], source_vocabulary: number, target_vocabulary: number,
 *   parameters: {total: number, embeddings: number, parts: Record<string, number>}}} ModelFacts
 * @typedef {{text: string, ids: number[], tokens: string[], words: number[]}} Side
 * @typedef {Side & {input_ids: number[], input_tokens: string[]}} TargetSide
 * @typedef {"kept" | "finished" | "pruned" | "dropped" | "stopped"} Fate
 * @typedef {{
 *   parent: number, id: number, log_prob: number, total: number, score: number, rank: number, fate: Fate,
 *   margin: number | null, becomes: number | null, chance?: number, draw?: number}} Candidate
 * @typedef {{hypothesis: number, tokens_so_far: number[], total: number}} LiveHypothesis
 * @typedef {{step: number, live: LiveHypothesis[], candidates: Candidate[]}} SearchStep
 * @typedef {{
 *   ids: number[], tokens: string[], text: string, log_probs: number[], score: number, finished: boolean,
 *   returned: boolean}} SearchResult
 * @typedef {{
 *   kind: "beam" | "sample", beam_size: number, top_beams: number, alpha: number, penalty: "length" | "gnmt",
 *   steps: SearchStep[], results: SearchResult[]}} Search
 * @typedef {{
 *   text: string, ids: number[], tokens: string[], input_ids: number[], input_tokens: string[],
 *   label_smoothing: number, logits: EncodedArray, log_probs: EncodedArray}} Reference
 * @typedef {{
 *   format: string, version: number, vitrail: string, model: ModelFacts, source: Side, target: TargetSide,
 *   to: string | null, settings: Record<string, any>,
 *   what_if: {heads_off: Record<string, number[]>, prefix: string}, vocabulary: string[],
 *   id?: string, arrays: Record<string, EncodedArray>, inside_of?: string[],
 *   weights: Record<string, EncodedArray>, weights_of?: string[],
 *   embeddings?: Record<"source" | "target", {ids: number[], rows: EncodedArray}>,
 *   search: Search, reference: Reference | null, probes: any, run?: any,
 *   seen: "training" | "held out" | null,
 *   habits?: import("./habits.js").Habits | null, lens?: Record<string, EncodedLens>, left_out?: EncodedLeftOut | null,
 *   }} TraceDocument
 * @typedef {{ids: number[][], log_probs: EncodedArray, chosen: EncodedArray, rank: number[]}} EncodedLens
 * @typedef {{places: number[][], log_probs: EncodedArray, best: number[][]}} EncodedLeftOut
 */

/** Numbers that were left out of this trace to keep it small. */
export class MissingNumbers extends Problem {
  /** @param {string} part "encoder.3" */
  constructor(part) {
    super(`the numbers inside ${part} are not in this trace`, {where: part});
    this.part = part;
  }
}

/** One translation. Plain data are properties with their names in the format. */
export class Trace {
  /** @param {TraceDocument} facts */
  constructor(facts) {
    this.facts = facts;
    this.model = facts.model;
    this.config = facts.model.config;
    this.source = facts.source;
    this.target = facts.target;
    this.to = facts.to;
    this.settings = facts.settings;
    this.whatIf = facts.what_if;
    this.vocabulary = facts.vocabulary;
    this.search = facts.search;
    this.reference = facts.reference;
    this.probes = facts.probes;
    this.seen = facts.seen;
    this.habits = facts.habits ?? null;
    /** The studio's id of this trace, to ask for more of it. */
    this.id = facts.id ?? null;
    /** The layers with all their arrays; null: every layer. */
    this.insides = facts.inside_of ? new Set(facts.inside_of) : null;
    /** @type {Map<string, Tensor>} */
    this.decoded = new Map();
    /** @type {Record<string, EncodedArray>} */
    this.encodedWeights = {...facts.weights};
  }

  /** The names of all recorded arrays, in the order in which the model computed them. */
  names() {
    return Object.keys(this.facts.arrays);
  }

  /** @param {string} name */
  has(name) {
    return Object.hasOwn(this.facts.arrays, name);
  }

  /**
   * A recorded array: `array("encoder.0.self_attention.q")`.
   * @param {string} name
   */
  array(name) {
    if (!this.has(name)) {
      const part = this.layerOf(name);
      throw part && !this.hasInside(part) ? new MissingNumbers(part) : new Problem(`this trace has no array '${name}'`);
    }
    return this.decode(`arrays.${name}`, this.facts.arrays[name]);
  }

  /**
   * The layer that an array belongs to: "encoder.3" for "encoder.3.feed_forward.hidden"; null if it belongs to none.
   * @param {string} name
   */
  layerOf(name) {
    const [, part] = /^((?:encoder|decoder)\.\d+)\./.exec(name) ?? [];
    return part !== undefined && this.everyLayer().includes(part) ? part : null;
  }

  /** All layers: "encoder.0", … */
  everyLayer() {
    return /** @type {Stack[]} */ (["encoder", "decoder"]).flatMap((stack) =>
      Array.from({length: this.layers(stack)}, (_, layer) => `${stack}.${layer}`),
    );
  }

  /**
   * Whether everything a layer computed is here, or only its attention weights and its output.
   * @param {string} layer "encoder.3", or "output" for the logits
   */
  hasInside(layer) {
    return this.insides === null || this.insides.has(layer);
  }

  /**
   * Add what a layer computed, which arrived later, at its place in the model's order.
   * @param {string} layer "encoder.3", or "output" for the logits
   * @param {Record<string, EncodedArray>} arrays
   */
  addInside(layer, arrays) {
    const held = this.facts.arrays;
    const names = Object.keys(held);
    const place = names.findIndex((name) => (layer === "output" ? name === "log_probs" : this.layerOf(name) === layer));
    const order = [...names.slice(0, place), ...Object.keys(arrays), ...names.slice(place)];
    const whole = Object.fromEntries(order.map((name) => [name, held[name] ?? arrays[name]]));
    shareNumbers(whole);
    this.facts.arrays = whole;
    this.insides?.add(layer);
  }

  /**
   * A parameter by its name in the model; null if the file does not contain it.
   * @param {string} name
   */
  weight(name) {
    if (!Object.hasOwn(this.encodedWeights, name)) return null;
    return this.decode(`weights.${name}`, this.encodedWeights[name]);
  }

  /**
   * Whether the matrices of a layer ("encoder.0") are here.
   * @param {string} layer
   */
  hasWeights(layer) {
    const [stack, number] = layer.split(".");
    return Object.hasOwn(this.encodedWeights, `${stack}.layers.${number}.self_attention.query.weight`);
  }

  /**
   * Add parameters that arrived later.
   * @param {Record<string, EncodedArray>} weights
   */
  addWeights(weights) {
    Object.assign(this.encodedWeights, weights);
  }

  /**
   * The row of an embedding table for an id, not scaled; null if the file does not contain it.
   * @param {"source" | "target"} side
   * @param {number} id
   */
  embeddingRow(side, id) {
    const table = this.weight(this.config.tie_embeddings === "all" ? "embeddings.shared" : `embeddings.${side}`);
    if (table && id < table.shape[0]) return table.row(id);
    const held = this.facts.embeddings?.[side];
    const place = held ? held.ids.indexOf(id) : -1;
    return held && place >= 0 ? this.decode(`embeddings.${side}`, held.rows).row(place) : null;
  }

  /** The reference translation's own arrays. */
  referenceArrays() {
    if (!this.reference) return null;
    return {
      logits: this.decode("reference.logits", this.reference.logits),
      log_probs: this.decode("reference.log_probs", this.reference.log_probs),
    };
  }

  /**
   * @param {string} place
   * @param {EncodedArray} encoded
   */
  decode(place, encoded) {
    const known = this.decoded.get(place);
    if (known) return known;
    const tensor = decodeArray(encoded, place);
    this.decoded.set(place, tensor);
    return tensor;
  }

  /** @param {Stack} stack */
  layers(stack) {
    return stack === "encoder" ? this.config.encoder_layers : this.config.decoder_layers;
  }

  /**
   * The kv head that a head uses: one of its own, or one shared with its neighbours.
   * @param {number} head
   */
  kvHead(head) {
    return Math.floor(head / (this.config.heads / this.config.kv_heads));
  }

  /**
   * The tokens at a stack's positions: the source's, or those fed to the decoder.
   * @param {Stack} stack
   */
  tokens(stack) {
    return stack === "encoder" ? this.source.tokens : this.target.input_tokens;
  }

  /**
   * The token to show first: a pronoun, whose meaning depends on another word, or else the first word.
   * @param {Stack} stack
   */
  firstToken(stack) {
    const tokens = this.tokens(stack);
    const pronoun = tokens.findIndex((token) => PRONOUNS.includes(token.replace("▁", "").toLowerCase()));
    const isWord = stack === "encoder" ? this.source.words : [-1, ...this.target.words];
    return Math.max(0, pronoun >= 0 ? pronoun : isWord.findIndex((word) => word >= 0));
  }

  /** The decoding step at which the word that was chosen had the lowest probability. */
  leastSureStep() {
    const logProbs = this.array("log_probs");
    const chosen = this.target.ids.map((id, step) => logProbs.at(step, id));
    return Math.max(0, chosen.indexOf(Math.min(...chosen)));
  }

  /**
   * The tokens that an attention's keys and values belong to.
   * @param {Stack} stack
   * @param {Sublayer} attention
   */
  keyTokens(stack, attention) {
    return attention === "cross_attention" ? this.source.tokens : this.tokens(stack);
  }

  /**
   * The sub-layers of a stack, in order.
   * @param {Stack} stack
   * @returns {Sublayer[]}
   */
  sublayers(stack) {
    return stack === "encoder"
      ? ["self_attention", "feed_forward"]
      : ["self_attention", "cross_attention", "feed_forward"];
  }

  /**
   * The name of a layer's input: the output of the layer below, or the embedded words.
   * @param {Stack} stack
   * @param {number} layer
   */
  layerInput(stack, layer) {
    if (layer > 0) return `${stack}.${layer - 1}.output`;
    return stack === "encoder" ? "source.sum" : "target.sum";
  }

  /**
   * The name of x, which bypasses a sub-layer on the dotted line and is added to its output.
   * @param {Stack} stack
   * @param {number} layer
   * @param {number} number of the sub-layer, from 1 on
   */
  residual(stack, layer, number) {
    return number === 1 ? this.layerInput(stack, layer) : `${stack}.${layer}.add_norm_${number - 1}.output`;
  }

  /**
   * The name of a sub-layer's input: x or, with pre-norm, x normalized.
   * @param {Stack} stack
   * @param {number} layer
   * @param {number} number of the sub-layer, from 1 on
   */
  sublayerInput(stack, layer, number) {
    if (this.config.norm === "pre") return `${stack}.${layer}.add_norm_${number}.normed`;
    return this.residual(stack, layer, number);
  }

  /**
   * Whether a head was switched off.
   * @param {string} attention the sub-layer's name: "decoder.0.cross_attention"
   * @param {number} head
   */
  isOff(attention, head) {
    return (this.whatIf.heads_off[attention] ?? []).includes(head);
  }
}

/**
 * A trace from JSON text or from parsed JSON; anything else is refused.
 * @param {unknown} given
 * @returns {Trace}
 */
export function readTrace(given) {
  let facts = given;
  if (typeof given === "string") {
    try {
      facts = JSON.parse(given);
    } catch {
      throw new Problem("this trace is not JSON", {fix: COPY_AGAIN});
    }
  }
  if (!isObject(facts) || facts.format !== "vitrail-trace") {
    throw new Problem("this is not a trace made by vitrail", {fix: "use a file written by `trace.save`"});
  }
  if (typeof facts.version !== "number" || facts.version > VERSION) {
    throw new Problem(`this trace has version ${facts.version}; this page reads versions up to ${VERSION}`, {
      fix: "upgrade vitrail",
    });
  }
  for (const section of ["model", "source", "target", "settings", "what_if", "arrays", "weights", "search"]) {
    if (!isObject(facts[section])) {
      throw new Problem("the trace is damaged: an object is missing", {where: section, fix: COPY_AGAIN});
    }
  }
  const document = /** @type {TraceDocument} */ (/** @type {unknown} */ (facts));
  shareNumbers(document.arrays);
  return new Trace(document);
}

/**
 * If two arrays have the same numbers, the file contains them once: give the second the numbers of the first.
 * @param {Record<string, EncodedArray>} arrays
 */
function shareNumbers(arrays) {
  for (const [name, held] of Object.entries(arrays)) {
    if (held.same === undefined) continue;
    if (!Object.hasOwn(arrays, held.same) || arrays[held.same].data === undefined) {
      throw new Problem(`the numbers of '${held.same}' are missing`, {where: `arrays.${name}`, fix: COPY_AGAIN});
    }
    held.data = arrays[held.same].data;
  }
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
