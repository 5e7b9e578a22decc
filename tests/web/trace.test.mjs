import assert from "node:assert/strict";
import test from "node:test";

import {alter, encode, makeTrace} from "./make_trace.mjs";
import {decodeArray} from "../../src/vitrail/web/tensor.js";
import {MissingNumbers, readTrace} from "../../src/vitrail/web/trace.js";
import {verifyNow} from "../../src/vitrail/web/verify.js";

test("an array comes back as it was, -inf included", () => {
  const values = [
    [
      [1.5, -0],
      [0.1, -Infinity],
    ],
    [
      [3e38, 1e-40],
      [7, 8],
    ],
  ];
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
  assert.throws(
    () => trace.array("logits"),
    (error) => /8 bytes/.test(error.what) && error.where === "arrays.logits",
  );
});

test("what is not a trace, or a newer one, is refused", () => {
  for (const given of ["{", "[]", "null", JSON.stringify({format: "other"})]) {
    assert.throws(() => readTrace(given), {name: "Error"});
  }
  assert.throws(
    () => readTrace({...makeTrace(), version: 2}),
    (error) => error.fix === "upgrade vitrail",
  );
  const damaged = makeTrace();
  delete damaged.search;
  assert.throws(
    () => readTrace(damaged),
    (error) => error.where === "search",
  );
});

test("a name that is not there is refused, even one that every object has", () => {
  const trace = readTrace(makeTrace());
  assert.throws(() => trace.array("encoder.9.output"));
  assert.equal(trace.has("constructor"), false);
  assert.equal(trace.weight("toString"), null);
});

test("every head finds its kv head, and every kv head serves as many", () => {
  const trace = readTrace(makeTrace({heads: 4, kv_heads: 2}));
  assert.deepEqual(
    [0, 1, 2, 3].map((head) => trace.kvHead(head)),
    [0, 0, 1, 1],
  );
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

/** A trace that holds the inside of one layer only, as a long sentence's does. */
function lightTrace(changes = {}) {
  const document = {...makeTrace(changes), id: "t1", inside_of: ["encoder.0"]};
  const isKept = (name) =>
    !/^(encoder|decoder)\.\d+\./.test(name) ||
    name.startsWith("encoder.0.") ||
    /(_attention\.weights|^\w+\.\d+\.output)$/.test(name);
  const leftOut = Object.fromEntries(Object.entries(document.arrays).filter(([name]) => !isKept(name)));
  document.arrays = Object.fromEntries(Object.entries(document.arrays).filter(([name]) => isKept(name)));
  return {document, leftOut};
}

test("numbers that were left out are named by their layer, others are just not there", () => {
  const trace = readTrace(lightTrace().document);
  const isMissing = (name, part) =>
    assert.throws(
      () => trace.array(name),
      (error) => error instanceof MissingNumbers && error.part === part,
    );
  isMissing("encoder.1.self_attention.q", "encoder.1");
  isMissing("decoder.0.add_norm_1.sum", "decoder.0");
  for (const name of ["encoder.0.self_attention.nothing", "encoder.9.self_attention.q", "nothing"]) {
    assert.throws(
      () => trace.array(name),
      (error) => !(error instanceof MissingNumbers),
      name,
    );
  }
  assert.deepEqual(
    trace.everyLayer().filter((layer) => trace.hasInside(layer)),
    ["encoder.0"],
  );
  assert.ok(trace.array("encoder.1.self_attention.weights").size > 0);
  assert.ok(readTrace(makeTrace()).hasInside("decoder.1"), "without the list everything is there");
});

test("the inside of a layer that arrives later takes its place in the order, even if it repeats other numbers", () => {
  for (const norm of ["post", "pre"]) {
    const whole = readTrace(makeTrace({norm}));
    const {document, leftOut} = lightTrace({norm});
    const trace = readTrace(document);
    for (const layer of ["decoder.1", "encoder.1", "decoder.0"]) {
      const arrays = Object.fromEntries(Object.entries(leftOut).filter(([name]) => name.startsWith(`${layer}.`)));
      const last = Object.keys(arrays).findLast((name) => /add_norm_\d\.output$/.test(name));
      arrays[last] = {shape: arrays[last].shape, same: `${layer}.output`};
      trace.addInside(layer, arrays);
      assert.ok(trace.hasInside(layer));
    }
    assert.deepEqual(trace.names().toSorted(), whole.names().toSorted());
    const layers = trace
      .names()
      .map((name) => trace.layerOf(name))
      .filter(Boolean);
    assert.deepEqual(
      layers.filter((layer, index) => layer !== layers[index - 1]),
      whole.everyLayer(),
    );
    for (const name of whole.names()) assert.deepEqual(trace.array(name).data, whole.array(name).data, name);
  }
});

test("the proof counts what is there, and finds what is wrong in it", () => {
  const {document} = lightTrace();
  delete document.arrays.logits;
  const later = readTrace({...document, arrays: {...document.arrays}});
  later.addInside("output", {logits: makeTrace().arrays.logits});
  assert.deepEqual(later.names().slice(-2), ["logits", "log_probs"]);
  const report = verifyNow(readTrace(document));
  const whole = verifyNow(readTrace(makeTrace()));
  assert.deepEqual(report.failures, []);
  assert.ok(report.finished && report.checked <= report.total && report.total < whole.total);
  assert.ok(report.unchecked.includes("encoder.1.self_attention.weights") && report.unchecked.includes("log_probs"));
  assert.ok(!report.unchecked.includes("encoder.0.self_attention.weights"));
  const name = "encoder.0.self_attention.z";
  document.arrays[name] = alter(document.arrays[name], 3, (value) => value + 1);
  assert.ok(verifyNow(readTrace(document)).failures.some((failure) => failure.name === name));
});
