import assert from "node:assert/strict";
import test from "node:test";

import {
  ACTIVATIONS,
  erf,
  layerNorm,
  lengthPenalty,
  logSoftmax,
  mix,
  moments,
  softmax,
} from "../../src/vitrail/web/arithmetic.js";
import {randomNumbers} from "./make_trace.mjs";

const random = randomNumbers(1);
const vector = (length, size = 1) => Array.from({length}, () => size * random());
const near = (a, b, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} ${b}`);

test("softmax sums to one, keeps the order, and does not mind a shift or large numbers", () => {
  const values = vector(9, 10);
  const shares = softmax(values);
  near(
    shares.reduce((a, b) => a + b),
    1,
  );
  const shifted = softmax(values.map((value) => value + 1000));
  shares.forEach((share, i) => near(share, shifted[i], 1e-9));
  assert.equal(shares.indexOf(Math.max(...shares)), values.indexOf(Math.max(...values)));
});

test("softmax gives hidden positions exactly nothing, and a row that sees nothing weighs nothing", () => {
  assert.equal(softmax([1, -Infinity, 2])[1], 0);
  assert.deepEqual([...softmax([-Infinity, -Infinity])], [0, 0]);
});

test("a high temperature flattens, a low one sharpens", () => {
  const values = [1, 2, 3];
  assert.ok(softmax(values, 5)[2] < softmax(values)[2]);
  assert.ok(softmax(values, 0.2)[2] > softmax(values)[2]);
});

test("log-softmax is the logarithm of softmax", () => {
  const values = vector(7, 5);
  const shares = softmax(values);
  logSoftmax(values).forEach((value, i) => near(Math.exp(value), shares[i], 1e-12));
});

test("a layer norm with gain one has mean 0 and variance 1", () => {
  const values = vector(64, 30);
  const {mean, variance} = moments(layerNorm(values, new Array(64).fill(1), null));
  near(mean, 0);
  near(variance, 1, 1e-6);
});

test("the error function: odd, its derivative the bell curve, seamless where its two formulas meet", () => {
  assert.equal(erf(0), 0);
  for (const x of [0.1, 0.5, 1, 2, 2.9999, 3.0001, 4, 5.5]) {
    near(erf(-x), -erf(x));
    const h = 1e-5;
    near((erf(x + h) - erf(x - h)) / (2 * h), (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x), 1e-8);
  }
  near(erf(3 - 1e-12), erf(3 + 1e-12), 1e-11);
});

test("activations", () => {
  const {relu, gelu, silu} = ACTIVATIONS;
  assert.equal(relu(-1), 0);
  assert.equal(relu(2), 2);
  for (const x of vector(5, 3)) {
    near(gelu(x) - gelu(-x), x); // x Φ(x) + x Φ(-x) = x
    near(silu(x) - silu(-x), x);
  }
});

test("weights of one pick a vector out", () => {
  const rows = [vector(4), vector(4), vector(4)];
  assert.deepEqual([...mix([0, 1, 0], (i) => rows[i], 4)], rows[1]);
});

test("length penalties", () => {
  assert.equal(lengthPenalty(7, "length", 1), 7);
  assert.equal(lengthPenalty(7, "length", 0), 1);
  near(lengthPenalty(7, "gnmt", 0.6), 2 ** 0.6);
});
