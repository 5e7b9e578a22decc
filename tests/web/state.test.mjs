import assert from "node:assert/strict";
import test from "node:test";

import {makeTrace} from "./make_trace.mjs";
import {
  attentionOf,
  BEGINNING,
  clampState,
  formatHash,
  openAddress,
  parseHash,
  StateKeeper,
  stateShown,
} from "../../src/vitrail/web/state.js";
import {readHeads, readRequest, writeHeads, writeRequest} from "../../src/vitrail/web/request.js";
import {readTrace} from "../../src/vitrail/web/trace.js";

/** An address with a history, as a browser has one. */
function fakeWindow(hash = "", protocol = "file:") {
  const entries = [hash];
  const listeners = {};
  const location = {protocol, pathname: "/page.html", search: "", hash};
  return {
    entries,
    location,
    history: {
      pushState: (_, __, next) => entries.push((location.hash = next)),
      replaceState: (_, __, next) => {
        if (!next.startsWith("#")) return;
        entries[entries.length - 1] = location.hash = next;
      },
    },
    addEventListener: (name, heard) => (listeners[name] = heard),
    back() {
      entries.pop();
      location.hash = entries[entries.length - 1];
      listeners.popstate();
    },
  };
}

test("a state in the address comes back as it was", () => {
  const states = [
    {...BEGINNING},
    {...BEGINNING, view: "score", layer: 3, head: 2, token: 11, step: 4, stack: "decoder", sublayer: "cross_attention"},
    {...BEGINNING, options: {text: "a=1&b=#<script>", empty: "", é: "qu'il\n"}},
  ];
  for (const state of states) assert.deepEqual(parseHash(formatHash(state)), state);
});

test("nonsense in the address does no harm", () => {
  const state = parseHash("#layer=-1&head=1e9&token=abc&stack=x&sublayer=__proto__&view=%E0%A4%A&&&=");
  assert.equal(state.layer, 0);
  assert.equal(state.head, 0);
  assert.equal(state.token, 0);
  assert.equal(state.stack, "encoder");
  assert.equal(state.sublayer, "self_attention");
});

test("a state is brought within what the trace has", () => {
  const trace = readTrace(makeTrace());
  const state = clampState(
    {...BEGINNING, layer: 99, head: 99, token: 99, step: 99, sublayer: "cross_attention"},
    trace,
  );
  assert.deepEqual(
    [state.layer, state.head, state.token, state.step, state.sublayer],
    [1, 3, trace.source.tokens.length - 1, trace.target.ids.length - 1, "self_attention"],
  );
});

test("the attention of a feed-forward network's state is its stack's self-attention", () => {
  assert.equal(attentionOf({...BEGINNING, sublayer: "feed_forward"}), "self_attention");
  assert.equal(attentionOf({...BEGINNING, sublayer: "cross_attention"}), "cross_attention");
});

test("in the other stack the reader starts at its own first token, not at the same number", () => {
  const trace = readTrace(makeTrace());
  const keeper = new StateKeeper(openAddress(fakeWindow("#token=2")));
  keeper.clamp = (state) => clampState(state, trace);
  keeper.update({stack: "decoder"});
  assert.equal(keeper.state.token, trace.firstToken("decoder"));
  keeper.update({token: 2, layer: 1});
  assert.equal(keeper.state.token, 2);
  keeper.update({stack: "encoder", token: 1});
  assert.equal(keeper.state.token, 1);
});

test("a view about how sure the model is opens at its least sure step, until the reader chooses one", () => {
  const trace = readTrace(makeTrace());
  const chosen = trace.target.ids.map((id, step) => trace.array("log_probs").at(step, id));
  const unsure = stateShown(clampState(BEGINNING, trace), trace, {opensUnsure: true}).step;
  assert.equal(chosen[unsure], Math.min(...chosen));
  assert.equal(stateShown(BEGINNING, trace, {}).step, 0);
  assert.equal(stateShown({...BEGINNING, step: 0}, trace, {opensUnsure: true}).step, 0);
});

test("the back button returns; what is replaced leaves no entry", () => {
  const window = fakeWindow();
  const keeper = new StateKeeper(openAddress(window));
  const heard = [];
  keeper.subscribe((state) => heard.push(state.layer));
  keeper.update({layer: 1});
  keeper.update({layer: 2});
  keeper.update({token: 3}, {replace: true});
  assert.equal(window.entries.length, 3);
  window.back();
  assert.equal(keeper.state.layer, 1);
  assert.deepEqual(heard, [1, 2, 2, 1]);
});

test("an update that changes nothing adds nothing to the history", () => {
  const window = fakeWindow("#layer=1");
  const keeper = new StateKeeper(openAddress(window));
  keeper.update({layer: 1});
  assert.equal(window.entries.length, 1);
});

test("an option set to null is forgotten", () => {
  const keeper = new StateKeeper(openAddress(fakeWindow("#bars=5&text=x")));
  keeper.update({options: {bars: null}});
  assert.deepEqual(keeper.state.options, {text: "x"});
});

test("without an address, or with one that refuses, the state is kept in memory", () => {
  const refusing = fakeWindow("#view=score");
  refusing.history.replaceState = () => {
    throw new Error("SecurityError");
  };
  for (const window of [
    fakeWindow("", "about:"),
    refusing,
    {
      get location() {
        throw new Error("no");
      },
    },
  ]) {
    const keeper = new StateKeeper(openAddress(window));
    keeper.update({layer: 2});
    assert.equal(keeper.state.layer, 2);
    assert.equal(parseHash(keeper.address.read()).layer, 2);
  }
});

test("a request in the address comes back as it was", () => {
  const request = {
    model: "m",
    text: "je suis <b>étudiant</b> & co",
    to: "en",
    decode: {beam_size: 3, alpha: 0.6, sample: true, penalty: "gnmt"},
    prefix: "i",
    heads_off: {"decoder.0.cross_attention": [0, 3], "encoder.1.self_attention": [2]},
    reference: "i am",
  };
  const options = Object.fromEntries(Object.entries(writeRequest(request)).filter(([, value]) => value !== null));
  assert.deepEqual(readRequest(parseHash(formatHash({...BEGINNING, options})).options), request);
});

test("heads that are no heads are left out", () => {
  assert.deepEqual(readHeads("encoder.0.feed_forward:1;__proto__:2;decoder.1.self_attention:1,x,2"), {
    "decoder.1.self_attention": [1, 2],
  });
  assert.equal(writeHeads({"encoder.0.self_attention": []}), "");
});
