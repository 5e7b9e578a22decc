// One layer: its sub-layers with add & normalize around each, in this model's order.

import {arrow, box, frame} from "./frame.js";
import {label} from "./label.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./frame.js").Point} Point
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../trace.js").Sublayer} Sublayer
 * @typedef {{kind: "norm" | "add" | "add-norm" | Sublayer, number: number}} Part
 */

/** @typedef {{sublayer: number, norm: number, gap: number, margin: number}} Measures */

/** @type {Record<"roomy" | "compact", Measures>} */
const MEASURES = {
  roomy: {sublayer: 54, norm: 34, gap: 30, margin: 46},
  compact: {sublayer: 34, norm: 24, gap: 18, margin: 36},
};

/** What the page calls the sub-layers. */
export const SUBLAYER_NAMES = {
  self_attention: "self-attention",
  cross_attention: "encoder-decoder attention",
  feed_forward: "feed-forward",
};

/**
 * The parts of a layer from the bottom up.
 * @param {Trace} trace
 * @param {Stack} stack
 * @returns {Part[]}
 */
export function partsOfLayer(trace, stack) {
  return trace.sublayers(stack).flatMap((sublayer, index) => {
    const number = index + 1;
    /** @type {Part[]} */
    const post = [
      {kind: sublayer, number},
      {kind: "add-norm", number},
    ];
    /** @type {Part[]} */
    const pre = [
      {kind: "norm", number},
      {kind: sublayer, number},
      {kind: "add", number},
    ];
    return trace.config.norm === "pre" ? pre : post;
  });
}

/**
 * The height of a layer.
 * @param {Trace} trace
 * @param {Stack} stack
 * @param {boolean} [compact]
 */
export function layerHeight(trace, stack, compact = false) {
  const measures = MEASURES[compact ? "compact" : "roomy"];
  const parts = partsOfLayer(trace, stack);
  return parts.reduce((sum, part) => sum + partHeight(part, measures) + measures.gap, measures.gap + 24);
}

/**
 * Draw a layer upwards from `bottom`. The dotted line is x, bypassing each sub-layer.
 * @param {Picture} picture
 * @param {{
 *   trace: Trace, stack: Stack, layer: number, x: number, bottom: number, width: number,
 *   compact?: boolean, current?: Sublayer, note?: (part: Part) => string, beside?: (part: Part) => string,
 *   onpick?: (sublayer: Sublayer) => void}} given
 *   note: the text below a part's name; beside: the text beside the arrow that leaves it
 * @returns {{box: import("./picture.js").Box, memory: Point | null}} memory: where the encoder's output comes in
 */
export function drawLayer(picture, given) {
  const {trace, stack, layer, x, bottom, width, onpick, compact = false} = given;
  const measures = MEASURES[compact ? "compact" : "roomy"];
  const {gap, margin} = measures;
  const height = layerHeight(trace, stack, compact);
  const area = {x, y: bottom - height, width, height};
  frame(picture, {...area, meaning: stack, title: `${stack} ${layer}`});
  const left = x + margin;
  const inner = width - 2 * margin;
  const middle = x + width / 2;
  let y = bottom;
  let fork = bottom - gap * 0.35; // where x branches off to bypass a sub-layer
  /** @type {Point | null} */
  let memory = null;
  for (const part of partsOfLayer(trace, stack)) {
    const own = partHeight(part, measures);
    const top = y - gap - own;
    arrow(picture, {
      points: [
        [middle, y],
        [middle, top + own],
      ],
    });
    if (part.kind === "add" || part.kind === "add-norm") {
      const right = x + width - margin / 2;
      const points = /** @type {Point[]} */ ([
        [middle, fork],
        [right, fork],
        [right, top + own / 2],
        [left + inner, top + own / 2],
      ]);
      arrow(picture, {points, dashed: true});
      fork = top - gap * 0.65;
    }
    drawPart(picture, given, part, {x: left, y: top, width: inner, height: own}, onpick);
    if (part.kind === "cross_attention") memory = [left, top + own / 2];
    const beside = given.beside?.(part);
    // On the left: the dotted line is on the right.
    if (beside) label(picture, {x: middle - 10, y: top - 5, text: beside, size: 12, quiet: true, anchor: "end"});
    y = top;
  }
  arrow(picture, {
    points: [
      [middle, y],
      [middle, area.y - 8],
    ],
  });
  return {box: area, memory};
}

/**
 * @param {Picture} picture
 * @param {Parameters<typeof drawLayer>[1]} given
 * @param {Part} part
 * @param {import("./picture.js").Box} area
 * @param {((sublayer: Sublayer) => void) | undefined} onpick
 */
function drawPart(picture, given, part, area, onpick) {
  const {stack, layer, current} = given;
  const note = given.note?.(part);
  const {kind} = part;
  if (kind === "add" || kind === "norm" || kind === "add-norm") {
    const text = {add: "Add", norm: "Normalize", "add-norm": "Add & Normalize"}[kind];
    box(picture, {...area, text, size: given.compact ? 12 : 13, meaning: "neutral"});
    return;
  }
  const name = SUBLAYER_NAMES[kind];
  box(picture, {
    ...area,
    text: name,
    note,
    size: given.compact ? 13 : 15,
    meaning: kind === "feed_forward" ? "r" : "z",
    current: current === kind,
    filled: true,
    onpick: onpick && (() => onpick(kind)),
    spoken: `${stack} ${layer}, ${name}${note ? `, ${note}` : ""}`,
    key: `layer-${stack}-${layer}-${kind}`,
  });
}

/**
 * @param {Part} part
 * @param {Measures} measures
 */
function partHeight({kind}, measures) {
  return kind === "add" || kind === "norm" || kind === "add-norm" ? measures.norm : measures.sublayer;
}
