// The page's side of the worker: questions become promises.

import {Problem} from "../problem.js";

/**
 * @typedef {import("./desk.js").Question} Question
 * @typedef {import("./desk.js").Answer} Answer
 * @typedef {{
 *   resolve: (answer: any) => void, reject: (thrown: unknown) => void, progress?: (value: any) => void}} Waiting
 */

const CANNOT = "this browser does not let a page compute in the background";

/** A model that is open in a worker of its own. */
export class Engine {
  /** @param {string} code the worker's script */
  constructor(code) {
    this.asked = 0;
    /** @type {Map<number, Waiting>} */
    this.waiting = new Map();
    // The page's policy allows no script by its address but those it has made itself.
    const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    this.worker = new Worker(address);
    this.worker.onmessage = ({data}) => this.heard(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      const problem = new Problem(event.message || CANNOT, {fix: "try another browser"});
      for (const {reject} of this.waiting.values()) reject(problem);
      this.waiting.clear();
    };
  }

  /**
   * @param {Question} question
   * @param {{progress?: (value: any) => void, transfer?: Transferable[]}} [how]
   * @returns {Promise<any>}
   */
  ask(question, {progress, transfer = []} = {}) {
    const id = ++this.asked;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject, progress});
      this.worker.postMessage({...question, id}, transfer);
    });
  }

  /** @param {Answer} heard */
  heard({id, answer, progress, problem}) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    if (progress !== undefined) {
      waiting.progress?.(progress);
      return;
    }
    this.waiting.delete(id);
    if (problem) waiting.reject(new Problem(problem.what, problem));
    else waiting.resolve(answer);
  }
}
