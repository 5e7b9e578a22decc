// Where a token looks, averaged over the heads of an attention.

/**
 * The mean of the heads' weights.
 * @param {import("../trace.js").Trace} trace
 * @param {string} attention "decoder.0.cross_attention"
 * @param {number} token the one that looks
 */
export function meanWeights(trace, attention, token) {
  const weights = trace.array(`${attention}.weights`);
  const [heads, , keys] = weights.shape;
  const mean = new Float64Array(keys);
  for (let head = 0; head < heads; head++) {
    const row = weights.row(head, token);
    for (let key = 0; key < keys; key++) mean[key] += row[key] / heads;
  }
  return mean;
}
