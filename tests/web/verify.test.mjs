import assert from "node:assert/strict";
import test from "node:test";

import {alter, makeTrace, OPTIONS, randomNumbers} from "./make_trace.mjs";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {reportWords} from "../../src/vitrail/web/shell/badge.js";
import {rowDifference, TOLERANCE} from "../../src/vitrail/web/verify/tally.js";
import {verifyNow} from "../../src/vitrail/web/verify.js";

/** One model of every kind. */
const KINDS = [
  ...OPTIONS.positions.flatMap((positions) => OPTIONS.norm.map((norm) => ({positions, norm}))),
  {activation: "gelu", bias: false},
  {activation: "silu", output_bias: true, embedding_scale: false},
  {tie_embeddings: "target", heads: 2, kv_heads: 1, d_k: 6},
  {tie_embeddings: "none", encoder_layers: 1, decoder_layers: 3},
  {heads_off: {"decoder.0.cross_attention": [0, 3], "encoder.1.self_attention": [2]}},
  {heads_off: {"encoder.0.self_attention": [1]}, positions: "relative"},
  {positions: "alibi", heads: 3, kv_heads: 1},
  {beam_size: 1},
  {beam_size: 3, seed: 2},
];

for (const [index, kind] of KINDS.entries()) {
  test(`everything that follows is checked and adds up: ${JSON.stringify(kind)}`, () => {
    const document = makeTrace({seed: 22 + index, ...kind});
    const report = verifyNow(readTrace(document));
    assert.deepEqual(report.failures, []);
    assert.ok(report.finished && report.checked > 1000 && report.checked <= report.total);
    assert.ok(report.largest < 1e-5);
    // With all weights in the file, only what has no recorded operands stays unchecked.
    assert.deepEqual(report.unchecked, ["reference.logits"]);
  });
}

test("without weight matrices the weighted steps are counted but not claimed", () => {
  const whole = verifyNow(readTrace(makeTrace()));
  const report = verifyNow(readTrace(makeTrace({without_weights: true})));
  assert.deepEqual(report.failures, []);
  assert.equal(report.total, whole.total);
  assert.ok(report.checked < whole.checked);
  for (const name of ["encoder.0.self_attention.q", "decoder.1.feed_forward.hidden", "logits"]) {
    assert.ok(report.unchecked.includes(name), name);
  }
  for (const name of [
    "source.embedding",
    "encoder.0.self_attention.scores",
    "encoder.0.add_norm_1.output",
    "log_probs",
  ]) {
    assert.ok(!report.unchecked.includes(name), name);
  }
});

test("one altered number in any array is found in that array, whatever the model", () => {
  const random = randomNumbers(5);
  for (const kind of [
    {},
    {norm: "pre", positions: "rope"},
    {positions: "relative"},
    {positions: "alibi"},
    {positions: "learned", norm: "pre"},
  ]) {
    const document = makeTrace({encoder_layers: 1, decoder_layers: 1, ...kind});
    for (const [name, encoded] of Object.entries(document.arrays)) {
      const size = encoded.shape.reduce((a, b) => a * b, 1);
      const place = Math.floor((random() / 3 + 0.5) * size) % size;
      const change = (value, all) => {
        const most = Math.max(...all.filter(Number.isFinite).map(Math.abs));
        return Number.isFinite(value) ? value + 0.01 * most : 0; // what was hidden is seen
      };
      const altered = {...document, arrays: {...document.arrays, [name]: alter(encoded, place, change)}};
      const {failures} = verifyNow(readTrace(altered));
      assert.ok(
        failures.some((failure) => failure.name === name),
        `${JSON.stringify(kind)} ${name}`,
      );
    }
  }
});

test("a number that is no number, or infinite, or hidden where it should be seen, is found", () => {
  const document = makeTrace();
  for (const wrong of [NaN, Infinity, -Infinity]) {
    for (const name of ["encoder.0.self_attention.scaled", "logits", "log_probs", "decoder.output"]) {
      const altered = {...document, arrays: {...document.arrays, [name]: alter(document.arrays[name], 0, () => wrong)}};
      assert.ok(verifyNow(readTrace(altered)).failures.length > 0, `${name} ${wrong}`);
    }
  }
});

