// Two translations at once: the second request, which places correspond, and how far numbers are apart.

import assert from "node:assert/strict";
import test from "node:test";

import {
  apartByLayers,
  changesBetween,
  commonPairs,
  headsThatPart,
  movedByHeads,
  movedBySteps,
  movedWeight,
  otherHalf,
  relativeDistance,
  secondOptions,
  secondRequest,
} from "../../src/vitrail/web/compare.js";
import {readRequest, writeRequest} from "../../src/vitrail/web/request.js";
import {differingCells, halfOf} from "../../src/vitrail/web/shell/two.js";
import {firstDifferentStep} from "../../src/vitrail/web/views/27_two_at_once.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {decodeArray} from "../../src/vitrail/web/tensor.js";
import {makeTrace, randomNumbers} from "./make_trace.mjs";

const close = (a, b, within = 1e-9) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);

test("a second request is the first one with changes, and an address describes both", () => {
  const first = readRequest({model: "m", text: "it was tired", to: "fr", heads_off: "encoder.0.self_attention:1"});
  assert.equal(secondRequest({model: "m", text: "x"}, first), null);
  const options = {view: "two", "b.text": "it was wide", "b.beam_size": "9", "b.heads_off": "none"};
  const second = secondRequest(options, first);
  assert.deepEqual(second, {...first, text: "it was wide", decode: {beam_size: 9}, heads_off: {}});
  assert.deepEqual(changesBetween(first, second), ["“it was wide”", "all heads on", "beam size 9"]);
  assert.deepEqual(changesBetween(first, first), []);
  assert.deepEqual(secondOptions(options, {to: "en"}), {
    "b.text": null,
    "b.beam_size": null,
    "b.heads_off": null,
    "b.to": "en",
  });
  assert.deepEqual(secondOptions({view: "two"}, null), {});
  assert.equal(writeRequest(second).heads_off, null);
});

test("common places: in order, as many as there can be", () => {
  assert.deepEqual(commonPairs(["a", "b", "c"], ["b", "x", "c"]), [
    [1, 0],
    [2, 2],
  ]);
  const draw = randomNumbers(3);
  for (let round = 0; round < 50; round++) {
    const [one, other] = [0, 1].map(() => Array.from({length: 6}, () => (draw() > 0 ? "a" : "b")));
    const pairs = commonPairs(one, other);
    pairs.forEach(([i, j], place) => {
      assert.equal(one[i], other[j]);
      if (place) assert.ok(i > pairs[place - 1][0] && j > pairs[place - 1][1]);
    });
    assert.equal(commonPairs(one, one).length, one.length);
    assert.equal(pairs.length, commonPairs(other, one).length);
    let best = 0; // every subset of the first
    for (let mask = 0; mask < 64; mask++) {
      const kept = one.filter((_, place) => mask & (1 << place));
      let at = 0;
      for (const token of other) if (token === kept[at]) at++;
      if (at === kept.length) best = Math.max(best, at);
    }
    assert.equal(pairs.length, best);
  }
});

test("weight moves by half the sum of the differences; weight on a word that one lacks has moved", () => {
  const all = [
    [0, 0],
    [1, 1],
    [2, 2],
  ];
  close(movedWeight([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], all), 0.3);
  close(movedWeight([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], all), 0);
  close(movedWeight([0.5, 0.3, 0.2], [0.5, 0.1, 0.4], all.slice(0, 2)), 0.4);
});

test("distance is relative to the vectors' lengths", () => {
  close(relativeDistance([3, 4], [3, 4]), 0);
  close(relativeDistance([1, 0], [-1, 0]), 2);
  close(relativeDistance([0, 0], [0, 0]), 0);
});

test("a trace does not differ from itself; a changed number is found where it is", () => {
  const one = readTrace(makeTrace());
  const same = readTrace(makeTrace());
  assert.equal(headsThatPart(one, same), null);
  assert.equal(firstDifferentStep(one, same), null);
  for (const moved of movedBySteps(one, same)) close(moved, 0, 1e-5);
  for (const row of apartByLayers(one, same, "decoder").apart) for (const each of row) close(each, 0);

  const facts = makeTrace();
  const name = "decoder.0.self_attention.weights";
  const weights = decodeArray(facts.arrays[name], name);
  const [, queries, keys] = weights.shape;
  const query = queries - 1;
  for (let key = 0; key < keys; key++) weights.data[(1 * queries + query) * keys + key] = key === 0 ? 1 : 0;
  facts.arrays[name] = {shape: weights.shape, data: Buffer.from(weights.data.buffer).toString("base64")};
  const other = readTrace(facts);
  const parted = headsThatPart(one, other);
  assert.deepEqual(
    [parted.first.stack, parted.first.layer, parted.first.sublayer, parted.first.head],
    ["decoder", 0, "self_attention", 1],
  );
  assert.deepEqual(parted.first.moved.at, [query, query]);
  const before = one.array(name).row(1, query);
  close(parted.most.moved.most, 1 - before[0], 1e-6);
  assert.equal(movedByHeads(one, {...other, layers: () => 9, config: other.config}, "encoder", "self_attention"), null);
});

test("the cells of heat maps that differ visibly, most first", () => {
  const grid = (values) => ({rows: 1, columns: values.length, largest: 1, value: (_, column) => values[column]});
  const found = differingCells(grid([0, 0.5, 1, 0.3]), grid([0.1, 0, 0.2, 0.3]));
  assert.deepEqual(
    found.map(({column}) => column),
    [2, 1],
  );
  assert.deepEqual(differingCells(grid([0, 0]), grid([0, 0])), []);
});

test("two pictures share the width, unless the page scrolls anyway", () => {
  assert.deepEqual(halfOf({room: 900, tall: 400, most: 1}), {room: 440, tall: 360, most: 1});
  assert.deepEqual(halfOf({room: 300, tall: Infinity, most: 1}), {room: 300, tall: Infinity, most: 1});
});

test("the other half of the puzzle", () => {
  assert.equal(otherHalf("… because it was too tired"), "… because it was too wide");
  assert.equal(otherHalf("It was too wide."), "It was too tired.");
  assert.equal(otherHalf("je suis étudiant"), null);
});
