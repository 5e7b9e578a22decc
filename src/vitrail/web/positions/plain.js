// What a kind of position is to the page; and attention without positions, which every kind starts from.
//
// A kind is one object, listed in kinds.js. It says everything that the page knows of it; no other file asks for its
// name:
//
//     export const rotaryPositions = {
//       ...PLAIN,                              // whatever it does not change
//       name: "rope",                          // in the model's settings
//       say: {positions(context) { … }},       // what views say about it, by view id
//       draw(context, layout, y) { … },        // how view 5 draws it; gives the lower edge
//       describe(context) { … },               // the same in words, for screen readers
//       …                                      // what it does to queries, scores and values, and how that is checked
//     };
//
// Positions count in self-attention only: encoder-decoder attention is PLAIN in every model.

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../views/attention_parts.js").AttentionParts} AttentionParts
 * @typedef {import("../verify/recompute.js").Recomputation} Recomputation
 * @typedef {import("../verify/recorded_attention.js").RecordedAttention} RecordedAttention
 * @typedef {import("./sinusoids.js").Layout} Layout
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {Generator<Recomputation | null, void, void>} Steps
 */

/**
 * @typedef {{
 *   name: string, layout: Layout | null, say: Says, draw: (context: ViewContext, layout: Layout, y: number) => number,
 *   describe: (context: ViewContext) => string, meeting: {q: string, k: string}, placed: Placed | null,
 *   scoreParts: (parts: AttentionParts) => ScorePart[], bias: Bias | null,
 *   moreValues: (parts: AttentionParts) => MoreValues[], check: Check}} PositionKind
 *   layout: which table of sines and cosines it adds, if any; meeting: the names of the queries and keys whose dot
 *   products are the scores; placed: what was done to them, unless they are q and k themselves; scoreParts: what a
 *   score is the sum of; bias: what is added to a score after it is divided by √d_k; moreValues: what z contains
 *   besides the weighted values
 */

/**
 * @typedef {{
 *   positions?: (context: ViewContext) => void,
 *   [view: string]: ((context: ViewContext, parts: AttentionParts) => void) | undefined}} Says
 *   "positions" is view 5; the others are the views of attention: "query-key-value", "score", "softmax",
 *   "weighted-values", "matrices"
 */

/**
 * @typedef {{
 *   word: string, sign: string, note: (token: number) => string,
 *   tell: (before: Numbers, index: number) => string}} Placed
 *   word: "rotated"; sign: before the result in an equation; note: below it; tell: the tooltip of number `index`
 */

/**
 * @typedef {{
 *   title: string, array: string, letter: string, heading: (key: number) => string,
 *   vector: (key: number) => Numbers | null, missing: string}} ScorePart
 *   array: its name in the trace; vector: what the query is multiplied with for this key, null if the file lacks it;
 *   heading: that product in words; missing: what to say if the file lacks it
 */

/**
 * @typedef {{title: string, of: (trace: Trace, head: number, query: number, key: number) => number}} Bias
 *   title: follows "÷ √d_k" on the page
 * @typedef {{name: string, values: Numbers}} MoreValues
 */

/**
 * @typedef {{
 *   added: ((trace: Trace, side: "source" | "target") => ((row: number) => Numbers) | null) | null,
 *   placed: (trace: Trace, path: string) => Steps, scores: (attention: RecordedAttention) => Steps,
 *   z: (attention: RecordedAttention) => Steps}} Check
 *   how its arrays follow from others. added: the vectors added to the embeddings; null for a kind that adds none, and
 *   it gives null if the file does not hold them. placed, scores, z: the arrays of self-attention from q and k to z
 */

/** @type {PositionKind} */
export const PLAIN = {
  name: "none",
  layout: null,
  say: {},
  draw: (_context, _layout, y) => y,
  describe: () => "",
  meeting: {q: "q", k: "k"},
  placed: null,
  scoreParts: (parts) => [queryTimesKey(parts, "score", "scores")],
  bias: null,
  moreValues: () => [],
  check: {
    added: null,
    *placed() {},
    *scores(attention) {
      yield attention.products("scores", attention.key);
    },
    *z(attention) {
      yield attention.mixtures("z", attention.value, {isZ: true});
    },
  },
};

/**
 * The query times each key, as a part of the score.
 * @param {AttentionParts} parts
 * @param {string} title
 * @param {string} array
 * @returns {ScorePart}
 */
export function queryTimesKey(parts, title, array) {
  const asking = parts.queryTokens[parts.token];
  return {
    title,
    array,
    letter: "k",
    heading: (key) => `q “${asking}” · k “${parts.keyTokens[key]}”`,
    vector: (key) => parts.vector(parts.positions.meeting.k, key),
    missing: "",
  };
}
