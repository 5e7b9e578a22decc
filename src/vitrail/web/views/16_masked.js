// Row 16, masked self-attention: what comes later is −∞ before the softmax and 0 after it.

import {shades} from "../colour.js";
import {decimal, percent, precise} from "../numbers.js";
import {plain, word} from "../context.js";
import {shape} from "../dom.js";
import {arrow} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {letterSize} from "../draw/fit.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {numberTable} from "../draw/table.js";
import {positionsOf} from "../positions/kinds.js";
import {keysToShow} from "./attention_parts.js";
import {pickerRow} from "../shell/pickers.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {import("../draw/picture.js").Box} Box
 */

const MOST_WRITTEN = 16; // longer sentences have cells too small for numbers
const LONG = 40; // tokens; beyond this, cells are too small for names
const TABLE = 140; // the height of the table below the matrices

/** @type {import("../views.js").View} */
export const maskedView = {
  id: "masked",
  row: 16,
  title: "Masked self-attention",
  pickers: ["head", "step"],
  place: ({layer}, trace) => ({
    stack: "decoder",
    layer: Math.min(layer, trace.layers("decoder") - 1),
    sublayer: "self_attention",
  }),
  render(context) {
    const {trace, state} = context;
    const layer = Math.min(state.layer, trace.layers("decoder") - 1);
    context.controls(
      pickerRow("layer", {
        trace,
        state: {...state, stack: "decoder", layer},
        theme: context.theme,
        update: (changes, how) => context.update({...changes, stack: "decoder", sublayer: "self_attention"}, how),
      }),
    );
    const name = `decoder.${layer}.self_attention`;
    const tokens = trace.target.input_tokens;
    const {step, head} = state;
    const hidden = tokens.length - 1 - step;
    const weights = trace.array(`${name}.weights`);
    context.lead`The words after ${word(tokens[step])} are hidden: ${"−∞"} before the softmax, exactly ${"0"} after
      it.`;
    context.say`When a decoder chooses a word, the words after it do not exist yet, so it must not see them. At step
      ${step + 1}, with ${word(tokens[step])} as the newest input, ${plain(later(hidden))}.`;
    const own = weights.at(head, step, step);
    const which = `head ${head}${sharing(context)}`;
    if (step === 0) {
      context.say`At the first step there is nothing else to look at: in decoder ${layer}, ${which} gives
        ${word(tokens[step])} itself ${percent(own)}.`;
    } else {
      context.say`The weights of the ${step + 1} visible positions still add up to 1. In decoder ${layer}, ${which}
        gives ${word(tokens[step])} itself ${percent(own)}.`;
    }
    draw(context, name);
  },
};

/** @param {number} hidden */
function later(hidden) {
  if (hidden === 0) return "nothing is left to hide";
  return hidden === 1 ? "one later position is hidden" : `${hidden} later positions are hidden`;
}

/** @param {ViewContext} context */
function sharing({trace, state}) {
  const {heads, kv_heads} = trace.config;
  return kv_heads === heads ? "" : ` (with kv head ${trace.kvHead(state.head)})`;
}

/**
 * @param {ViewContext} context
 * @param {string} name
 */
