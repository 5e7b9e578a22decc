// The model's arithmetic in float64: the page checks the trace with it, and views explain it.

/** @typedef {ArrayLike<number>} Numbers */

const NORM_EPSILON = 1e-5; // torch.nn.LayerNorm's

/**
 * q·k.
 * @param {Numbers} a
 * @param {Numbers} b
 */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * The sum of two vectors.
 * @param {Numbers} a
 * @param {Numbers} b
 */
export function plus(a, b) {
  const sum = new Float64Array(a.length);
  for (let i = 0; i < sum.length; i++) sum[i] = a[i] + b[i];
  return sum;
}

/**
 * Softmax over a vector in which -inf marks hidden positions; a temperature flattens (above 1) or sharpens it.
 * @param {Numbers} values
 * @param {number} [temperature]
 */
export function softmax(values, temperature = 1) {
  const most = largest(values);
  const result = new Float64Array(values.length);
  if (most === -Infinity) return result; // nothing is visible: all weights are 0
  let sum = 0;
  for (let i = 0; i < result.length; i++) sum += result[i] = Math.exp((values[i] - most) / temperature);
  for (let i = 0; i < result.length; i++) result[i] /= sum;
  return result;
}

/**
 * The logarithm of the sum of exponentials: what the logarithm of softmax subtracts.
 * @param {Numbers} values
 */
export function logSumExp(values) {
  const most = largest(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.exp(values[i] - most);
  return most + Math.log(sum);
}

/**
 * The logarithm of softmax.
 * @param {Numbers} values
 */
export function logSoftmax(values) {
  const shift = logSumExp(values);
  const result = new Float64Array(values.length);
  for (let i = 0; i < result.length; i++) result[i] = values[i] - shift;
  return result;
}

/**
 * Several vectors, each times its weight, summed: weights × v.
 * @param {Numbers} weights
 * @param {(index: number) => Numbers} vector
 * @param {number} width
 */
export function mix(weights, vector, width) {
  const sum = new Float64Array(width);
  for (let j = 0; j < weights.length; j++) {
    const weight = weights[j];
    if (weight === 0) continue;
    const values = vector(j);
    for (let i = 0; i < width; i++) sum[i] += weight * values[i];
  }
  return sum;
}

/**
 * A layer norm: mean 0, variance 1, then gain and bias.
 * @param {Numbers} values
 * @param {Numbers} gain
 * @param {Numbers | null} bias
 */
export function layerNorm(values, gain, bias) {
  const {mean, variance} = moments(values);
  const divisor = Math.sqrt(variance + NORM_EPSILON);
  const result = new Float64Array(values.length);
  for (let i = 0; i < result.length; i++) {
    result[i] = ((values[i] - mean) / divisor) * gain[i] + (bias ? bias[i] : 0);
  }
  return result;
}

/**
 * A vector's mean and variance.
 * @param {Numbers} values
 */
export function moments(values) {
  let mean = 0;
  for (let i = 0; i < values.length; i++) mean += values[i] / values.length;
  let variance = 0;
  for (let i = 0; i < values.length; i++) variance += (values[i] - mean) ** 2 / values.length;
  return {mean, variance};
}

/**
 * The activations of the feed-forward network: the same list as the model's (a test holds them equal).
 * @type {Readonly<Record<string, (x: number) => number>>}
 */
export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * The error function: its Taylor series near zero, where that is short; its continued fraction beyond.
 * @param {number} x
 * @returns {number}
 */
export function erf(x) {
  if (x < 0) return -erf(-x);
  if (x > 6) return 1;
  if (x < 3) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = x;
  for (let n = 60; n > 0; n--) fraction = x + n / 2 / fraction;
  return 1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
}

/**
 * Position × 10000^(-i / steps): the angles that sinusoids and rotations are made of.
 * @param {number} position
 * @param {number} index
 * @param {number} steps
 */
export function angle(position, index, steps) {
  return position * 10000 ** (-index / steps);
}

/**
 * A query or key rotated for its position: number i is rotated together with number i + width/2.
 * @param {Numbers} vector
 * @param {number} position
 */
export function rotate(vector, position) {
  const half = vector.length / 2;
  const turned = new Float64Array(vector.length);
  for (let i = 0; i < half; i++) {
    const turn = angle(position, i, half);
    turned[i] = vector[i] * Math.cos(turn) - vector[i + half] * Math.sin(turn);
    turned[i + half] = vector[i + half] * Math.cos(turn) + vector[i] * Math.sin(turn);
  }
  return turned;
}

/**
 * How fast the scores of a head fall. If the number of heads is a power of two, the slopes are a geometric sequence
 * that ends at 2^-8. Any other number has those of the next smaller power, then every other one of twice that power.
 * @param {number} head
 * @param {number} heads
 */
export function slopeOf(head, heads) {
  const power = 2 ** Math.floor(Math.log2(heads));
  return head < power ? 2 ** ((-8 * (head + 1)) / power) : 2 ** ((-8 * (head - power + 0.5)) / power);
}

/**
 * What a sum of log-probabilities is divided by, so that long translations are not at a disadvantage.
 * @param {number} length every generated token, <eos> included
 * @param {"length" | "gnmt"} penalty
 * @param {number} alpha
 */
export function lengthPenalty(length, penalty, alpha) {
  return penalty === "gnmt" ? ((5 + length) / 6) ** alpha : Math.max(length, 1) ** alpha;
}

/** @param {Numbers} values */
function largest(values) {
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}
