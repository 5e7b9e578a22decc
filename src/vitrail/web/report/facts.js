// A report: how good a model is on a test set, and every sentence of it. `explain/report.py` writes it.

/**
 * @typedef {[string, boolean][]} Parts a text in parts, each with whether the other text has it too
 * @typedef {"untranslated" | "dropped" | "added" | "repeated" | "copied"} MistakeKind
 * @typedef {{kind: MistakeKind, words: string[]}} Mistake
 * @typedef {{
 *   token: string, log_prob: number, rank: number, best: string, best_log_prob: number,
 *   is_live: boolean}} ReferenceStep
 * @typedef {{
 *   kind: "right" | "search" | "model" | "unknown", unknown: string[], found: string, score: number | null,
 *   reference_score: number | null, left: number | null, fate: string | null, margin: number | null,
 *   steps: ReferenceStep[]}} Cause
 * @typedef {{text: string, score: number, mistakes: Mistake[], parts: Parts}} Judged
 * @typedef {{
 *   line: number, source: string, reference: string, parts: Parts, judged: Judged[], cause: Cause | null,
 *   page: string | null}} Sentence
 * @typedef {{score: number, mean: number | null, interval: number | null, p_value: number | null}} Measured
 * @typedef {{
 *   vitrail: string, systems: string[], judge: string, lines: number, causes: number, beam_size: number,
 *   metrics: {name: string, signature: string, higher_is_better: boolean, systems: Measured[]}[],
 *   sentences: Sentence[]}} Report
 * @typedef {"worst" | "best" | "file" | "lost" | "won"} Order
 */

/** What the kinds of mistakes and causes are called, in the order in which they are offered. */
export const NAMES = {
  untranslated: "not translated",
  dropped: "dropped words",
  added: "added words",
  repeated: "repeated",
  copied: "left in the source's language",
  search: "search error",
  model: "model error",
  unknown: "words it cannot write",
};

/** How sentences can be sorted; the last two only beside another system. */
export const ORDERS = {
  worst: "worst first",
  best: "best first",
  file: "as in the file",
  lost: "lost most against the other",
  won: "won most against the other",
};

/**
 * What can be said of a sentence: the kinds of its mistakes, and of their cause.
 * @param {Sentence} sentence
 * @returns {string[]}
 */
export function kindsOf(sentence) {
  const cause = sentence.cause && sentence.cause.kind !== "right" ? [sentence.cause.kind] : [];
  return [...sentence.judged[0].mistakes.map((mistake) => mistake.kind), ...cause];
}

/**
 * How many sentences there are of each kind.
 * @param {Sentence[]} sentences
 */
export function countKinds(sentences) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const sentence of sentences) {
    for (const kind of new Set(kindsOf(sentence))) found.set(kind, (found.get(kind) ?? 0) + 1);
  }
  return found;
}

/**
 * The sentences of a kind (all of them: ""), in an order.
 * @param {Sentence[]} sentences
 * @param {string} kind
 * @param {Order} order
 */
export function chosenSentences(sentences, kind, order) {
  const chosen = kind ? sentences.filter((sentence) => kindsOf(sentence).includes(kind)) : [...sentences];
  /** @type {(sentence: Sentence) => number} */
  const key = (sentence) => {
    const [own, other] = sentence.judged;
    if (order === "file") return sentence.line;
    if (order === "best") return -own.score;
    if (order === "lost") return own.score - other.score;
    if (order === "won") return other.score - own.score;
    return own.score;
  };
  return chosen.sort((one, other) => key(one) - key(other) || one.line - other.line);
}

/**
 * How many sentences have a score in each tenth of the range from 0 to 100.
 * @param {Sentence[]} sentences
 * @param {number} system
 */
export function tenths(sentences, system) {
  /** @type {number[]} */
  const found = Array.from({length: 10}, () => 0);
  for (const sentence of sentences) found[Math.min(9, Math.floor(sentence.judged[system].score / 10))]++;
  return found;
}
