// What the views of positions, attention and heads compute, without a browser.

import assert from "node:assert/strict";
import test from "node:test";

import {addingUp} from "../../src/vitrail/web/views/14_residuals.js";
import {BEGINNING} from "../../src/vitrail/web/state.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {termsOf} from "../../src/vitrail/web/views/11_weighted_values.js";
import {addsUp} from "../../src/vitrail/web/views/adding_up.js";
import {AttentionParts, keysToShow, strongest} from "../../src/vitrail/web/views/attention_parts.js";
import {differences, switchHeads} from "../../src/vitrail/web/views/heads_off.js";
import {groupWeight, groupWords, hasPieces, ungrouped} from "../../src/vitrail/web/views/word_groups.js";
import {columnsFor, LINE, wrappedHeight} from "../../src/vitrail/web/views/wrapped_vector.js";
import {makeTrace, OPTIONS, randomNumbers} from "./make_trace.mjs";

const random = randomNumbers(11);
const vector = (length, size = 1) => Array.from({length}, () => size * random());
const sum = (values) => values.reduce((a, b) => a + b, 0);
const near = (a, b, tolerance = 1e-9) =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} ${b}`);

test("rounded terms add up to the rounded sum, and none moves by more than a unit of its last digit", () => {
  for (let round = 0; round < 300; round++) {
    const digits = round % 4;
    const terms = vector(1 + (round % 40), 10 ** (round % 3)).map((term, index) => (index % 7 === 6 ? 0 : term));
    const total = sum(terms);
    const shown = addsUp(terms, total, digits);
    const unit = 10 ** -digits;
    near(Math.round(sum(shown) / unit), Math.round(total / unit));
    shown.forEach((value, index) => {
      assert.ok(Math.abs(value - terms[index]) < unit * (1 + 1e-9));
      near(value / unit, Math.round(value / unit));
      if (terms[index] === 0) assert.ok(Object.is(value, 0));
    });
  }
});

test("terms that do not sum to the total are not bent until they do", () => {
  assert.deepEqual(addsUp([1, 2], 9, 0), [2, 3]);
  assert.deepEqual(addsUp([1.25, 2.5], -9, 2), [1.25, 2.5]);
  assert.deepEqual(addsUp([], 0, 2), []);
});

/** @param {Record<string, any>} changes */
function partsOf(changes, place = {}) {
  const {state: chosen = {}, ...settings} = changes;
  const trace = readTrace(makeTrace(settings));
  const state = {...BEGINNING, token: 1, head: 3, ...chosen, ...place};
  const sublayer = state.sublayer === "cross_attention" ? "cross_attention" : "self_attention";
  const context = {
    trace,
    state,
    attention: `${state.stack}.${state.layer}.${sublayer}`,
    weights: (layer) => trace.hasWeights(layer),
  };
  return new AttentionParts(/** @type {any} */ (context));
}

const PLACES = [{}, {layer: 1}, {stack: "decoder"}, {stack: "decoder", layer: 1, sublayer: "cross_attention"}];

test("x times the head's part of W, plus b, is the recorded q, k and v, whatever the options", () => {
  for (const norm of OPTIONS.norm) {
    for (const positions of OPTIONS.positions) {
      for (const place of PLACES) {
        const parts = partsOf({norm, positions, kv_heads: 2}, place);
        for (const letter of /** @type {const} */ (["q", "k", "v"])) {
          const projection = parts.projection(letter);
          assert.ok(projection);
          const x = (letter === "q" ? parts.input : parts.seen).row(1);
          const made = parts.vector(letter, 1);
          made.forEach((value, column) => {
            const product = sum(Array.from(x, (one, row) => one * projection.at(row, column)));
            near(product + (projection.bias?.(column) ?? 0), value, 1e-4);
          });
        }
      }
    }
  }
});

test("the terms of a weighted sum are z, also by distance and in long sentences", () => {
  const long = Array.from({length: 30}, (_, index) => 6 + (index % 9));
  for (const positions of OPTIONS.positions) {
    for (const source of [undefined, [...long, 3]]) {
      const parts = partsOf({positions, source});
      const weights = parts.array("weights").row(parts.head, parts.token);
      const terms = termsOf(parts, weights);
      assert.ok(terms.length <= 18);
      near(sum(terms.map((term) => term.weight ?? 0)), 1, 1e-5);
      parts
        .array("z")
        .row(parts.head, parts.token)
        .forEach((value, index) => {
          near(sum(terms.map((term) => term.values[index])), value, 1e-4);
        });
    }
  }
});

test("a head of shared keys says which it uses, and has no weights where the file has none", () => {
  assert.match(partsOf({kv_heads: 2}).headName, /kv head 1/);
  assert.equal(partsOf({kv_heads: 4}).headName, "head 3");
  const bare = partsOf({without_weights: true});
  assert.equal(bare.hasWeights, false);
  assert.equal(bare.projection("q"), null);
  assert.equal(bare.outputProjection(), null);
});

test("the joined heads times W^O are the recorded output", () => {
  for (const place of PLACES) {
    const parts = partsOf({}, place);
    const {heads, d_k} = parts.trace.config;
    const projection = parts.outputProjection();
    assert.ok(projection);
    const joined = Array.from({length: heads * d_k}, (_, i) => parts.array("z").at(Math.floor(i / d_k), 1, i % d_k));
    parts
      .array("output")
      .row(1)
      .forEach((value, column) => {
        near(
          sum(joined.map((one, row) => one * projection.at(row, column))) + (projection.bias?.(column) ?? 0),
          value,
          1e-4,
        );
      });
  }
});

test("pieces are grouped into words, specials stay alone, and shares still sum to one", () => {
  const tokens = ["<2fr>", "▁un", "believ", "able", "▁it", "<eos>"];
  const words = [-1, 0, 0, 0, 1, -1];
  const groups = groupWords(tokens, words);
  assert.deepEqual(
    groups.map(({text}) => text),
    ["<2fr>", "unbelievable", "it", "<eos>"],
  );
  assert.deepEqual(
    groups.flatMap((group) => group.tokens),
    [0, 1, 2, 3, 4, 5],
  );
  assert.equal(groupWords(["▁<0x43>", "<0xC3>", "<0xA9>"], [0, 0, 0])[0].text, "Cé"); // bytes of one letter
  assert.ok(hasPieces(words) && !hasPieces([-1, 0, 1, -1, -1]));
  const weights = tokens.map(() => {
    const row = vector(6).map(Math.exp);
    return row.map((value) => value / sum(row));
  });
  for (const from of groups) near(sum(groups.map((to) => groupWeight((q, k) => weights[q][k], from, to))), 1);
  const single = ungrouped(tokens);
  assert.equal(
    groupWeight((q, k) => weights[q][k], single[4], single[2]),
    weights[4][2],
  );
});

test("switching heads twice is switching them not at all, and no empty entry stays", () => {
  const off = {"encoder.0.self_attention": [1]};
  const once = switchHeads(off, "decoder.0.cross_attention", [2, 0]);
  assert.deepEqual(once, {...off, "decoder.0.cross_attention": [0, 2]});
  assert.deepEqual(switchHeads(once, "decoder.0.cross_attention", [0, 2]), off);
  assert.deepEqual(switchHeads(off, "encoder.0.self_attention", [1]), {});
  assert.deepEqual(off, {"encoder.0.self_attention": [1]});
});

test("tokens differ where they are not part of the longest common order", () => {
  const marks = (a, b) =>
    differences(a.split(" "), b.split(" "))
      .map(({differs}) => (differs ? "x" : "."))
      .join("");
  assert.equal(marks("parce qu' il était fatigué", "parce qu' elle était fatigué"), "..x..");
  assert.equal(marks("a b c", "a b c"), "...");
  assert.equal(marks("a b c", "b c d"), "x..");
  assert.equal(marks("a a b", "a b"), ".x.");
  for (let round = 0; round < 100; round++) {
    const words = () => vector(8, 2).map((value) => String(Math.round(value)));
    const [a, b] = [words(), words()];
    const same = (x, y) =>
      differences(x, y)
        .filter(({differs}) => !differs)
        .map(({text}) => text)
        .join(" ");
    assert.equal(same(a, b).split(" ").length, same(b, a).split(" ").length); // equally long from both sides
  }
});

test("a vector's lines hold all of it and fit", () => {
  for (const length of [1, 7, 8, 32, 37, 64]) {
    for (const room of [40, 270, 800]) {
      const columns = columnsFor(length, room, 33);
      assert.ok(columns >= 1 && columns * 33 <= Math.max(33, room));
      assert.ok((wrappedHeight(length, columns) / LINE) * columns >= length);
    }
  }
});

test("the strongest of equals is the first", () => {
  assert.equal(strongest([0.1, 0.4, 0.4]), 1);
  assert.equal(strongest([]), 0);
});

test("x, what is added to it and the sum add up in the last digit shown, with either norm", () => {
  const wave = (seed) => Float32Array.from({length: 6}, (_, at) => Math.sin(seed * 12.9898 + at * 78.233) * 3);
  const x = wave(1);
  const found = wave(2);
  const added = x.map((value, at) => value + found[at]);
  const residual = {name: "source.sum", sign: ""};
  const output = {name: "encoder.0.self_attention.output", sign: "+"};
  const total = {name: "encoder.0.add_norm_1.sum", sign: "="};
  const normed = {name: "encoder.0.add_norm_1.normed", sign: "→"};
  for (const [lines, vectors, at] of [
    [
      [residual, output, total],
      [x, found, added],
      [0, 1, 2],
    ],
    [
      [residual, normed, output, total],
      [x, x, found, added],
      [0, 2, 3],
    ],
  ]) {
    const written = addingUp(lines, vectors);
    for (let i = 0; i < 6; i++) {
      const [a, b, c] = at.map((line) => written[line][i]);
      assert.equal((a + b).toFixed(3), c.toFixed(3));
      assert.ok(Math.abs(a - x[i]) < 1e-3 && Math.abs(c - added[i]) < 1e-3);
    }
  }
});

test("a query that is no key is not among the keys that are shown", () => {
  const weights = [0.1, 0.5, 0.05, 0.3, 0.05];
  assert.deepEqual(keysToShow(weights, 2, 0), [0, 1, 3]);
  assert.deepEqual(keysToShow(weights, 2, 5), [1, 3]);
});
