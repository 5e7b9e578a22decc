// Kinds of positions: what each is made of, and that nothing but its own module asks for its name.

import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import {join} from "node:path";
import test from "node:test";
import {fileURLToPath} from "node:url";

import {dot, rotate, slopeOf} from "../../src/vitrail/web/arithmetic.js";
import {alibiPositions} from "../../src/vitrail/web/positions/alibi.js";
import {POSITION_KINDS, positionsOf} from "../../src/vitrail/web/positions/kinds.js";
import {PLAIN} from "../../src/vitrail/web/positions/plain.js";
import {LAYOUTS, sinusoid, wave} from "../../src/vitrail/web/positions/sinusoids.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {verifyNow} from "../../src/vitrail/web/verify.js";
import {makeTrace, OPTIONS, randomNumbers} from "./make_trace.mjs";

const WEB = fileURLToPath(new URL("../../src/vitrail/web/", import.meta.url));
const random = randomNumbers(6);
const vector = (length) => Array.from({length}, () => random());
const near = (a, b, tolerance = 1e-12) =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} ${b}`);

test("every kind has a name of its own, is said, drawn and described, and is among the models of these tests", () => {
  const names = POSITION_KINDS.map(({name}) => name);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual([...names].sort(), [...OPTIONS.positions].sort());
  for (const kind of POSITION_KINDS) {
    assert.equal(typeof kind.say.positions, "function", kind.name);
    assert.notEqual(kind.draw, PLAIN.draw, kind.name);
    assert.notEqual(kind.describe, PLAIN.describe, kind.name);
    assert.equal(positionsOf(readTrace(makeTrace({positions: kind.name}))), kind);
  }
});

test("no file but those of the kinds asks for one by its name, or for the arrays that only one kind has", () => {
  const names = POSITION_KINDS.map(({name}) => name).join("|");
  const arrays = "[qk]_rotated|(?:scores|z)_(?:content|position)|distance_bias";
  const files = readdirSync(WEB, {recursive: true}).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 60);
  for (const name of files.filter((file) => !/^(?:positions|engine[/\\]distance)/.test(file))) {
    const code = readFileSync(join(WEB, name), "utf8")
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/^\s*\/\/.*$/gm, "");
    assert.doesNotMatch(code, new RegExp(`["'](?:${names})["']`), name);
    assert.doesNotMatch(code, new RegExp(arrays), name);
  }
});

test("a kind that the page does not know is named", () => {
  const document = makeTrace();
  document.model.config.positions = "none yet";
  const trace = readTrace(document);
  assert.throws(() => positionsOf(trace), /'none yet'/);
  assert.throws(() => verifyNow(trace), /'none yet'/);
});

test("a rotation keeps lengths, and scores know only the distance", () => {
  const [q, k] = [vector(8), vector(8)];
  near(Math.hypot(...rotate(q, 5)), Math.hypot(...q));
  near(dot(rotate(q, 3), rotate(k, 1)), dot(rotate(q, 12), rotate(k, 10)), 1e-10);
});

test("slopes are the paper's, for numbers of heads that are powers of two and for others", () => {
  const all = (heads) => Array.from({length: heads}, (_, head) => slopeOf(head, heads));
  const halves = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]; // section 3: eight heads
  assert.deepEqual(all(8), halves);
  all(16).forEach((slope, head) => near(slope, Math.SQRT1_2 ** (head + 1)));
  all(12).forEach((slope, head) => near(slope, head < 8 ? halves[head] : Math.SQRT1_2 ** (2 * head - 15)));
  assert.deepEqual(all(3), [1 / 16, 1 / 256, 1 / 4]);
  assert.deepEqual(all(1), [1 / 256]);
});

test("a bias grows with the distance in both directions, and scores are divided before it is added", () => {
  const trace = readTrace(makeTrace({positions: "alibi"}));
  const [scores, scaled] = ["scores", "scaled"].map((name) => trace.array(`encoder.0.self_attention.${name}`));
  const {bias} = alibiPositions;
  assert.ok(bias);
  for (const [query, key, expected] of [
    [2, 2, -0],
    [2, 0, -2 / 16],
    [0, 2, -2 / 16],
    [4, 1, -3 / 16],
  ]) {
    assert.equal(bias.of(trace, 1, query, key), expected);
    near(scaled.at(1, query, key), scores.at(1, query, key) / Math.sqrt(trace.config.d_k) + expected, 1e-6);
  }
});

test("the tables of sinusoids hold the same pairs at position 0, and the last two differ only in frequency", () => {
  for (const layout of LAYOUTS) {
    const row = [...sinusoid(layout, 0, 8)];
    assert.deepEqual(row.filter((value) => value === 0).length, 4);
    assert.deepEqual(row.filter((value) => value === 1).length, 4);
  }
  const [paper, concat, halves] = LAYOUTS.map((layout) => sinusoid(layout, 7, 8));
  for (let i = 0; i < 4; i++) {
    assert.equal(paper[2 * i], halves[i]);
    assert.equal(paper[2 * i + 1], halves[4 + i]);
  }
  near(concat[3], Math.sin(7 / 10000));
});

test("the formula written beside a column is what stands in it", () => {
  for (const layout of LAYOUTS) {
    for (const width of [4, 16]) {
      sinusoid(layout, 37, width).forEach((value, column) => {
        const [, name, divisor] = /^(sin|cos)\(position \/ (.*)\)$/.exec(wave(layout, column, width)) ?? [];
        const angle = 37 / Number(divisor);
        near(name === "sin" ? Math.sin(angle) : Math.cos(angle), value, 2e-2);
      });
    }
  }
});
