import assert from "node:assert/strict";
import test from "node:test";

import {makeTrace} from "./make_trace.mjs";
import {BEGINNING, clampState} from "../../src/vitrail/web/state.js";
import {changesOfKey, viewOfKey} from "../../src/vitrail/web/shell/keyboard.js";
import {choicesOf, stepped} from "../../src/vitrail/web/shell/pickers.js";
import {nextCell} from "../../src/vitrail/web/draw/reading.js";
import {placeOf} from "../../src/vitrail/web/shell/map.js";
import {symbolMeaning} from "../../src/vitrail/web/symbols.js";
import {toldApart} from "../../src/vitrail/web/views/choices.js";
import {partsOfLayer} from "../../src/vitrail/web/draw/layer.js";
import {readTrace} from "../../src/vitrail/web/trace.js";
import {StudioSource} from "../../src/vitrail/web/source.js";
import {changesMade} from "../../src/vitrail/web/shell/what_if.js";
import {VIEWS, viewOf} from "../../src/vitrail/web/views.js";

const PICKERS = ["attention", "stack", "sublayer", "layer", "head", "token", "step"];
const trace = readTrace(makeTrace({heads_off: {"encoder.0.self_attention": [1]}}));

test("every picker has exactly one choice pressed in every state, and each choice leads where it says", () => {
  for (const stack of ["encoder", "decoder"]) {
    for (const sublayer of trace.sublayers(stack)) {
      const state = clampState({...BEGINNING, stack, sublayer, layer: 1, head: 2, token: 1, step: 1}, trace);
      for (const picker of PICKERS) {
        const {choices} = choicesOf(picker, trace, state, "light");
        assert.equal(choices.filter((choice) => choice.current).length, 1, `${picker} ${stack} ${sublayer}`);
        choices.forEach((choice, index) => {
          const next = clampState({...state, ...choice.changes}, trace);
          const again = choicesOf(picker, trace, next, "light").choices;
          assert.equal(
            again.findIndex((other) => other.current),
            index,
            `${picker} ${choice.text}`,
          );
        });
      }
    }
  }
});

test("a head that is switched off says so", () => {
  const {choices} = choicesOf("head", trace, {...BEGINNING}, "dark");
  assert.deepEqual(
    choices.map((choice) => choice.off),
    [false, true, false, false],
  );
});

test("a what-if is told in words, and nothing is said of a translation as the model makes it", () => {
  assert.deepEqual(changesMade(readTrace(makeTrace()), null), []);
  const changed = readTrace(
    makeTrace({heads_off: {"encoder.0.self_attention": [1], "decoder.1.cross_attention": [0, 3]}}),
  );
  changed.whatIf.prefix = "la rue";
  const request = {model: "m", text: "t", to: null, decode: {beam_size: 3}, prefix: "", heads_off: {}, reference: ""};
  assert.deepEqual(changesMade(changed, request), [
    "head 1 of encoder.0.self_attention off",
    "heads 0, 3 of decoder.1.cross_attention off",
    "must begin with “la rue”",
    "beam_size = 3",
  ]);
});

test("arrow keys stay within a row of choices", () => {
  assert.equal(stepped("ArrowRight", 2, 3), 2);
  assert.equal(stepped("ArrowLeft", 0, 3), 0);
  assert.equal(stepped("End", 0, 3), 2);
  assert.equal(stepped("Home", 2, 3), 0);
  assert.equal(stepped("a", 0, 3), null);
});

test("arrow keys read every cell of a grid and nothing beyond", () => {
  assert.deepEqual(nextCell("ArrowRight", 0, 0, 2, 3), [0, 1]);
  assert.deepEqual(nextCell("ArrowDown", 1, 2, 2, 3), [1, 2]);
  assert.deepEqual(nextCell("ArrowDown", 0, 1, 1, 3), [0, 2]); // a strip: all arrows go along it
  assert.deepEqual(nextCell("ArrowLeft", 2, 0, 3, 1), [1, 0]);
  assert.equal(nextCell("Tab", 0, 0, 2, 3), null);
});

test("arrow keys step through tokens or steps and layers, brackets through heads", () => {
  const state = {...BEGINNING, token: 1, layer: 0, step: 0};
  assert.deepEqual(changesOfKey("ArrowRight", ["token"], state, trace), {token: 2});
  assert.deepEqual(changesOfKey("ArrowRight", ["step", "token"], state, trace), {step: 1});
  assert.deepEqual(changesOfKey("ArrowUp", ["layer"], state, trace), {layer: 1});
  assert.equal(changesOfKey("ArrowUp", ["token"], state, trace), null); // the page scrolls
  assert.deepEqual(changesOfKey("]", ["head"], state, trace), {head: 1});
  assert.equal(changesOfKey("]", [], state, trace), null);
});

