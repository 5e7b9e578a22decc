// The picture of row 15: the words so far, what each decoder looks at in the source, the candidates for the next word.

import {shades} from "../colour.js";
import {count, percent} from "../numbers.js";
import {bars} from "../draw/bars.js";
import {arrow, box, frame} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {letterSize} from "../draw/fit.js";
import {columnLabels, columnLabelsHeight, matrix} from "../draw/matrix.js";
import {drawEncodersBelow, drawEncodersBeside} from "./decoding_encoders.js";
import {largestPlaces} from "./distribution.js";
import {fadeIn} from "../draw/motion.js";
import {meanWeights} from "./mean_attention.js";
import {lastTokens, layOutTokens, tokenLine} from "./token_line.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {{
 *   left: number, width: number, cellsLeft: number, cell: number, isNarrow: boolean, rows: number, pitch: number,
 *   gap: number, lines: number}} Geometry
 *   left: of the decoders; cellsLeft, cell: of the heat maps over the source; rows: 1 for the mean, else one a head;
 *   pitch: from one decoder to the next, on a wide screen; gap: between the parts; lines: of words, at most
 */

const ROW = 20;
const CANDIDATES = 3;
const ABOVE = 376; // units that everything but the decoders needs
const LEAST_SCALE = 0.2; // the strongest colour is at least this weight, so that evenly spread attention stays pale

/**
 * How probable the word of a step was.
 * @param {ViewContext} context
 * @param {number} step
 */
export function probabilityOf({trace}, step) {
  return Math.exp(trace.array("log_probs").at(step, trace.target.ids[step]));
}

/**
 * @param {ViewContext} context
 * @returns {Geometry}
 */
function measure({trace, room, tall}, /** @type {boolean} */ each) {
  const isNarrow = room < 640;
  const left = isNarrow ? 34 : 356;
  const inset = isNarrow ? 14 : 120;
  const keys = trace.source.tokens.length;
  const cell = Math.max(6, Math.min(52, (room - left - inset - 30) / keys));
  const rows = each ? trace.config.heads : 1;
  const width = Math.max(inset + keys * cell + 30, isNarrow ? room - left : 300);
  const layers = trace.layers("decoder");
  const pitch = Math.max(24, Math.min(Math.max(rows * 14, 44) + 18, (tall - ABOVE) / layers));
  const isLow = ABOVE + 120 + layers * pitch > tall;
  return {
    left,
    width,
    cellsLeft: left + inset,
    cell,
    isNarrow,
    rows,
    pitch,
    gap: isLow ? 20 : 30,
    lines: isLow ? 1 : Infinity,
  };
}

/**
 * One step: the encoders with their keys and values, what each decoder looks at, and the next word.
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each every head on its own
 */
export function drawDecoding(context, step, each) {
  const {trace} = context;
  const picture = context.picture("One step of decoding");
  const g = measure(context, each);
  const output = drawOutput(context, step, g);
  const decoders = drawDecoders(context, step, g, output.bottom + g.gap);
  const middle = g.left + g.width / 2;
  arrow(picture, {
    points: [
      [middle, decoders.y - 2],
      [middle, output.bottom + 4],
    ],
    meaning: "r",
    width: 3,
  });
  const fedTop = decoders.y + decoders.height + g.gap + 4;
  arrow(picture, {
    points: [
      [middle, fedTop - 4],
      [middle, decoders.y + decoders.height + 4],
    ],
    meaning: "x",
    width: 3,
  });
  const read = lastTokens(picture, trace.target.input_tokens.slice(0, step + 1), g.width, g.lines);
  const fed = tokenLine(picture, {
    x: g.left,
    y: fedTop,
    width: g.width,
    tokens: read,
    current: read.length - 1,
    meaning: "x",
  });
  label(picture, {x: g.left, y: fedTop + fed.height + 22, text: "fed in: all words so far", size: 13, quiet: true});
  if (g.isNarrow) drawEncodersBelow(context, g, decoders, fedTop + fed.height + 50);
  else drawEncodersBeside(context, decoders, fedTop + fed.height);
  const top = trace.layers("decoder") - 1;
  const seen = meanWeights(trace, `decoder.${top}.cross_attention`, step);
  const looks = largestPlaces(seen, 3).map((key) => `${trace.source.tokens[key]} ${percent(seen[key])}`);
  picture.describe(
    `Step ${step + 1} of ${trace.target.tokens.length}. ` +
      `Fed in: ${trace.target.input_tokens.slice(0, step + 1).join(" ")}. ` +
      `Decoder ${top} looks at ${looks.join(", ")}. The output is ${trace.target.tokens[step]}, ` +
      `with probability ${percent(probabilityOf(context, step))}.`,
  );
}

/**
 * The words so far, and the candidates for the next one.
 * @param {ViewContext} context
 * @param {number} step
 * @param {Geometry} g
 */
