// What the views of decoding, the output, the loss, training and the search compute, without a browser.

import assert from "node:assert/strict";
import test from "node:test";

import {logSoftmax, softmax} from "../../src/vitrail/web/arithmetic.js";
import {Tensor} from "../../src/vitrail/web/tensor.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {chosenWords, findWords, postsWords} from "../../src/vitrail/web/views/chosen_words.js";
import {largestPlaces, lossTerms, restOf, smoothedTarget} from "../../src/vitrail/web/views/distribution.js";
import {foldVocabulary} from "../../src/vitrail/web/views/folded_vocabulary.js";
import {
  Forced,
  forcedReference,
  forcedTranslation,
  halfWay,
  probeRecords,
  probeSentences,
} from "../../src/vitrail/web/views/forced.js";
import {endOf, isGreedy, searchTree, wayTo} from "../../src/vitrail/web/views/search_tree.js";
import {makeTrace, randomNumbers} from "./make_trace.mjs";

const random = randomNumbers(4);
const vector = (length, size = 1) => Array.from({length}, () => size * random());
const near = (a, b, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} ${b}`);
const sum = (values) => values.reduce((a, b) => a + b, 0);
const SMALL = {encoder_layers: 1, decoder_layers: 1};
const encode = (values, shape) => ({shape, data: Buffer.from(new Float32Array(values).buffer).toString("base64")});

test("the largest places are those that sorting finds, of equals the first", () => {
  for (let round = 0; round < 50; round++) {
    const values = vector(20, 3).map(Math.round);
    const sorted = values.map((_, index) => index).sort((a, b) => values[b] - values[a] || a - b);
    assert.deepEqual(largestPlaces(values, 7), sorted.slice(0, 7));
    assert.deepEqual(largestPlaces(values, 40), sorted);
  }
});

test("the shown words and the rest make a whole distribution", () => {
  const chances = softmax(vector(30, 4));
  const shown = largestPlaces(chances, 5);
  near(sum(shown.map((id) => chances[id])) + restOf(chances, shown), 1);
});

test("a smoothed target sums to one over the vocabulary", () => {
  for (const smoothing of [0, 0.1, 0.3]) {
    near(sum(Array.from({length: 17}, (_, id) => smoothedTarget(id === 4, smoothing, 17))), 1);
  }
});

test("the loss is the cross-entropy, its difference the gradient, and KL is never negative", () => {
  const [vocabulary, right, smoothing] = [25, 6, 0.1];
  const logits = vector(vocabulary, 4);
  const lossOf = (values) => {
    const logP = logSoftmax(values);
    return -sum(Array.from(logP, (value, id) => smoothedTarget(id === right, smoothing, vocabulary) * value));
  };
  const logP = logSoftmax(logits);
  const {terms, others, all, isLeast} = lossTerms({
    shown: [right, 1, 2],
    right,
    smoothing,
    vocabulary,
    logProb: (id) => logP[id],
    rest: 0,
  });
  assert.equal(isLeast, false);
  near(all.crossEntropy, lossOf(logits));
  near(all.p, 1);
  near(all.q, 1);
  near(all.gradient, 0);
  near(sum([...terms, others].map((term) => term.crossEntropy)), all.crossEntropy);
  assert.ok(all.crossEntropy - all.entropy >= 0);
  [right, 1, 2].forEach((id, index) => {
    const h = 1e-5;
    const moved = (by) => lossOf(logits.map((value, place) => (place === id ? value + by : value)));
    near(terms[index].gradient, (moved(h) - moved(-h)) / (2 * h), 1e-8); // the slope, measured
  });
});

test("where words were not kept one by one, the loss is not overstated", () => {
  const [vocabulary, right, smoothing] = [25, 6, 0.1];
  const logP = logSoftmax(vector(vocabulary, 4));
  const whole = lossTerms({shown: [right], right, smoothing, vocabulary, logProb: (id) => logP[id], rest: 0});
  const kept = new Set([right, 1, 2, 3]);
  const rest = sum(Array.from(logP, Math.exp).filter((_, id) => !kept.has(id)));
  const part = lossTerms({
    shown: [right],
    right,
    smoothing,
    vocabulary,
    logProb: (id) => (kept.has(id) ? logP[id] : null),
    rest,
  });
  assert.equal(part.isLeast, true);
  assert.ok(part.all.crossEntropy <= whole.all.crossEntropy + 1e-12);
  near(part.all.p, 1);
  near(part.all.q, 1);
  near(part.all.entropy, whole.all.entropy);
  const without = lossTerms({
    shown: [right],
    right,
    smoothing: 0,
    vocabulary,
    logProb: (id) => (kept.has(id) ? logP[id] : null),
    rest,
  });
  assert.equal(without.isLeast, false); // without smoothing only the right word counts
  near(without.all.crossEntropy, -logP[right]);
});

test("the post's words are found where the model has them, also as beginnings of words", () => {
  const words = ["<pad>", "student", "thanks", "x", "i", "am", "a", "<eos>"];
  assert.deepEqual(
    postsWords(words).map((id) => words[id]),
    ["a", "am", "i", "thanks", "student", "<eos>"],
  );
  const pieces = ["<eos>", "▁a", "▁I", "▁am"];
  assert.deepEqual(
    postsWords(pieces).map((id) => pieces[id]),
    ["▁a", "▁am", "▁I", "<eos>"],
  );
});

test("chosen words are ids of the vocabulary, each once, whatever the address says", () => {
  const trace = readTrace(makeTrace());
  const context = (text) => ({trace, option: (_, fallback) => text ?? fallback});
  assert.deepEqual(chosenWords(context("3,7,7,99999,-2,x")), [3, 7]);
  const fallback = chosenWords(context(undefined));
  assert.ok(fallback.length > 0 && fallback.length <= 6);
  assert.equal(new Set(fallback).size, fallback.length);
});

test("a search finds the same word first, then what begins with it, then what holds it", () => {
  const words = ["street", "re", "rest", "tree", "▁red", "x"];
  assert.deepEqual(
    findWords(words, "RE").map((id) => words[id]),
    ["re", "rest", "▁red", "street", "tree"],
  );
  assert.deepEqual(findWords(words, "5"), [5]);
  assert.equal(findWords(words, "").length, words.length);
  assert.deepEqual(findWords(words, "(.*"), []); // no pattern, just letters
});

test("a folded vocabulary has a cell for every word and fits its width", () => {
  for (const size of [1, 40, 973, 8000, 32000, 65000]) {
    for (const width of [280, 860]) {
      const {cell, columns, rows} = foldVocabulary(size, width);
      assert.ok(columns * rows >= size && columns * (rows - 1) < size);
      assert.ok(columns * cell <= width);
    }
  }
});

test("predictions for a reference are those of the trace", () => {
  const trace = readTrace(makeTrace());
  const forced = forcedReference(trace);
  const {log_probs} = trace.referenceArrays();
  for (let t = 0; t < forced.length; t++) {
    assert.equal(forced.logProb(t, 7), log_probs.at(t, 7));
    assert.equal(forced.best(t, 1)[0], largestPlaces(log_probs.row(t), 1)[0]);
  }
  near(forced.loss(), -sum(trace.reference.ids.map((id, t) => log_probs.at(t, id))) / trace.reference.ids.length);
  assert.equal(forcedTranslation(trace).length, trace.target.ids.length);
  assert.equal(forcedReference(readTrace({...makeTrace(), reference: null})), null);
});

test("probes are read with all columns or some, with a reference or none, and damage is no harm", () => {
  const document = makeTrace();
  const size = document.vocabulary.length;
  const logP = logSoftmax(vector(size, 2));
  const columns = [3, 6, 8];
  const rest = Math.log(restOf(Array.from(logP, Math.exp), columns));
  const all = {
    translation: "a b",
    ids: [6, 3],
    columns: null,
    log_probs: encode([...logP, ...logP], [2, size]),
    rest: null,
  };
  const some = (place) => ({
    ...all,
    columns,
    log_probs: encode(
      [...columns, ...columns].map((id) => logP[id]),
      [2, 3],
    ),
    rest: place ? [rest, rest] : encode([rest, rest], [2]),
  });
  const asked = {source: {text: "b d c"}, reference: {text: "a", ids: [6, 3], tokens: ["a", "<eos>"]}, to: "fr"};
  document.seen = "held out";
  document.probes = {
    sentences: [asked, {...asked, source: {text: "other"}, reference: null}],
    label_smoothing: 0.1,
    records: [
      {step: 0, sentences: [all, some(false)]},
      {step: 10, sentences: [some(true), all]},
      {step: 20, sentences: [null, {}]},
    ],
  };
  const trace = readTrace(document);
  assert.deepEqual(
    probeSentences(trace).map(({seen}) => seen),
    ["held out", null],
  );
  for (const sentence of [0, 1]) {
    const records = probeRecords(trace, sentence);
    assert.deepEqual(
      records.map(({step}) => step),
      [0, 10],
    );
    for (const {forced} of records) {
      assert.equal(forced.smoothing, 0.1);
      assert.deepEqual(forced.ids, [6, 3]);
      assert.equal(forced.logProb(1, 8), Math.fround(logP[8]));
      assert.equal(forced.logProb(1, 9) === null, forced.columns !== null);
      if (forced.columns) near(sum(columns.map((id) => Math.exp(forced.logProb(0, id)))) + forced.rest(0), 1, 1e-6);
    }
  }
  for (const probes of [null, {}, {sentences: []}, {sentences: [asked], records: []}]) {
    assert.deepEqual(probeSentences(readTrace({...document, probes})), []);
  }
});

test("a search is a tree: every node's way is its hypothesis, and every translation has its end", () => {
  for (const seed of [1, 2, 3]) {
    for (const beam_size of [1, 2, 4]) {
      const {search} = readTrace(makeTrace({seed, beam_size, ...SMALL}));
      const columns = searchTree(search);
      assert.equal(columns.length, search.steps.length);
      columns.forEach((column, step) => {
        assert.equal(column.length, search.steps[step].candidates.length);
        column.forEach((node, row) => {
          assert.equal(node.row, row);
          const before = search.steps[step].live[node.candidate.parent].tokens_so_far;
          assert.deepEqual(
            wayTo(node).map((one) => one.candidate.id),
            [...before, node.candidate.id],
          );
        });
      });
      search.results.forEach((result, index) => {
        const way = wayTo(endOf(columns, index));
        assert.deepEqual(
          way.map((one) => one.candidate.id),
          [...result.ids],
        );
      });
      if (beam_size === 1) assert.equal(isGreedy(wayTo(endOf(columns, 0)), search), true);
    }
  }
});

test("greedy search finds a translation just where each of its words is the best continuation", () => {
  const told = new Set();
  for (let seed = 1; seed <= 12; seed++) {
    const wide = readTrace(makeTrace({seed, beam_size: 4, ...SMALL})).search;
    const greedy = readTrace(makeTrace({seed, beam_size: 1, ...SMALL})).search;
    const said = isGreedy(wayTo(endOf(searchTree(wide), 0)), wide);
    assert.equal(said, String(wide.results[0].ids) === String(greedy.results[0].ids), `seed ${seed}`);
    told.add(said);
  }
  assert.equal(told.size, 2, "both happen");
});

test("a search that drew by lot shows each draw and a few of the words that were not drawn", () => {
  const candidate = (parent, id, fate, becomes = null) => ({
    parent,
    id,
    log_prob: -1,
    total: -1,
    score: -1,
    rank: id,
    fate,
    margin: null,
    becomes,
    chance: 0.1,
    draw: parent,
  });
  const others = (parent) => [10, 11, 12, 13, 14].map((id) => candidate(parent, id, "dropped"));
  const search = {
    kind: "sample",
    beam_size: 4,
    top_beams: 2,
    alpha: 1,
    penalty: "length",
    steps: [
      {
        step: 1,
        live: [{}, {}],
        candidates: [...others(0), candidate(0, 6, "kept", 0), candidate(1, 7, "kept", 1), ...others(1)],
      },
      {step: 2, live: [{}, {}], candidates: [candidate(0, 3, "finished", 0), candidate(1, 3, "finished", 1)]},
    ],
    results: [],
  };
  const columns = searchTree(search);
  assert.deepEqual(
    columns[0].map(({candidate: {id}}) => id),
    [6, 10, 11, 12, 7, 10, 11, 12],
  );
  assert.deepEqual(
    wayTo(endOf(columns, 1)).map(({candidate: {id}}) => id),
    [7, 3],
  );
});

test("the loss opens where the right word is nearest to an even chance", () => {
  const at = (/** @type {number} */ chance) => {
    const logProbs = new Tensor([1, 2], Float32Array.from([Math.log(chance), Math.log(1 - chance)]));
    const parts = {tokens: ["a"], ids: [0], smoothing: 0, logProbs, columns: null, rest: null, vocabulary: 2};
    return {step: 0, translation: "", forced: new Forced(parts)};
  };
  assert.equal(halfWay([0.01, 0.3, 0.6, 0.99].map(at), 0), 2);
  assert.equal(halfWay([0.999].map(at), 5), 0);
  assert.equal(halfWay([], 0), -1);
});
