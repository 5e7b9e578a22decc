// Where traces come from: the page itself, the model in it, or the studio that serves it.
//
// The studio's API, JSON in and out; requests carry the token of the page's address as X-Vitrail-Token:
//   GET  api/models   -> {models: [{name, languages: [...], trained?, example?: {text, to}}]}; trained is false for a
//                     run that has not saved a model yet
//   POST api/trace    {model, text, to, decode: {beam_size, …}, prefix, heads_off, reference} -> a trace
//   POST api/inside   {trace: its id, layer: "encoder.0"} -> {arrays: {name: {shape, data}}}: what the trace left out
//   POST api/weights  {model, layer: "encoder.0"} -> {weights: {name: {shape, data}}}
//   GET  api/run?model=…&since=…  -> {stamp, changed, seconds_quiet, run, probes, max_steps}: how a run is going; only
//                     the first three if nothing changed since that stamp
//   an error          {error: {what, where, fix}}

import {EngineSource} from "./engine/engine_source.js";
import {decompressed, fromBase64} from "./engine/unpack.js";
import {LoadingBar} from "./shell/loading.js";
import {Problem} from "./problem.js";
import {SiteFiles} from "./site_files.js";
import {readTrace} from "./trace.js";

/**
 * @typedef {import("./request.js").TraceRequest} TraceRequest
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {{
 *   name: string, languages: string[], trained?: boolean,
 *   example?: Partial<TraceRequest> & {text: string, to: string | null},
 *   examples?: {text: string, to: string | null}[]}} ModelEntry
 *   example: opened at once; examples: to choose from on the start page
 * @typedef {FileSource | EngineSource | StudioSource} Source
 */

/** A page that contains its trace: there is nobody to ask. */
export class FileSource {
  /** @param {string} text */
  constructor(text) {
    this.canTranslate = /** @type {const} */ (false);
    this.text = text;
  }

  /** The trace in the page. */
  read() {
    return readTrace(this.text);
  }
}

/** The studio: any sentence, any what-if. */
export class StudioSource {
  /**
   * @param {string} token
   * @param {typeof fetch} [ask]
   */
  constructor(token, ask = fetch.bind(globalThis)) {
    this.canTranslate = /** @type {const} */ (true);
    this.token = token;
    this.ask = ask;
  }

  /** @returns {Promise<ModelEntry[]>} */
  async models() {
    const answer = await this.call("api/models");
    return answer.models;
  }

  /**
   * @param {TraceRequest} request
   * @returns {Promise<Trace>}
   */
  async trace(request) {
    return readTrace(await this.call("api/trace", request));
  }

  /**
   * @param {string} model
   * @param {string} layer
   * @returns {Promise<Record<string, import("./trace.js").EncodedArray>>}
   */
  async weights(model, layer) {
    const answer = await this.call("api/weights", {model, layer});
    return answer.weights;
  }

  /**
   * What a layer computed, which the trace left out.
   * @param {string} trace its id
   * @param {string} layer
   * @returns {Promise<Record<string, import("./trace.js").EncodedArray>>}
   */
  async inside(trace, layer) {
    const answer = await this.call("api/inside", {trace, layer});
    return answer.arrays;
  }

  /**
   * How a model's training is going. Pass the stamp of the last answer to get only what changed since.
   * @param {string} model
   * @param {string} [since]
   * @returns {Promise<{stamp: string, changed: boolean, seconds_quiet: number | null, run?: any, probes?: any,
   *   max_steps?: number | null}>}
   */
  async run(model, since = "") {
    return this.call(`api/run?${new URLSearchParams({model, since})}`);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async call(path, body) {
    /** @type {Record<string, string>} */
    const headers = {"X-Vitrail-Token": this.token};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
      const method = body === undefined ? "GET" : "POST";
      answer = await this.ask(path, {method, headers, body: body === undefined ? undefined : JSON.stringify(body)});
    } catch {
      throw new Problem("the studio does not answer", {where: path, fix: "is `vitrail studio` still running?"});
    }
    let content;
    try {
      content = await answer.json();
    } catch {
      throw new Problem(`the studio answered with status ${answer.status} and no JSON`, {where: path});
    }
    if (!answer.ok || content.error) {
      const error = content.error ?? {};
      throw new Problem(String(error.what ?? `the studio refused the request (status ${answer.status})`), {
        where: error.where ? String(error.where) : "",
        fix: error.fix ? String(error.fix) : "",
      });
    }
    return content;
  }
}

/**
 * The source that this page has.
 * @param {Document} page
 * @returns {Source}
 */
export function openSource(page) {
  const held = (/** @type {string} */ id) => page.getElementById(id)?.textContent ?? null;
  const [recorded, code, model, site] = ["trace", "engine", "model", "site"].map((name) => held(`vitrail-${name}`));
  if (site !== null && code !== null) {
    const {models} = JSON.parse(site);
    const files = new SiteFiles(models, (address) => fetch(address), new LoadingBar(page));
    return new EngineSource({code, entries: models, file: (name) => files.file(name), recorded: null});
  }
  if (recorded !== null && code !== null && model !== null) {
    const {name, languages} = readTrace(recorded).model;
    const file = () => decompressed(fromBase64(model));
    return new EngineSource({code, entries: [{name, languages}], file, recorded});
  }
  if (recorded !== null) return new FileSource(recorded);
  return new StudioSource(new URLSearchParams(page.location.search).get("token") ?? "");
}
