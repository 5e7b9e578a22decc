// A page that has the model in it: whatever the studio can do, it does without one.

import {Problem} from "../problem.js";
import {readTrace} from "../trace.js";
import {Engine} from "./engine.js";

/**
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 * @typedef {import("../source.js").ModelEntry} ModelEntry
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../verify.js").Report} Report
 * @typedef {import("../tensor.js").EncodedArray} EncodedArray
 * @typedef {{
 *   code: string, entries: ModelEntry[], file: (name: string) => Promise<ArrayBuffer>, recorded: string | null}} Held
 *   code: of the worker; entries: the models to choose from; file: a model's file; recorded: a trace that the page
 *   holds, as JSON
 */

/** The models in the page, or beside it. */
export class EngineSource {
  /** @param {Held} held */
  constructor({code, entries, file, recorded}) {
    this.canTranslate = /** @type {const} */ (true);
    this.code = code;
    this.entries = entries;
    this.file = file;
    this.recordedText = recorded;
    this.recorded = recorded === null ? null : readTrace(recorded);
    if (this.recorded) this.recorded.id = "recorded"; // what it leaves out can be computed
    /** @type {WeakMap<Trace, number>} what the worker calls the traces that it made */
    this.numbers = new WeakMap();
    /** @type {Map<string, Promise<Engine>>} */
    this.engines = new Map();
  }

  /** @returns {Promise<ModelEntry[]>} */
  async models() {
    const {recorded} = this;
    if (!recorded) return this.entries;
    const {heads_off, prefix} = recorded.whatIf;
    const example = {text: recorded.source.text, to: this.languageOf(recorded), heads_off, prefix};
    return this.entries.map((entry) => ({
      ...entry,
      example: {...example, reference: recorded.reference?.text ?? ""},
    }));
  }

  /**
   * @param {TraceRequest} request
   * @returns {Promise<Trace>}
   */
  async trace(request) {
    const {recorded} = this;
    if (recorded && this.isRecorded(request)) {
      this.engine(request.model).catch(() => {}); // it opens while the reader looks; a problem shows when it is needed
      return recorded;
    }
    const engine = await this.engine(request.model);
    const {number, document} = await engine.ask({kind: "trace", request});
    if (recorded && recorded.model.name === document.model.name) {
      document.probes = recorded.probes;
      document.run = recorded.facts.run;
    }
    const trace = readTrace(document);
    this.numbers.set(trace, number);
    return trace;
  }

  /**
   * @param {string} model
   * @param {string} layer
   * @returns {Promise<Record<string, EncodedArray>>}
   */
  async weights(model, layer) {
    return (await this.engine(model)).ask({kind: "weights", layer});
  }

  /**
   * What a layer computed, which the recorded trace leaves out.
   * @param {string} _id
   * @param {string} layer
   * @returns {Promise<Record<string, EncodedArray>>}
   */
  async inside(_id, layer) {
    const {recorded} = this;
    if (!recorded) throw new Problem("this page holds no recorded translation");
    const {source, target, whatIf} = recorded;
    const facts = {source: source.ids, target: target.ids, heads_off: whatIf.heads_off};
    return (await this.engine(this.entries[0].name)).ask({kind: "inside", layer, facts});
  }

  /**
   * The translation's chances without each word of its source.
   * @param {string} model
   * @param {Trace} trace
   */
  async leftOut(model, {source, target, whatIf}) {
    const facts = {source: source.ids, words: source.words, target: target.ids, heads_off: whatIf.heads_off};
    return (await this.engine(model)).ask({kind: "left out", facts});
  }

  /**
   * Compute every number of a trace again, from the weights. Gives a way to stop.
   * @param {Trace} trace
   * @param {string} model
   * @param {{progress: (report: Report) => void, fail: (thrown: unknown) => void}} tell
   */
  check(trace, model, {progress, fail}) {
    let isStopped = false;
    const heard = (/** @type {Report} */ report) => {
      if (!isStopped) progress(report);
    };
    const what = this.numbers.get(trace) ?? this.recordedText ?? "";
    this.engine(model)
      .then((engine) => engine.ask({kind: "check", trace: what}, {progress: heard}))
      .then(heard)
      .catch((thrown) => {
        if (!isStopped) fail(thrown);
      });
    return () => {
      isStopped = true;
    };
  }

  /**
   * A model, opened once.
   * @param {string} name
   * @returns {Promise<Engine>}
   */
  engine(name) {
    const known = this.engines.get(name);
    if (known) return known;
    const opening = this.open(name);
    this.engines.set(name, opening);
    opening.catch(() => this.engines.delete(name)); // the next question tries again
    return opening;
  }

  /** @param {string} name */
  async open(name) {
    if (!this.entries.some((entry) => entry.name === name)) {
      throw new Problem(`this page has no model '${name}'`, {
        fix: `it has ${this.entries.map((entry) => entry.name).join(", ")}`,
      });
    }
    const file = await this.file(name);
    const engine = new Engine(this.code);
    await engine.ask({kind: "open", file}, {transfer: [file]});
    return engine;
  }

  /** Whether a request asks for just what the page holds. @param {TraceRequest} request */
  isRecorded({model, text, to, decode, prefix, heads_off, reference}) {
    const {recorded} = this;
    if (!recorded || model !== this.entries[0].name) return false;
    const {whatIf, settings} = recorded;
    const sameHeads = JSON.stringify(sortedHeads(heads_off)) === JSON.stringify(sortedHeads(whatIf.heads_off));
    return (
      sameHeads &&
      text === recorded.source.text &&
      to === this.languageOf(recorded) &&
      prefix === whatIf.prefix &&
      reference === (recorded.reference?.text ?? "") &&
      Object.entries(decode).every(([name, value]) => settings[name] === value)
    );
  }

  /** The language that was asked for, if the model has several. @param {Trace} trace */
  languageOf({model, to}) {
    return model.languages.length ? to : null;
  }
}

/** @param {Record<string, number[]>} heads */
function sortedHeads(heads) {
  return Object.entries(heads)
    .filter(([, numbers]) => numbers.length)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
