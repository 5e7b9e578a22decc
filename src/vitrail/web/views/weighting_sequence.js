// From the score to z in one played sequence: score, ÷ √d_k, softmax, weight × v, their sum.

import {extent} from "../numbers.js";
import {fadeIn, wantsStillness} from "../draw/motion.js";
import {label} from "../draw/label.js";
import {strip} from "../draw/matrix.js";
import {subscript} from "./head_matrices.js";
import {bareStrip} from "./wrapped_vector.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./attention_parts.js").AttentionParts} AttentionParts
 */

const LAST = 4;
const SOFTMAX = 2; // where the picture stands until it is played
const OPTION = "phase";

/**
 * How far the sequence is shown: 0 the scores, 1 divided, 2 softmax, 3 weighted values, 4 their sum.
 * @param {ViewContext} context
 */
export function phaseOf(context) {
  const asked = Number(context.option(OPTION, String(SOFTMAX)));
  return Number.isInteger(asked) ? Math.max(0, Math.min(LAST, asked)) : SOFTMAX;
}

/**
 * The buttons that play it, from the beginning.
 * @param {ViewContext} context
 */
export function sequenceControls(context) {
  const isPlayed = context.option(OPTION, "") !== "";
  return context.player.controls(context, {
    key: "sequence",
    frame: isPlayed ? phaseOf(context) : LAST,
    frames: LAST + 1,
    pause: wantsStillness() ? 2200 : 1400,
    show: (phase) => context.setOption(OPTION, String(phase), {replace: true}),
  });
}

/**
 * Draw what a phase adds; it fades in while the sequence is played.
 * @param {ViewContext} context
 * @param {number} phase
 * @param {() => void} draw
 */
export function inPhase(context, phase, draw) {
  const shown = phaseOf(context);
  if (phase > shown) return;
  const group = context.picture("").group({"data-phase": phase}, draw);
  if (phase === shown && context.option(OPTION, "") !== "") fadeIn(group);
}

/**
 * Below the weights: each value times its weight, and z.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {ArrayLike<number>} weights
 * @param {{nameWidth: number, cellWidth: number, y: number}} given
 */
export function drawWeightedSum(context, parts, weights, {nameWidth, cellWidth, y}) {
  const picture = context.picture("");
  const values = parts.keyTokens.map((_, key) => parts.vector("v", key));
  const largest = Math.max(...values.map((value) => extent(value).size));
  inPhase(context, 3, () => {
    label(picture, {x: nameWidth - 10, y: y + 16, text: "weight × v", bold: true, anchor: "end", meaning: "v"});
    values.forEach((value, key) => {
      bareStrip(picture, {
        x: nameWidth + key * cellWidth + 3,
        y,
        values: Float64Array.from(value, (number) => number * weights[key]),
        width: cellWidth - 6,
        name: "weight × v",
        meaning: "v",
        largest,
      });
    });
  });
  inPhase(context, LAST, () => {
    const name = `z${subscript(parts.head)}`;
    label(picture, {x: nameWidth - 10, y: y + 54, text: `sum = ${name}`, bold: true, anchor: "end", meaning: "z"});
    strip(picture, {
      x: nameWidth + 3,
      y: y + 38,
      values: parts.array("z").row(parts.head, parts.token),
      width: parts.keyTokens.length * cellWidth - 6,
      name: `${name} of “${parts.queryTokens[parts.token]}”`,
      meaning: "z",
      key: "sequence-z",
    });
  });
}