test("one altered weight is found", () => {
  const document = makeTrace({
    positions: "relative",
    output_bias: true,
    activation: "silu",
    encoder_layers: 1,
    decoder_layers: 1,
  });
  for (const [name, encoded] of Object.entries(document.weights)) {
    // A row of the embeddings that no token uses still scores words.
    const altered = {...document, weights: {...document.weights, [name]: alter(encoded, 0, (value) => value + 1)}};
    const {failures} = verifyNow(readTrace(altered));
    // A distance that no pair of words has leaves no trace.
    if (failures.length === 0) assert.match(name, /_RK$/);
  }
});

test("one altered number of the search is found", () => {
  const names = new Set();
  for (const beam_size of [1, 3]) {
    const document = makeTrace({beam_size, seed: 4});
    document.arrays = {log_probs: document.arrays.log_probs}; // what the search is compared with
    const places = [];
    document.search.steps.forEach((step, s) => {
      step.live.forEach((_, i) => places.push(["steps", s, "live", i, "total"]));
      step.candidates.forEach((candidate, i) => {
        for (const key of ["total", "score", "rank"]) places.push(["steps", s, "candidates", i, key]);
        if (candidate.margin !== null) places.push(["steps", s, "candidates", i, "margin"]);
        places.push(["steps", s, "candidates", i, "log_prob"]);
      });
    });
    document.search.results.forEach((result, i) => {
      places.push(["results", i, "score"]);
      result.log_probs.forEach((_, j) => places.push(["results", i, "log_probs", j]));
    });
    for (const path of places) {
      const altered = structuredClone(document);
      let holder = altered.search;
      for (const key of path.slice(0, -1)) holder = holder[key];
      holder[path.at(-1)] += 0.05;
      const {failures} = verifyNow(readTrace(altered));
      assert.ok(failures.length > 0, path.join("."));
      failures.forEach(({name}) => names.add(name));
    }
  }
  for (const name of [
    "live.total",
    "candidates.total",
    "candidates.score",
    "candidates.log_prob",
    "candidates.margin",
    "candidates.rank",
    "results.score",
    "results.log_probs",
  ]) {
    assert.ok(names.has(`search.${name}`), name);
  }
});

test("a hypothesis whose past was changed, or that comes from nowhere, is found", () => {
  const document = makeTrace({beam_size: 2});
  const past = structuredClone(document);
  past.search.steps[1].live[0].tokens_so_far = [9, 9];
  assert.ok(verifyNow(readTrace(past)).failures.length > 0);
  const orphan = structuredClone(document);
  for (const one of orphan.search.steps[0].candidates) one.becomes = null;
  assert.ok(verifyNow(readTrace(orphan)).failures.some(({name}) => name === "search.candidates.becomes"));
});

test("the word that greedy search chose must be the most probable one", () => {
  const document = makeTrace({beam_size: 1, seed: 3});
  const altered = structuredClone(document);
  const wrong = document.target.ids[0] === 8 ? 9 : 8;
  altered.target.ids[0] = altered.search.results[0].ids[0] = wrong;
  assert.ok(verifyNow(readTrace(altered)).failures.some(({name}) => name === "target.ids"));
});

test("a translation that is not what the search found, or not its best, is found", () => {
  const document = makeTrace({beam_size: 3});
  const other = structuredClone(document);
  other.target.ids[1] += 1;
  assert.ok(verifyNow(readTrace(other)).failures.some(({name}) => name === "target.ids"));
  const worse = structuredClone(document);
  worse.search.results.reverse();
  assert.ok(verifyNow(readTrace(worse)).failures.some(({name}) => name === "search.results.score"));
});

test("an altered reference is found", () => {
  const document = makeTrace();
  document.reference.log_probs = alter(document.reference.log_probs, 3, (value) => value + 0.5);
  assert.deepEqual(
    verifyNow(readTrace(document)).failures.map(({name}) => name),
    ["reference.log_probs"],
  );
});

test("a difference is measured against the largest number of its row", () => {
  assert.equal(rowDifference([1, -100], [1.01, -100]), (1.01 - 1) / 100);
  assert.equal(rowDifference([-Infinity, 1], [-Infinity, 1]), 0);
  assert.equal(rowDifference([-Infinity, 1], [0, 1]), Infinity);
  assert.equal(rowDifference([NaN], [NaN]), Infinity);
  assert.equal(rowDifference([0, 0], [0, 0]), 0);
  assert.ok(rowDifference([0, 0], [1e-9, 0]) > TOLERANCE);
});

test("the badge says what was done", () => {
  const report = {checked: 2304, total: 2310, largest: 4.2e-7, where: "", failures: [], unchecked: [], finished: true};
  assert.equal(reportWords(report), "checked 2,304 of 2,310 numbers (99%), largest difference 4e-7");
});