function drawOutput(context, step, g) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const {ids, tokens} = trace.target;
  // Room for the whole sentence from the start, so that nothing jumps as it grows.
  const whole = Math.min(g.lines * 36 - 6, layOutTokens(picture, tokens, g.width).height);
  const soFar = lastTokens(picture, tokens.slice(0, step + 1), g.width, g.lines);
  const said = tokenLine(picture, {
    x: g.left,
    y: 22,
    width: g.width,
    tokens: soFar,
    current: soFar.length - 1,
    meaning: "decoder",
  });
  if (said.currentNode) fadeIn(said.currentNode);
  label(picture, {x: g.left, y: 12, text: "the translation so far", size: 13, quiet: true});
  const logProbs = trace.array("log_probs").row(step);
  const best = largestPlaces(logProbs, CANDIDATES);
  if (!best.includes(ids[step])) best[CANDIDATES - 1] = ids[step];
  const top = 22 + whole + g.gap;
  const height = 40 + best.length * 24;
  frame(picture, {
    x: g.left,
    y: top,
    width: g.width,
    height,
    title: "linear and softmax",
    note: g.isNarrow ? undefined : `${count(trace.vocabulary.length)} words to choose from`,
  });
  bars(picture, {
    x: g.left + 12,
    y: top + 34,
    width: g.width - 26,
    nameWidth: g.isNarrow ? 84 : 92,
    names: best.map((id) => trace.vocabulary[id]),
    values: best.map((id) => Math.exp(logProbs[id])),
    largest: 1,
    write: (value) => percent(value),
    rowHeight: 24,
    name: `The most probable words at step ${step + 1}`,
    colour: (index) => shades(best[index] === ids[step] ? "decoder" : "neutral", theme).strong,
    current: best.indexOf(ids[step]),
    key: "decoding-output",
  });
  const middle = g.left + g.width / 2;
  arrow(picture, {
    points: [
      [middle, top - 2],
      [middle, 22 + whole + 4],
    ],
    meaning: "decoder",
    width: 3,
  });
  return {bottom: top + height};
}

/**
 * The decoders, the last one on top, each with where it looks.
 * @param {ViewContext} context
 * @param {number} step
 * @param {Geometry} g
 * @param {number} y
 * @returns {import("./decoding_encoders.js").Decoders}
 */
function drawDecoders(context, step, g, y) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const layers = trace.layers("decoder");
  const source = trace.source.tokens;
  const letters = letterSize(1.4 * g.cell, 13);
  const names = columnLabelsHeight(picture, source, g.cell, letters);
  const rowHeight = Math.min(g.rows > 1 ? 14 : ROW + 6, g.isNarrow ? ROW : (g.pitch - 8) / g.rows);
  const block = g.rows * rowHeight;
  const pitch = g.isNarrow ? block + 42 + 18 : g.pitch;
  const inside = pitch - (g.isNarrow ? 60 : 8); // what a decoder fills of that
  const top = y + 34 + names;
  const height = 34 + names + layers * pitch + 4;
  frame(picture, {
    x: g.left,
    y,
    width: g.width,
    height,
    meaning: "decoder",
    title: g.isNarrow ? "what each decoder looks at" : "what each decoder looks at in the source",
  });
  /** @param {number} layer */
  const layerTop = (layer) => top + (layers - 1 - layer) * pitch;
  const largest = Math.max(LEAST_SCALE, ...everyShare(context, step, g.rows > 1)); // one scale for all decoders
  for (let layer = 0; layer < layers; layer++) {
    const weights = trace.array(`decoder.${layer}.cross_attention.weights`);
    const mean = meanWeights(trace, `decoder.${layer}.cross_attention`, step);
    const cellsTop = layerTop(layer) + (g.isNarrow ? 0 : (inside - block) / 2);
    box(picture, {
      x: g.left + 12,
      y: g.isNarrow ? layerTop(layer) + block + 8 : layerTop(layer) + (inside - Math.min(34, inside)) / 2,
      width: 98,
      height: g.isNarrow ? 30 : Math.min(34, inside),
      text: `decoder ${layer}`,
      meaning: "decoder",
      filled: false,
      size: 14,
      onpick: () => context.go("attention", {stack: "decoder", layer, sublayer: "cross_attention", token: step}),
      spoken: `decoder ${layer}: see its attention`,
      key: `decoding-decoder-${layer}`,
    });
    const heat = matrix(picture, {
      x: g.cellsLeft,
      y: cellsTop,
      rows: g.rows,
      columns: source.length,
      cellWidth: g.cell,
      cellHeight: rowHeight,
      value: (row, column) => (g.rows > 1 ? weights.at(row, step, column) : mean[column]),
      largest,
      colour: shades("decoder", theme).strong,
      name: `Decoder ${layer}, encoder-decoder attention`,
      describe: (row, column) => [
        `decoder ${layer}, ${whichHead(context, row, g.rows > 1)} → “${source[column]}”`,
        percent(g.rows > 1 ? weights.at(row, step, column) : mean[column]),
      ],
      meaning: "decoder",
      key: `decoding-weights-${layer}`,
    });
    if (layer === layers - 1) {
      columnLabels(picture, {box: {...heat, y: top}, names: source, size: letters, gap: g.isNarrow ? 4 : 6});
    }
  }
  return {
    x: g.left,
    y,
    width: g.width,
    height,
    layerMiddle: (layer) => layerTop(layer) + (g.isNarrow ? block + 23 : inside / 2),
    pitch,
  };
}

/**
 * All attention weights that a step shows.
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each
 */
function everyShare(context, step, each) {
  const {trace} = context;
  return Array.from({length: trace.layers("decoder")}, (_, layer) => {
    if (!each) return Array.from(meanWeights(trace, `decoder.${layer}.cross_attention`, step));
    const weights = trace.array(`decoder.${layer}.cross_attention.weights`);
    return Array.from({length: trace.config.heads}, (__, head) => Array.from(weights.row(head, step))).flat();
  }).flat();
}

/**
 * @param {ViewContext} context
 * @param {number} head
 * @param {boolean} each
 */
function whichHead({trace}, head, each) {
  if (!each) return "mean of its heads";
  const {heads, kv_heads} = trace.config;
  return kv_heads === heads ? `head ${head}` : `head ${head}, with kv head ${trace.kvHead(head)}`;
}