function draw(context, name) {
  const {trace, state, room} = context;
  const {head, step} = state;
  const picture = context.picture("Masked self-attention before and after the softmax");
  const tokens = trace.target.input_tokens;
  const scaled = trace.array(`${name}.scaled`);
  const weights = trace.array(`${name}.weights`);
  const names = Math.min(110, picture.ruler.widest(tokens, 14, true)) + 10;
  const gap = 64;
  const slant = 24; // the last column's name leans over its edge
  const isBeside = room > 720 && ((room - gap - slant) / 2 - names) / tokens.length >= (tokens.length > LONG ? 4 : 12);
  const space = (isBeside ? (room - gap - slant) / 2 : room - slant) - names;
  const cells = cellsFor(tokens.length, space, (context.tall - TABLE - 90) / tokens.length);
  const above = (tokens.length > LONG ? 24 : columnLabelsHeight(picture, tokens, cells.width, 13)) + 34;
  const digits = tokens.length <= MOST_WRITTEN && cells.width >= 36 ? 1 : undefined;
  const width = names + tokens.length * cells.width;
  const before = drawMatrix(context, scaled, {x: names, y: above, above, cells, digits, isAfter: false});
  const place = isBeside ? {x: width + gap + names, y: above} : {x: names, y: before.y + before.height + 54 + above};
  const after = drawMatrix(context, weights, {...place, above, cells, digits: digits && 2, isAfter: true});
  drawSoftmax(picture, before, isBeside ? gap : null);
  drawRow(context, name, after.y + after.height + 34);
  picture.describe(
    `${tokens.length} by ${tokens.length} scores of head ${head}. Everything right of the diagonal is −∞ before the ` +
      `softmax and 0 after it. The weights of “${tokens[step]}”: ${tokens
        .slice(0, step + 1)
        .map((token, key) => `“${token}” ${decimal(weights.at(head, step, key), 3)}`)
        .join(", ")}.`,
  );
}

/**
 * How large the cells of a matrix are.
 * @param {number} tokens
 * @param {number} space
 * @param {number} highest
 */
function cellsFor(tokens, space, highest) {
  const each = space / tokens;
  if (tokens > LONG) {
    const side = Math.max(3, Math.min(15, each, highest));
    return {width: side, height: side};
  }
  const width = Math.max(12, Math.min(52, each));
  return {width, height: Math.max(10, Math.min(highest, width < 24 ? Math.max(width, 15) : Math.min(width, 30)))};
}

/**
 * The arrow from one matrix to the other: to the right over a gap, or down.
 * @param {Picture} picture
 * @param {Box} before
 * @param {number | null} gap
 */
function drawSoftmax(picture, before, gap) {
  const right = before.x + before.width;
  const bottom = before.y + before.height;
  const title = {text: "softmax", size: 13, quiet: true};
  if (gap === null) {
    const middle = before.x + before.width / 2;
    arrow(picture, {
      points: [
        [middle, bottom + 6],
        [middle, bottom + 40],
      ],
      width: 3,
    });
    label(picture, {...title, x: middle + 14, y: bottom + 28});
    return;
  }
  const middle = before.y + before.height / 2;
  arrow(picture, {
    points: [
      [right + 8, middle],
      [right + gap - 4, middle],
    ],
    width: 3,
  });
  label(picture, {...title, x: right + gap / 2, y: middle - 12, anchor: "middle"});
}

/**
 * The rows of numbers for the chosen step.
 * @param {ViewContext} context
 * @param {string} name
 * @param {number} y
 */
function drawRow(context, name, y) {
  const {trace, state, room} = context;
  const {head, step} = state;
  const picture = context.picture("");
  const tokens = trace.target.input_tokens;
  const isLong = tokens.length > LONG;
  const scores = trace.array(`${name}.scores`).row(head, step);
  const scaled = trace.array(`${name}.scaled`).row(head, step);
  const weights = trace.array(`${name}.weights`).row(head, step);
  const root = Math.sqrt(trace.config.d_k);
  const {bias} = positionsOf(trace);
  const unmasked = (/** @type {number} */ key) => scores[key] / root + (bias ? bias.of(trace, head, step, key) : 0);
  const most = Math.max(4, Math.floor((room - 130) / 46));
  const shown = keysToShow(weights, isLong ? Math.min(14, most) : most, step);
  const some = (/** @type {ArrayLike<number>} */ row) => shown.map((key) => row[key]);
  const divided = `q·k / √d_k${bias ? ` ${bias.title}` : ""}`;
  const nameWidth = Math.max(112, picture.ruler.width(divided, 14, true) + 20);
  const cellWidth = (room - nameWidth) / shown.length;
  const which = shown.length < tokens.length ? `, its ${shown.length} largest weights of ${tokens.length}` : "";
  label(picture, {x: 0, y, text: `the row of “${tokens[step]}”${which}`, bold: true});
  numberTable(picture, {
    x: 0,
    y: y + 8,
    columns: shown.map((key) => tokens[key]),
    rows: [
      {name: divided, values: shown.map(unmasked), meaning: "q"},
      {name: "masked", values: some(scaled), meaning: "neutral"},
      {
        name: "softmax",
        values: some(weights),
        meaning: "decoder",
        bold: true,
        write: (weight) => (weight === 0 ? "0" : decimal(weight, 3)),
      },
    ],
    name: `Step ${step + 1}, before and after the mask and after the softmax`,
    current: shown.indexOf(step),
    rowHeight: 26,
    cellWidth: Math.max(46, Math.min(90, cellWidth)),
    size: cellWidth < 56 ? 13 : 15,
    key: "masked-row",
  });
}

