// What the worker does when it is asked: open a model, translate, hand out weights, check a trace.
//
// A question is {id, kind, …}, an answer {id, answer} or {id, problem}; a check also sends {id, progress}.

import {asProblem, Problem} from "../problem.js";
import {readTrace} from "../trace.js";
import {verification} from "../verify.js";
import {leftOutOf} from "./lens.js";
import {readModelFile} from "./model_file.js";
import {Oracle} from "./oracle.js";
import {openProducts} from "./products.js";
import {listen, Recorder} from "./record.js";
import {inputOf} from "./special.js";

/**
 * @typedef {import("../trace.js").TraceDocument} TraceDocument
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 * @typedef {{kind: "open", file: ArrayBuffer}
 *   | {kind: "trace", request: TraceRequest}
 *   | {kind: "weights", layer: string}
 *   | {kind: "inside", layer: string, facts: {source: number[], target: number[], heads_off: Record<string, number[]>}}
 *   | {kind: "left out", facts: {source: number[], words: number[], target: number[],
 *     heads_off: Record<string, number[]>}}
 *   | {kind: "check", trace: string | number}} Question
 *   trace: the one to check, as JSON or as the number that it was given
 * @typedef {{id: number, answer?: any, progress?: any, problem?: {what: string, where: string, fix: string}}} Answer
 */

const KEPT = 4; // traces that can still be checked: two are shown at once
const SLICE = 30; // milliseconds of checking between two looks at the questions

/** Answers questions about one model, one at a time. */
export class Desk {
  /** @param {(answer: Answer) => void} send */
  constructor(send) {
    this.send = send;
    /** @type {Recorder | null} */
    this.recorder = null;
    /** @type {Map<number, TraceDocument>} the traces made last, by the numbers of their questions */
    this.made = new Map();
    this.checking = 0; // the number of the check that goes on; a newer question ends it
  }

  /** @param {Question & {id: number}} question */
  ask(question) {
    const {id} = question;
    try {
      if (question.kind === "check") this.check(id, question.trace);
      else this.send({id, answer: this.answer(question)});
    } catch (thrown) {
      this.refuse(id, thrown);
    }
  }

  /** @param {Exclude<Question, {kind: "check"}> & {id: number}} question */
  answer(question) {
    if (question.kind === "open") {
      this.recorder = openRecorder(question.file);
      return this.recorder.sheet.model;
    }
    const recorder = this.opened();
    if (question.kind === "trace") {
      this.checking = 0;
      const document = recorder.record(question.request);
      this.made.set(question.id, document);
      for (const number of [...this.made.keys()].slice(0, -KEPT)) this.made.delete(number);
      return {number: question.id, document};
    }
    if (question.kind === "weights") return weightsOf(recorder, question.layer);
    if (question.kind === "left out") {
      const {source, words, target, heads_off} = question.facts;
      return leftOutOf(recorder.model(heads_off), source, words, target);
    }
    const {layer, facts} = question;
    const heard = listen(recorder.model(facts.heads_off), facts.source, inputOf(facts.target));
    const isInside = (/** @type {string} */ name) =>
      layer === "output" ? name === "logits" : name.startsWith(`${layer}.`);
    return Object.fromEntries(Object.entries(heard).filter(([name]) => isInside(name)));
  }

  /**
   * Check a trace in slices, so that other questions are answered in between.
   * @param {number} id
   * @param {string | number} what
   */
  check(id, what) {
    const recorder = this.opened();
    const trace = readTrace(typeof what === "string" ? what : shallowCopy(this.made.get(what)));
    for (const part of [...trace.everyLayer(), "output"]) trace.addWeights(weightsOf(recorder, part, false));
    trace.addWeights(recorder.parameters((name) => /^(embeddings|\w+_positions)\./.test(name), false));
    const work = verification(trace, new Oracle(recorder, trace));
    this.checking = id;
    const go = () => {
      if (this.checking !== id) return;
      try {
        const until = performance.now() + SLICE;
        let step = work.next();
        while (!step.done && performance.now() < until) step = work.next();
        this.send(step.done ? {id, answer: step.value} : {id, progress: step.value});
        if (!step.done) setTimeout(go, 0);
      } catch (thrown) {
        this.refuse(id, thrown);
      }
    };
    go();
  }

  opened() {
    if (!this.recorder) throw new Problem("the model is not open yet");
    return this.recorder;
  }

  /** @param {number} id @param {unknown} thrown */
  refuse(id, thrown) {
    const {what, where, fix} = asProblem(thrown);
    this.send({id, problem: {what, where, fix}});
  }
}

/**
 * A model's file, ready to translate.
 * @param {ArrayBuffer} file
 */
export function openRecorder(file) {
  /** @type {import("./products.js").Products | null} */
  let products = null;
  const read = readModelFile(file, (floats, shapes) => {
    const opened = openProducts(floats, shapes);
    products = opened;
    return (count) => opened.take(count);
  });
  if (!products) throw new Problem("the model in this page has no weights");
  return new Recorder(read, products);
}

/**
 * The parameters of a layer, or of the final linear layer.
 * @param {Recorder} recorder
 * @param {string} part "encoder.0" or "output"
 * @param {boolean} [isCopy]
 */
function weightsOf(recorder, part, isCopy = true) {
  const [stack, number] = part.split(".");
  const prefix = `${stack}.layers.${number}.`;
  const output = new Set([`embeddings.${recorder.model().tables.output}`, "output_bias"]);
  return recorder.parameters((name) => (part === "output" ? output.has(name) : name.startsWith(prefix)), isCopy);
}

/** A trace of its own to check, which shares the numbers. @param {TraceDocument | undefined} document */
function shallowCopy(document) {
  if (!document) throw new Problem("this translation is no longer here to check", {fix: "translate it again"});
  return {...document, arrays: {...document.arrays}, weights: {...document.weights}};
}
