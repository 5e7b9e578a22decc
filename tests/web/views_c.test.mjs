// What views 23 to 26 compute before they draw.

import assert from "node:assert/strict";
import test from "node:test";

import {habitInShort, habitInWords, habitOf} from "../../src/vitrail/web/habits.js";
import {countFiring, gridOf, strongestUnits} from "../../src/vitrail/web/views/23_feed_forward.js";
import {arrange, blocksOf} from "../../src/vitrail/web/views/24_all_heads.js";
import {settledAt, stepsAround} from "../../src/vitrail/web/views/25_layers_say.js";
import {largestPlace} from "../../src/vitrail/web/views/26_what_mattered.js";

test("the units that fire most, and how many fire", () => {
  assert.deepEqual(strongestUnits([0, 2, -1, 5, 2], 3), [3, 1, 4]);
  assert.equal(countFiring([0, 2, -1, 5, 2]), 3);
  for (const cells of [1, 2, 48, 64, 1000, 1024]) {
    const {rows, columns} = gridOf(cells);
    assert.ok(rows * columns >= cells && (rows - 1) * columns < cells);
    assert.ok(Math.abs(rows - columns) <= 1);
  }
});

test("small pictures of heads never overlap, stay in their space, and are as large as one arrangement allows", () => {
  for (const [encoder_layers, decoder_layers, heads] of [
    [6, 6, 8],
    [4, 2, 4],
    [1, 12, 16],
    [2, 0, 3],
  ]) {
    const blocks = blocksOf({config: {encoder_layers, decoder_layers}});
    assert.equal(blocks.length, decoder_layers ? 3 : 1);
    const space = {width: 560, height: 480};
    const {cell, line, placed} = arrange(blocks, heads, space);
    assert.equal(placed.length, blocks.length);
    assert.ok(cell > 8 && line > cell);
    const boxes = placed.map(({block, x, y}) => ({
      left: x,
      right: x + 26 + heads * (cell + 4),
      top: y,
      bottom: y + 44 + block.layers * line,
    }));
    boxes.forEach((one, index) => {
      assert.ok(one.right <= space.width + 1 && one.bottom <= space.height + 1, JSON.stringify({one, cell}));
      for (const other of boxes.slice(index + 1)) {
        const apart = one.right <= other.left || other.right <= one.left || one.bottom <= other.top;
        assert.ok(apart || other.bottom <= one.top);
      }
    });
  }
});

test("the layer from which on the chosen word is the most probable", () => {
  const said = (ranks) => ranks.map((rank) => ({rank: [rank]}));
  assert.equal(settledAt(said([3, 0, 2, 0, 0]), 0), 3);
  assert.equal(settledAt(said([0, 0]), 0), 0);
  assert.equal(settledAt(said([0, 1]), 0), null);
});

test("the steps around the chosen one", () => {
  assert.deepEqual(stepsAround(10, 0, 4), [0, 1, 2, 3]);
  assert.deepEqual(stepsAround(10, 5, 4), [3, 4, 5, 6]);
  assert.deepEqual(stepsAround(10, 9, 4), [6, 7, 8, 9]);
  assert.deepEqual(stepsAround(3, 1, 9), [0, 1, 2]);
  assert.deepEqual(stepsAround(3, 1, 0), [1]);
});

test("the first of the largest", () => assert.equal(largestPlace([-3, 2, 2, 1]), 1));

test("a habit is said with how sure it is", () => {
  const habit = {
    habit: "same_word",
    share: 0.41,
    low: 0.385,
    high: 0.437,
    sure: 0.78,
    shares: {first: 0.1},
    evenness: 0.2,
  };
  assert.equal(habitInShort(habit), "same word 41%");
  assert.equal(
    habitInWords(habit),
    "usually looks at the same word: 41.0% (38.5% to 43.7%) of its weight; in 78% of resampled sets of sentences",
  );
  assert.match(habitInWords({...habit, habit: "mixed", share: 0.1}), /most of its weight.* is on the first token/);
  assert.match(habitInWords({...habit, habit: "spread"}), /everything nearly alike/);
  assert.equal(habitOf({habits: null}, "encoder.0.self_attention", 0), null);
});