/**
 * @param {ViewContext} context
 * @param {Tensor} values
 * @param {{
 *   x: number, y: number, above: number, cells: {width: number, height: number}, digits: number | undefined,
 *   isAfter: boolean}} given
 *   above: the room for names and title
 */
function drawMatrix(context, values, {x, y, above, cells, digits, isAfter}) {
  const {head, step} = context.state;
  const picture = context.picture("");
  const tokens = context.trace.target.input_tokens;
  const {bias} = positionsOf(context.trace);
  const divided = `scores / √d_k${bias ? ` ${bias.title}` : ""}`;
  const title = isAfter ? "weights: after the softmax" : `${divided}: before the softmax`;
  const box = matrix(picture, {
    x,
    y,
    rows: tokens.length,
    columns: tokens.length,
    cellWidth: cells.width,
    cellHeight: cells.height,
    value: (row, column) => values.at(head, row, column),
    digits,
    ...(isAfter ? {colour: shades("decoder", picture.theme).strong, largest: 1} : {}),
    name: title,
    describe: (row, column) => [
      `“${tokens[row]}” → “${tokens[column]}”${column > row ? ", which comes later" : ""}`,
      precise(values.at(head, row, column)),
    ],
    onpick: (row) => context.update({step: row}),
    current: {row: step},
    meaning: "decoder",
    key: isAfter ? "masked-weights" : "masked-scores",
  });
  drawStairs(picture, box, tokens.length);
  if (digits === undefined && tokens.length > 3) writeHidden(picture, box, isAfter ? "0" : "−∞");
  if (tokens.length > LONG) {
    // Names would touch: only the chosen token has its own.
    const row = {...box, y: box.y + step * cells.height, height: cells.height};
    rowLabels(picture, {box: row, names: [tokens[step]], size: 14, width: 110, current: 0});
    const middle = box.x + (step + 0.5) * cells.width;
    label(picture, {x: middle, y: y - 6, text: tokens[step], size: 13, bold: true, anchor: "middle"});
  } else {
    rowLabels(picture, {box, names: tokens, size: letterSize(cells.height, 14), width: 110, current: step});
    columnLabels(picture, {box, names: tokens, size: letterSize(1.4 * cells.width, 13), current: step, gap: 6});
  }
  label(picture, {x, y: y - above + 14, text: title, bold: true, size: 14});
  return box;
}

/**
 * The staircase between visible and hidden cells, so that colour is not the only sign.
 * @param {Picture} picture
 * @param {Box} box
 * @param {number} tokens
 */
function drawStairs(picture, box, tokens) {
  const [width, height] = [box.width / tokens, box.height / tokens];
  let d = "";
  for (let row = 0; row + 1 < tokens; row++) {
    d += `M${box.x + (row + 1) * width} ${box.y + row * height}v${height}h${width}`;
  }
  const stroke = shades("decoder", picture.theme).strong;
  picture.add(shape("path", {d, fill: "none", stroke, "stroke-width": 2.5, "pointer-events": "none"}));
}

/**
 * One large number for all hidden cells, if they are too small to hold their own.
 * @param {Picture} picture
 * @param {Box} box
 * @param {string} text
 */
function writeHidden(picture, box, text) {
  picture.group({"pointer-events": "none"}, () => {
    label(picture, {
      x: box.x + box.width * 0.72,
      y: box.y + box.height * 0.3 + 12,
      text,
      size: Math.min(40, box.width / 6),
      bold: true,
      quiet: true,
      anchor: "middle",
    });
  });
}
