// The run's curves: what is read from its events, and what is nearest to a place on them.

import assert from "node:assert/strict";
import test from "node:test";

import {nearest} from "../../src/vitrail/web/views/curves.js";
import {runCurves, spreadOut} from "../../src/vitrail/web/views/22_training_run.js";

test("each curve takes its own numbers, and nothing that is none", () => {
  const curves = runCurves([
    {event: "start"},
    {event: "step", step: 5, loss: 4, rate: 0.1, clock: {tokens_per_second: 100}},
    {event: "step", step: 10, loss: 3, rate: 0.2},
    {event: "validation", step: 10, loss: 3.5, bleu: null},
    {event: "validation", step: 20, loss: 2.5, bleu: 7},
  ]);
  assert.deepEqual(curves.train, [
    {step: 5, value: 4},
    {step: 10, value: 3},
  ]);
  assert.deepEqual(curves.held, [
    {step: 10, value: 3.5},
    {step: 20, value: 2.5},
  ]);
  assert.deepEqual(curves.bleu, [{step: 20, value: 7}]);
  assert.deepEqual(curves.pace, [{step: 5, value: 100}]);
  assert.equal(curves.last, 20);
});

test("a run without events has no curves", () => {
  assert.equal(runCurves([]).last, 0);
});

test("the nearest point", () => {
  const points = [
    {step: 0, value: 1},
    {step: 10, value: 2},
    {step: 100, value: 3},
  ];
  assert.equal(nearest(points, 4).step, 0);
  assert.equal(nearest(points, 54).step, 10);
  assert.equal(nearest(points, 1e9).step, 100);
});

test("spreading keeps both ends", () => {
  const items = Array.from({length: 50}, (_, index) => index);
  const kept = spreadOut(items, 8);
  assert.equal(kept.length, 8);
  assert.equal(kept[0], 0);
  assert.equal(kept[7], 49);
  assert.deepEqual(spreadOut([1, 2], 8), [1, 2]);
});
