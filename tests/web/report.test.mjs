// The report of a test set: which sentences are shown in which order, and what is said of a cause.

import assert from "node:assert/strict";
import test from "node:test";

import {causeInWords, chanceOf} from "../../src/vitrail/web/report/cause.js";
import {NAMES, chosenSentences, countKinds, tenths} from "../../src/vitrail/web/report/facts.js";

const sentence = (line, own, other, mistakes = [], cause = null) => ({
  line,
  source: "",
  reference: "",
  parts: [],
  judged: [
    {text: "", score: own, mistakes: mistakes.map((kind) => ({kind, words: []})), parts: []},
    {text: "", score: other, mistakes: [], parts: []},
  ],
  cause,
  page: null,
});
const step = (token, probability, rank, best, most, live) => ({
  token,
  log_prob: Math.log(probability),
  rank,
  best,
  best_log_prob: Math.log(most),
  is_live: live,
});
const CAUSE = {
  kind: "model",
  unknown: [],
  found: "a dog",
  score: -0.4,
  reference_score: -1.9,
  left: 2,
  fate: "pruned",
  margin: 0.5,
  steps: [step("▁a", 0.9, 0, "▁a", 0.9, true), step("▁cat", 0.000123, 41, "▁dog", 0.81, false)],
};
const SENTENCES = [
  sentence(1, 90, 40),
  sentence(2, 10, 60, ["dropped", "copied"], CAUSE),
  sentence(3, 50, 55, ["dropped"], {...CAUSE, kind: "right"}),
  sentence(4, 10, 10, [], {...CAUSE, kind: "search"}),
];

test("sentences are filtered and sorted; equal ones stay in the order of the file", () => {
  const lines = (kind, order) => chosenSentences(SENTENCES, kind, order).map(({line}) => line);
  assert.deepEqual(lines("", "worst"), [2, 4, 3, 1]);
  assert.deepEqual(lines("", "best"), [1, 3, 2, 4]);
  assert.deepEqual(lines("", "file"), [1, 2, 3, 4]);
  assert.deepEqual(lines("", "lost"), [2, 3, 4, 1]);
  assert.deepEqual(lines("", "won"), [1, 4, 3, 2]);
  assert.deepEqual(lines("dropped", "worst"), [2, 3]);
  assert.deepEqual(lines("search", "worst"), [4]);
});

test("every kind is counted once for a sentence, and has a name", () => {
  const counts = countKinds(SENTENCES);
  assert.deepEqual(Object.fromEntries(counts), {dropped: 2, copied: 1, model: 1, search: 1});
  for (const kind of counts.keys()) assert.ok(kind in NAMES);
});

test("a perfect score is in the last tenth", () => {
  assert.deepEqual(tenths([...SENTENCES, sentence(5, 100, 0)], 0), [0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
});

test("a cause says where the reference left the beam, and never that something has no probability", () => {
  assert.equal(
    causeInWords(CAUSE),
    "Model error: the model prefers its own translation (score −0.400) to the reference (−1.900). At step 2, “cat” " +
      "had 0.012 % (number 42; “dog” had 81 %), and was dropped, 0.5 below the last that was kept.",
  );
  assert.match(causeInWords({...CAUSE, kind: "search"}), /^Search error: the model itself prefers the reference/);
  assert.match(causeInWords({...CAUSE, left: null}), /stayed in the beam/);
  assert.equal(causeInWords({...CAUSE, kind: "unknown", unknown: ["zebra"]}), "The model has no tokens for zebra.");
  assert.equal(chanceOf(-40), "4.2e-16 %");
});