test("in a view without tokens the arrows turn to its neighbours, and a presenter's keys do on the projector", () => {
  const [first, second] = VIEWS;
  assert.equal(viewOfKey("ArrowRight", VIEWS, first, false), second);
  assert.equal(viewOfKey("ArrowLeft", VIEWS, first, false), null); // nothing before the first
  assert.equal(viewOfKey("n", VIEWS, first, false), second);
  assert.equal(viewOfKey("PageDown", VIEWS, first, false), null); // the page scrolls
  assert.equal(viewOfKey("PageDown", VIEWS, first, true), second);
  const score = viewOf("score");
  assert.equal(viewOfKey("ArrowRight", VIEWS, score, true), null); // the next token
  assert.equal(viewOfKey("p", VIEWS, score, false), VIEWS[VIEWS.indexOf(score) - 1]);
});

test("of two tokens that look the same, each shows its position", () => {
  const twice = readTrace(makeTrace());
  twice.source.tokens = ["the", "animal", "the", "street"];
  const {choices} = choicesOf("token", twice, {...BEGINNING, token: 0}, "light");
  assert.deepEqual(
    choices.map(({place}) => place),
    ["0", undefined, "2", undefined],
  );
});

test("views have ids and rows of their own, in guided order, and know pickers only", () => {
  const rows = VIEWS.map((view) => view.row);
  assert.deepEqual(
    rows,
    [...rows].sort((a, b) => a - b),
  );
  assert.equal(new Set(rows).size, rows.length);
  assert.equal(new Set(VIEWS.map((view) => view.id)).size, VIEWS.length);
  for (const view of VIEWS) {
    assert.ok(view.title && view.pickers.every((picker) => PICKERS.includes(picker)), view.id);
    assert.equal(viewOf(view.id), view);
  }
  assert.equal(viewOf("nonsense"), VIEWS[0]);
});

test("the map marks the layer that a view is about, and none in a view that is about no layer", () => {
  const state = {...BEGINNING, stack: "encoder", layer: 1, sublayer: "feed_forward"};
  const marked = (id) => placeOf(viewOf(id), state, trace);
  assert.deepEqual(marked("residuals"), {stack: "encoder", layer: 1, sublayer: "feed_forward"});
  assert.deepEqual(marked("score"), {stack: "encoder", layer: 1, sublayer: "self_attention"});
  assert.deepEqual(marked("layer"), {stack: "encoder", layer: 1, sublayer: null});
  assert.deepEqual(marked("masked"), {stack: "decoder", layer: 1, sublayer: "self_attention"});
  for (const id of [
    "stacks",
    "embeddings",
    "decoding",
    "output",
    "vocabulary",
    "loss",
    "untrained",
    "search",
    "training",
  ]) {
    assert.equal(marked(id), null, id);
  }
});

test("special symbols are explained, and words are not", () => {
  assert.match(symbolMeaning("<2fr>"), /into fr/);
  assert.match(symbolMeaning("<bos>"), /begins/);
  assert.match(symbolMeaning("<eos>"), /ends/);
  assert.equal(symbolMeaning("street"), null);
});

test("sentences in a menu are told apart, even if they begin alike or are the same", () => {
  const street = "the animal didn't cross the street because it was too";
  const short = toldApart([`${street} tired`, `${street} wide`, `${street} tired`, "merci"]);
  assert.equal(new Set(short).size, 4);
  assert.ok(short.every((text) => text.length <= 45));
  assert.match(short[1], /wide$/);
  assert.equal(short[3], "merci");
});

test("a layer's parts stand in the order its norm asks for", () => {
  const kinds = (norm, stack) => partsOfLayer(readTrace(makeTrace({norm})), stack).map((part) => part.kind);
  assert.deepEqual(kinds("post", "encoder"), ["self_attention", "add-norm", "feed_forward", "add-norm"]);
  assert.deepEqual(kinds("pre", "encoder"), ["norm", "self_attention", "add", "norm", "feed_forward", "add"]);
  assert.equal(kinds("post", "decoder").filter((kind) => kind === "cross_attention").length, 1);
});

test("the studio is asked with its token, and its errors say what, where and how to fix it", async () => {
  const asked = [];
  const answer = (status, body) => ({ok: status < 300, status, json: async () => JSON.parse(body)});
  const studio = new StudioSource("secret", async (path, request) => {
    asked.push([path, request]);
    if (path === "api/models") return answer(200, '{"models": [{"name": "m", "languages": []}]}');
    if (path === "api/weights") return answer(500, "no JSON");
    return answer(422, '{"error": {"what": "unknown word", "where": "sentence 1", "fix": "another word"}}');
  });
  assert.deepEqual(await studio.models(), [{name: "m", languages: []}]);
  await assert.rejects(studio.trace({text: "x"}), {what: "unknown word", where: "sentence 1", fix: "another word"});
  await assert.rejects(studio.weights("m", "encoder.0"), /status 500/);
  assert.deepEqual(
    asked.map(([, request]) => [request.method, request.headers["X-Vitrail-Token"]]),
    [
      ["GET", "secret"],
      ["POST", "secret"],
      ["POST", "secret"],
    ],
  );
  const down = new StudioSource("", async () => {
    throw new TypeError("network");
  });
  await assert.rejects(down.models(), /does not answer/);
});
