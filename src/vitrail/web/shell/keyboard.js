// Keys that work anywhere on the page, unless a control needs them.

import {element} from "../dom.js";
import {stepped} from "./pickers.js";

/**
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Changes} Changes
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../views.js").Picker} Picker
 * @typedef {import("../views.js").View} View
 */

/** The keys and what they do, for the help. */
export const KEYS = [
  ["← →", "token or decoding step; in a view without them, the previous or next view"],
  ["↑ ↓", "layer"],
  ["[ ]", "head"],
  ["p n", "previous and next view (a presenter's Page Up and Page Down too, on the projector)"],
  ["f", "projector mode on and off"],
  ["Tab", "go into the picture; the arrow keys then read its numbers"],
];

/**
 * The view that a key leads to, or null. A view without tokens and steps leaves the arrows to the guide.
 * @param {string} key
 * @param {readonly View[]} views
 * @param {View} current
 * @param {boolean} isProjected
 * @returns {View | null}
 */
export function viewOfKey(key, views, current, isProjected) {
  const steps = current.pickers.includes("step") || current.pickers.includes("token");
  const forward = ["n", ...(steps ? [] : ["ArrowRight"]), ...(isProjected ? ["PageDown"] : [])];
  const back = ["p", ...(steps ? [] : ["ArrowLeft"]), ...(isProjected ? ["PageUp"] : [])];
  const by = forward.includes(key) ? 1 : back.includes(key) ? -1 : 0;
  return by ? (views[views.indexOf(current) + by] ?? null) : null;
}

/**
 * What a key changes, or null if nothing.
 * @param {string} key
 * @param {readonly Picker[]} pickers
 * @param {State} state
 * @param {Trace} trace
 * @returns {Changes | null}
 */
export function changesOfKey(key, pickers, state, trace) {
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (pickers.includes("step")) {
      return {step: /** @type {number} */ (stepped(key, state.step, trace.target.tokens.length))};
    }
    if (pickers.includes("token")) {
      return {token: /** @type {number} */ (stepped(key, state.token, trace.tokens(state.stack).length))};
    }
  }
  if ((key === "ArrowUp" || key === "ArrowDown") && pickers.includes("layer")) {
    const by = key === "ArrowUp" ? 1 : -1;
    return {layer: Math.max(0, Math.min(trace.layers(state.stack) - 1, state.layer + by))};
  }
  if ((key === "[" || key === "]") && pickers.includes("head")) {
    const by = key === "]" ? 1 : -1;
    return {head: Math.max(0, Math.min(trace.config.heads - 1, state.head + by))};
  }
  return null;
}

/** The help that the header's button opens. */
export function keyHelp() {
  return element(
    "details",
    {class: "key-help"},
    element("summary", {title: "Keys", "data-key": "keys"}, "Keys"),
    element(
      "dl",
      {},
      ...KEYS.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)]),
    ),
  );
}
