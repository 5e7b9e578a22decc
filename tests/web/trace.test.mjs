import assert from "node:assert/strict";
import test from "node:test";

import {encode, makeTrace} from "./make_trace.mjs";
import {decodeArray, readTrace} from "../../src/vitrail/web/trace.js";

test("an array comes back as it was, -inf included", () => {
  const values = [[[1.5, -0], [0.1, -Infinity]], [[3e38, 1e-40], [7, 8]]];
  const tensor = decodeArray(encode(values), "here");
  assert.deepEqual([...tensor.shape], [2, 2, 2]);
  values.forEach((rows, i) =>
    rows.forEach((row, j) =>
      row.forEach((value, k) => {
        assert.equal(tensor.at(i, j, k), Math.fround(value));
        assert.equal(tensor.row(i, j)[k], Math.fround(value));
        assert.equal(tensor.row(i)[j * 2 + k], Math.fround(value));
      }),
    ),
  );
});

test("an array whose bytes do not fit its shape is refused with its name", () => {
  const trace = readTrace({...makeTrace(), arrays: {logits: {shape: [3, 3], data: encode([1, 2]).data}}});
  assert.throws(() => trace.array("logits"), (error) => /8 bytes/.test(error.what) && error.where === "arrays.logits");
});

test("what is not a trace, or a newer one, is refused", () => {
  for (const given of ["{", "[]", "null", JSON.stringify({format: "other"})]) assert.throws(() => readTrace(given), {name: "Error"});
  assert.throws(() => readTrace({...makeTrace(), version: 2}), (error) => error.fix === "upgrade vitrail");
  const damaged = makeTrace();
  delete damaged.search;
  assert.throws(() => readTrace(damaged), (error) => error.where === "search");
});

test("a name that is not there is refused, even one that every object has", () => {
  const trace = readTrace(makeTrace());
  assert.throws(() => trace.array("encoder.9.output"));
  assert.equal(trace.has("constructor"), false);
  assert.equal(trace.weight("toString"), null);
});

test("every head finds its kv head, and every kv head serves as many", () => {
  const trace = readTrace(makeTrace({heads: 4, kv_heads: 2}));
  assert.deepEqual([0, 1, 2, 3].map((head) => trace.kvHead(head)), [0, 0, 1, 1]);
});

test("the names of inputs are names of the trace, for both norms", () => {
  for (const norm of ["post", "pre"]) {
    const trace = readTrace(makeTrace({norm}));
    for (const stack of ["encoder", "decoder"]) {
      for (let layer = 0; layer < trace.layers(stack); layer++) {
        trace.sublayers(stack).forEach((_, index) => {
          assert.ok(trace.has(trace.residual(stack, layer, index + 1)));
          assert.ok(trace.has(trace.sublayerInput(stack, layer, index + 1)));
        });
      }
    }
  }
});

test("weights that arrive later are there", () => {
  const whole = makeTrace();
  const trace = readTrace(makeTrace({without_weights: true}));
  assert.equal(trace.hasWeights("encoder.0"), false);
  trace.addWeights(whole.weights);
  assert.equal(trace.hasWeights("encoder.0"), true);
});
