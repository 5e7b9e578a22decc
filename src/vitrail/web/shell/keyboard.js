// Keys that work anywhere on the page, unless a control needs them.

import {stepped} from "./pickers.js";

/**
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Changes} Changes
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../views.js").Picker} Picker
 */

/** The keys and what they do, for the help. */
export const KEYS = [
  ["← →", "token, or decoding step"],
  ["↑ ↓", "layer, when the picture has the focus"],
  ["[ ]", "head"],
  ["n p", "next and previous view"],
  ["Tab", "go into the picture; the arrow keys then read its numbers"],
];

/**
 * What a key changes, or null if nothing.
 * @param {string} key
 * @param {boolean} inPicture
 * @param {readonly Picker[]} pickers
 * @param {State} state
 * @param {Trace} trace
 * @returns {Changes | null}
 */
export function changesOfKey(key, inPicture, pickers, state, trace) {
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (pickers.includes("step")) {
      return {step: /** @type {number} */ (stepped(key, state.step, trace.target.tokens.length))};
    }
    if (pickers.includes("token")) {
      return {token: /** @type {number} */ (stepped(key, state.token, trace.tokens(state.stack).length))};
    }
  }
  if ((key === "ArrowUp" || key === "ArrowDown") && inPicture && pickers.includes("layer")) {
    const by = key === "ArrowUp" ? 1 : -1;
    return {layer: Math.max(0, Math.min(trace.layers(state.stack) - 1, state.layer + by))};
  }
  if ((key === "[" || key === "]") && pickers.includes("head")) {
    const by = key === "]" ? 1 : -1;
    return {head: Math.max(0, Math.min(trace.config.heads - 1, state.head + by))};
  }
  return null;
}
