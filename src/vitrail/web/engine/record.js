// One translation with everything that led to it, as the trace format describes it (docs/trace.md). trace/record.py.

import {Problem} from "../problem.js";
import {beamSearch} from "./beam.js";
import {lensOf} from "./lens.js";
import {checkPrefix, lengthLimit} from "./limits.js";
import {sample} from "./sampling.js";
import {SearchRecord} from "./search_record.js";
import {searchSettingsOf} from "./settings.js";
import {isTranslatable} from "./spaces.js";
import {EOS, inputOf} from "./special.js";
import {refuseUnknown, Tokenizers} from "./tokenizers.js";
import {Parts, Transformer} from "./transformer.js";

/**
 * @typedef {import("../trace.js").TraceDocument} TraceDocument
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 * @typedef {import("../tensor.js").EncodedArray} EncodedArray
 * @typedef {import("./model_file.js").ModelFile} ModelFile
 */

const MOST_TOKENS = 256; // of a sentence: a trace grows with the square of its length
const ATTENTION = /^(encoder|decoder)\.(\d+)\.(self|cross)_attention$/;

/** A model and its vocabulary, ready to translate and to tell how. */
export class Recorder {
  /**
   * @param {ModelFile} file
   * @param {import("./products.js").Products} products
   */
  constructor({sheet, weights}, products) {
    this.sheet = sheet;
    this.weights = weights;
    this.products = products;
    this.tokenizers = new Tokenizers(sheet);
  }

  /**
   * The model, with some heads switched off.
   * @param {Record<string, number[]>} [headsOff]
   */
  model(headsOff = {}) {
    const {config} = this.sheet.model;
    checkHeads(headsOff, config);
    return new Transformer(new Parts(config, this.weights, this.products, headsOff));
  }

  /**
   * Translate a sentence and record every step.
   * @param {Omit<TraceRequest, "model">} request
   * @returns {TraceDocument}
   */
  record({text, to, decode, prefix, heads_off, reference}) {
    const {sheet, tokenizers} = this;
    const model = this.model(heads_off);
    const settings = searchSettingsOf(sheet.decode, decode);
    const source = this.sourceRow(text, to, model.maxPositions);
    const {arrays, tap} = listener();
    const memory = model.encode(source, tap);
    const {search, target} = this.search(model, source, settings, prefix, memory);
    const input = inputOf(target);
    model.logProbs(source, input, tap, memory);
    const compared = reference ? this.compare(model, source, reference) : null;
    return {
      ...{format: "vitrail-trace", version: 1, vitrail: sheet.vitrail, model: sheet.model},
      source: {
        ...{text, ids: source, tokens: source.map((id) => tokenizers.source.tokens[id])},
        words: tokenizers.wordNumbers(tokenizers.source, source),
      },
      target: {text: this.textOf(target), ...this.side(target)},
      to: to ?? sheet.target_language,
      settings,
      what_if: {heads_off, prefix},
      vocabulary: tokenizers.target.tokens,
      arrays,
      weights: this.parameters((name) => /norm/.test(name)),
      weights_of: [],
      embeddings: {source: rowsOf(model.table("source"), source), target: rowsOf(model.table("target"), input)},
      search,
      reference: compared,
      ...{probes: sheet.probes, run: sheet.run, seen: null},
      lens: lensOf(model, arrays, target), // and `left_out` if someone asks: it takes longer than all the rest
      habits: sheet.habits[to ?? sheet.target_language ?? ""] ?? sheet.habits[""] ?? null,
    };
  }

  /**
   * Search for a translation, and tell how.
   * @param {Transformer} model
   * @param {number[]} source
   * @param {Record<string, any>} settings
   * @param {string} prefix
   * @param {Float32Array} [memory] the encoder's output, if the source has been read
   */
  search(model, source, settings, prefix, memory) {
    const {target: vocabulary, forbidden} = this.tokenizers;
    refuseUnknown(vocabulary, prefix, "the first words");
    /** @type {import("./limits.js").SearchRequest} */
    const request = {
      ...{source, memory, forbidden, prefix: vocabulary.encode(prefix)},
      ...{penalty: settings.penalty, alpha: settings.alpha},
      ...{beamSize: settings.beam_size, topBeams: settings.top_beams, temperature: settings.temperature},
      ...{topK: settings.top_k, topP: settings.top_p, seed: BigInt(settings.seed)},
      limit: lengthLimit(source, settings.max_extra, model.maxPositions),
    };
    checkPrefix(request);
    const record = new SearchRecord(request);
    const returned = settings.sample ? sample(model, request, record) : beamSearch(model, request, record);
    const search = record.finish(returned, {
      kind: settings.sample ? "sample" : "beam",
      tokens: (ids) => ids.map((id) => vocabulary.tokens[id]),
      text: (ids) => vocabulary.decode(ids),
    });
    return {search, target: returned[0].ids};
  }

