// The record of a search for the trace: every candidate of every step, and its fate. trace/search.py.

import {lengthPenalty} from "../arithmetic.js";
import {bestOf, extended, hypothesisOf, ranked} from "./beam.js";
import {EOS} from "./special.js";

/**
 * @typedef {import("../trace.js").Candidate} Candidate
 * @typedef {import("../trace.js").Search} Search
 * @typedef {import("./limits.js").SearchRequest} SearchRequest
 * @typedef {import("./limits.js").Hypothesis} Hypothesis
 */

const ALTERNATIVES = 8; // most probable ids to record besides the drawn one

/** Listens to a search, and is its `search` in the trace. */
export class SearchRecord {
  /** @param {SearchRequest} request */
  constructor(request) {
    this.request = request;
    /** @type {import("../trace.js").SearchStep[]} */
    this.steps = [];
    /** @type {Hypothesis[]} */
    this.complete = []; // in the order of completion
    this.numbered = 0; // partial hypotheses numbered so far
  }

  /** @type {import("./beam.js").BeamListener["searched"]} */
  searched(step, live, candidates, {setAside, survivors}, isDone) {
    const worstKept = survivors.length ? candidates[survivors[survivors.length - 1]].total : NaN;
    const facts = candidates.map((candidate, rank) => {
      const fact = this.fact(step, rank, candidate);
      if (setAside.has(rank)) {
        fact.becomes = this.complete.length;
        this.complete.push(hypothesisOf(extended(live, candidate), this.request));
      }
      if (candidate.id === EOS) fact.fate = setAside.has(rank) ? "finished" : "dropped";
      else if (!survivors.includes(rank)) {
        fact.fate = "pruned";
        fact.margin = worstKept - candidate.total;
      } else if (isDone) fact.fate = "stopped";
      else {
        fact.fate = "kept";
        fact.becomes = survivors.indexOf(rank);
      }
      return fact;
    });
    this.write(step, live, facts);
  }

  /** @type {import("./sampling.js").DrawListener["drew"]} */
  drew(step, going, drawn) {
    const sums = going.map(({logProbs}) => logProbs.reduce((total, value) => total + value, 0));
    const still = going.filter((_, index) => drawn[index].id !== EOS);
    const facts = drawn.flatMap(({id, logProbs, chances}, parent) => {
      const {draw} = going[parent];
      const order = bestOf(chances, chances.length);
      return order.flatMap((other, rank) => {
        if ((rank >= ALTERNATIVES && other !== id) || chances[other] === 0) return [];
        const logProb = logProbs[other];
        const fact = this.fact(step, rank, {parent, id: other, logProb, total: sums[parent] + logProb});
        fact.chance = chances[other];
        fact.draw = draw;
        fact.fate = other !== id ? "dropped" : id === EOS ? "finished" : "kept";
        if (other === id) fact.becomes = id === EOS ? draw : still.indexOf(going[parent]);
        return [fact];
      });
    });
    this.write(
      step,
      going.map(({ids}, index) => ({ids, total: sums[index]})),
      facts,
    );
  }

  /**
   * The whole search as the trace holds it.
   * @param {Hypothesis[]} returned
   * @param {{kind: "beam" | "sample", tokens: (ids: number[]) => string[], text: (ids: number[]) => string}} how
   * @returns {Search}
   */
  finish(returned, {kind, tokens, text}) {
    const isDrawn = kind === "sample";
    if (isDrawn) this.stopDraws();
    const results = isDrawn ? returned : ranked(this.complete);
    const {beamSize, topBeams, alpha, penalty} = this.request;
    for (const fact of isDrawn ? [] : this.steps.flatMap(({candidates}) => candidates)) {
      if (fact.becomes === null || fact.fate === "kept") continue;
      fact.becomes = results.indexOf(this.complete[fact.becomes]);
    }
    return {
      ...{kind, beam_size: beamSize, top_beams: topBeams, alpha, penalty, steps: this.steps},
      results: results.map(({ids, logProbs, score, finished}, place) => ({
        ids,
        tokens: tokens(ids),
        text: text(finished ? ids.slice(0, -1) : ids),
        log_probs: logProbs,
        score,
        finished,
        returned: place < returned.length,
      })),
    };
  }

  /** Draws that were still growing in the last step hit the length limit. They are results too. */
  stopDraws() {
    for (const fact of this.steps[this.steps.length - 1].candidates) {
      if (fact.fate !== "kept") continue;
      fact.fate = "stopped";
      fact.becomes = fact.draw ?? null;
    }
  }

  /**
   * @param {number} step
   * @param {number} rank
   * @param {import("./beam.js").Continuation} candidate
   * @returns {Candidate}
   */
  fact(step, rank, {parent, id, logProb, total}) {
    const {penalty, alpha} = this.request;
    return {
      ...{parent, id, log_prob: logProb, total, score: total / lengthPenalty(step, penalty, alpha), rank},
      ...{fate: "dropped", margin: null, becomes: null},
    };
  }

  /**
   * @param {number} step
   * @param {{ids: number[], total: number}[]} live
   * @param {Candidate[]} candidates
   */
  write(step, live, candidates) {
    const facts = live.map(({ids, total}) => ({hypothesis: this.numbered++, tokens_so_far: [...ids], total}));
    this.steps.push({step, live: facts, candidates});
  }
}
