// A trace against the model in the page, which computes everything again from the weights and the sentence.

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("./tally.js").Tally} Tally
 * @typedef {import("../engine/oracle.js").Oracle} Oracle
 */

/**
 * The source's tokens follow from its text, and the translation's text from its tokens.
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {Oracle} oracle
 */
export function checkWords(trace, tally, oracle) {
  const {target} = oracle.recorder.tokenizers;
  const {source, target: translation} = trace;
  tally.report.total += source.ids.length + translation.tokens.length;
  tally.report.checked += source.ids.length + translation.tokens.length;
  if (String(oracle.source) !== String(source.ids)) tally.fail("source.ids", ", not the tokens of its text", Infinity);
  const tokens = translation.ids.map((id) => target.tokens[id]);
  if (String(tokens) !== String(translation.tokens)) tally.fail("target.tokens", "", Infinity);
  if (oracle.recorder.textOf(translation.ids) !== translation.text) tally.fail("target.text", "", Infinity);
}

/**
 * Every recorded array, row by row.
 * @param {Trace} trace
 * @param {Tally} tally
 * @param {Oracle} oracle
 */
export function* compareArrays(trace, tally, oracle) {
  const computed = oracle.arrays();
  // What does not follow from other numbers of the trace, because it leaves those out, follows from the weights.
  const unchecked = new Set(tally.report.unchecked);
  tally.report.unchecked = [];
  yield tally.report;
  for (const name of trace.names()) {
    const found = computed.get(name);
    const recorded = trace.array(name);
    if (!found || String(found.shape) !== String(recorded.shape)) {
      tally.fail(name, ", which the model does not compute", Infinity);
      continue;
    }
    const isNew = unchecked.has(name);
    const width = recorded.shape[recorded.shape.length - 1];
    for (let place = 0; place < recorded.size; place += width) {
      const [a, b] = [recorded, found].map(({data}) => data.subarray(place, place + width));
      if (isNew) tally.compare(name, ", from the weights", a, b);
      else tally.compareAgain(name, ", from the weights", a, b);
    }
    yield tally.report;
  }
}