  /**
   * Parameters by their names.
   * @param {(name: string) => boolean} isWanted
   * @param {boolean} [isCopy] whether to send them away; else they are the model's own
   */
  parameters(isWanted, isCopy = true) {
    /** @type {Record<string, EncodedArray>} */
    const found = {};
    for (const [name, {shape, data}] of this.weights) {
      if (isWanted(name)) found[name] = {shape, values: isCopy ? data.slice() : data};
    }
    return found;
  }

  /**
   * @param {string} text
   * @param {string | null} to
   * @param {number | null} maxPositions
   */
  sourceRow(text, to, maxPositions) {
    const {source} = this.tokenizers;
    if (!isTranslatable(text)) {
      throw new Problem("there is nothing to translate", {where: "the sentence", fix: "give at least one word"});
    }
    refuseUnknown(source, text, "the sentence");
    const row = this.tokenizers.encodeSource(text, to);
    const most = Math.min(MOST_TOKENS, maxPositions ?? Infinity);
    if (row.length > most) {
      throw new Problem(`the sentence has ${row.length} tokens; this page can show at most ${most}`, {
        where: "the sentence",
        fix: "shorten it",
      });
    }
    return row;
  }

  /**
   * The model's predictions when its decoder is fed a reference translation.
   * @param {Transformer} model
   * @param {number[]} source
   * @param {string} reference
   */
  compare(model, source, reference) {
    refuseUnknown(this.tokenizers.target, reference, "the reference");
    const all = this.tokenizers.encodeTarget(reference);
    const most = Math.min(MOST_TOKENS, model.maxPositions ?? Infinity);
    const row = all.length > most ? [...all.slice(0, most - 1), EOS] : all;
    const heard = listen(model, source, inputOf(row));
    return {
      ...{text: reference, ...this.side(row), label_smoothing: this.sheet.label_smoothing},
      ...{logits: heard.logits, log_probs: heard.log_probs},
    };
  }

  /** @param {number[]} ids of a target row */
  side(ids) {
    const {target} = this.tokenizers;
    const input = inputOf(ids);
    return {
      ids,
      tokens: ids.map((id) => target.tokens[id]),
      words: this.tokenizers.wordNumbers(target, ids),
      input_ids: input,
      input_tokens: input.map((id) => target.tokens[id]),
    };
  }

  /** @param {number[]} row */
  textOf(row) {
    return this.tokenizers.target.decode(row[row.length - 1] === EOS ? row.slice(0, -1) : row);
  }
}

/**
 * Feed the decoder a given target, and keep the value of every tap.
 * @param {Transformer} model
 * @param {number[]} source
 * @param {number[]} input
 */
export function listen(model, source, input) {
  const {arrays, tap} = listener();
  model.logProbs(source, input, tap);
  return arrays;
}

/** A tap that keeps what it hears. */
function listener() {
  /** @type {Record<string, EncodedArray>} */
  const arrays = {};
  /** @type {import("./attention.js").Tap} */
  const tap = (name, shape, values) => {
    arrays[name] = {shape, values};
  };
  return {arrays, tap};
}

/**
 * @param {import("../tensor.js").Tensor} table
 * @param {number[]} ids
 */
function rowsOf(table, ids) {
  const chosen = [...new Set(ids)].sort((a, b) => a - b);
  const values = new Float32Array(chosen.length * table.shape[1]);
  chosen.forEach((id, row) => values.set(table.row(id), row * table.shape[1]));
  return {ids: chosen, rows: {shape: [chosen.length, table.shape[1]], values}};
}

/**
 * @param {Record<string, number[]>} headsOff
 * @param {import("../trace.js").ModelConfig} config
 */
function checkHeads(headsOff, config) {
  for (const [name, heads] of Object.entries(headsOff)) {
    const [, stack, layer, kind] = ATTENTION.exec(name) ?? [];
    const layers = stack === "encoder" ? config.encoder_layers : config.decoder_layers;
    if (!stack || Number(layer) >= layers || (stack === "encoder" && kind === "cross")) {
      throw new Problem(`this model has no attention '${name}'`, {where: "heads_off"});
    }
    for (const head of heads) {
      if (Number.isInteger(head) && head >= 0 && head < config.heads) continue;
      throw new Problem(`'${name}' has no head ${head}`, {
        where: "heads_off",
        fix: `its heads are 0 to ${config.heads - 1}`,
      });
    }
  }
}
