// What a model predicts when it is fed a given translation word by word (teacher forcing).
//
// The translation is the trace's reference, the model's own, or one of the probes of training (docs/trace.md). Probes
// may have the log-probabilities of only some ids, and the logarithm of the total of the others.

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {{tokens: string[], ids: number[], smoothing: number, logProbs: Tensor, columns: number[] | null,
 *   rest: ArrayLike<number> | null, vocabulary: number}} ForcedParts
 * @typedef {{
 *   source: string, reference: string, to: string | null, seen: string | null, hasReference: boolean}} ProbeSentence
 * @typedef {{step: number, translation: string, forced: Forced}} ProbeRecord
 */

/** Predictions at every position of one given translation. */
export class Forced {
  /** @param {ForcedParts} parts */
  constructor({tokens, ids, smoothing, logProbs, columns, rest, vocabulary}) {
    this.tokens = tokens;
    this.ids = ids;
    /** ε, what label smoothing takes from the correct word */
    this.smoothing = smoothing;
    this.vocabulary = vocabulary;
    this.logProbs = logProbs;
    this.rests = rest;
    this.columns = columns;
    /** @type {Map<number, number> | null} */
    this.places = columns && new Map(columns.map((id, place) => [id, place]));
  }

  /** How many positions there are. */
  get length() {
    return Math.min(this.ids.length, this.logProbs.shape[0]);
  }

  /**
   * The log-probability of a word, or null if it was not kept.
   * @param {number} position
   * @param {number} id
   */
  logProb(position, id) {
    const place = this.places ? this.places.get(id) : id;
    return place === undefined ? null : this.logProbs.at(position, place);
  }

  /**
   * The total probability of the words that were not kept.
   * @param {number} position
   */
  rest(position) {
    return this.rests ? Math.exp(this.rests[position]) : 0;
  }

  /**
   * The ids of the most probable words that were kept.
   * @param {number} position
   * @param {number} most
   */
  best(position, most) {
    const row = this.logProbs.row(position);
    const order = Array.from(row, (_, place) => place).sort((a, b) => row[b] - row[a]);
    return order.slice(0, most).map((place) => (this.columns ? this.columns[place] : place));
  }

  /** The mean over positions of −log p of the correct word: the loss without smoothing. */
  loss() {
    let sum = 0;
    for (let t = 0; t < this.length; t++) sum -= this.logProb(t, this.ids[t]) ?? Math.log(this.rest(t));
    return sum / this.length;
  }
}

/**
 * The trace's reference translation, or null.
 * @param {Trace} trace
 */
export function forcedReference(trace) {
  const arrays = trace.referenceArrays();
  if (!trace.reference || !arrays) return null;
  const {tokens, ids, label_smoothing} = trace.reference;
  return whole(trace, tokens, ids, label_smoothing ?? 0, arrays.log_probs);
}

/**
 * The model's own translation, as if it were the correct one.
 * @param {Trace} trace
 */
export function forcedTranslation(trace) {
  const smoothing = trace.probes?.label_smoothing ?? 0;
  return whole(trace, trace.target.tokens, trace.target.ids, smoothing, trace.array("log_probs"));
}

/**
 * @param {Trace} trace
 * @param {string[]} tokens
 * @param {number[]} ids
 * @param {number} smoothing
 * @param {Tensor} logProbs
 */
function whole(trace, tokens, ids, smoothing, logProbs) {
  return new Forced({tokens, ids, smoothing, logProbs, columns: null, rest: null, vocabulary: trace.vocabulary.length});
}

/**
 * The sentences that training watched; none if the trace has no readable probes.
 * @param {Trace} trace
 * @returns {ProbeSentence[]}
 */
export function probeSentences(trace) {
  const {probes} = trace;
  if (!Array.isArray(probes?.sentences) || !Array.isArray(probes?.records) || !probes.records.length) return [];
  return probes.sentences.map((/** @type {any} */ one) => ({
    source: String(one?.source?.text ?? ""),
    reference: String(one?.reference?.text ?? ""),
    to: one?.to ?? null,
    seen: one?.seen ?? (one?.source?.text === trace.source.text ? trace.seen : null),
    hasReference: Boolean(one?.reference),
  }));
}

/**
 * The predictions for one of them at each record of training, in order.
 * @param {Trace} trace
 * @param {number} sentence
 * @returns {ProbeRecord[]}
 */
export function probeRecords(trace, sentence) {
  const asked = trace.probes.sentences[sentence];
  /** @type {ProbeRecord[]} */
  const records = [];
  for (const [number, record] of trace.probes.records.entries()) {
    const said = record?.sentences?.[sentence];
    if (!said?.log_probs) continue;
    const where = `probes.records.${number}.sentences.${sentence}`;
    const ids = asked.reference?.ids ?? said.ids ?? [];
    const rest =
      said.rest && !Array.isArray(said.rest) ? trace.decode(`${where}.rest`, said.rest).data : (said.rest ?? null);
    records.push({
      step: Number(record.step),
      translation: String(said.translation ?? ""),
      forced: new Forced({
        tokens: ids.map((/** @type {number} */ id) => trace.vocabulary[id] ?? `#${id}`),
        ids,
        smoothing: Number(trace.probes.label_smoothing ?? 0),
        logProbs: trace.decode(`${where}.log_probs`, said.log_probs),
        columns: said.columns ?? null,
        rest,
        vocabulary: trace.vocabulary.length,
      }),
    });
  }
  return records;
}

/**
 * The record at which the correct word of a position is closest to a probability of 1/2, where there is most to see.
 * @param {ProbeRecord[]} records
 * @param {number} position
 */
export function halfWay(records, position) {
  const distances = records.map(({forced}) => {
    const place = Math.min(position, forced.length - 1);
    return Math.abs(Math.exp(forced.logProb(place, forced.ids[place]) ?? -Infinity) - 0.5);
  });
  return distances.indexOf(Math.min(...distances));
}
