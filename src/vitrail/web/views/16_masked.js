// Row 16, masked self-attention: what comes later is −∞ before the softmax and 0 after it.

import {shades} from "../colour.js";
import {decimal, percent, precise} from "../numbers.js";
import {plain, word} from "../context.js";
import {shape} from "../dom.js";
import {arrow} from "../draw/frame.js";
import {label, textWidth} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {numberTable} from "../draw/table.js";
import {keysToShow} from "./attention_parts.js";
import {pickerRow} from "../shell/pickers.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Tensor} Tensor
 */

const MOST_WRITTEN = 16; // longer sentences have cells too small for numbers
const LONG = 40; // tokens; beyond, cells are too small for names

/** @type {import("../views.js").View} */
export const maskedView = {
  id: "masked",
  row: 16,
  title: "Masked self-attention",
  pickers: ["head", "step"],
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
    context.say`When a decoder chooses a word, the words after it do not exist yet. So at step ${step + 1}, with
      ${word(tokens[step])} fed in, ${plain(later(hidden))}: before the softmax their scores
      are set to ${"−∞"}, and after it they weigh exactly ${"0"}.`;
    const own = weights.at(head, step, step);
    context.say`Nothing is lost by it: the weights of the ${step + 1} visible
      ${plain(step ? "positions" : "position")} still sum to 1. In decoder ${layer}, head ${head}${plain(sharing(context))} gives ${word(tokens[step])} itself
      ${percent(own)}${plain(step ? "" : ": at the first step there is nothing else to look at")}.`;
    draw(context, name);
  },
};

/** @param {number} hidden */
function later(hidden) {
  if (hidden === 0) return "no position is hidden any more; at the others";
  return hidden === 1 ? "the one later position is hidden" : `the ${hidden} later positions are hidden`;
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
  const {trace, state, room, theme} = context;
  const {head, step} = state;
  const picture = context.picture("Masked self-attention before and after the softmax");
  const tokens = trace.target.input_tokens;
  const scaled = trace.array(`${name}.scaled`);
  const weights = trace.array(`${name}.weights`);
  const names = Math.min(110, Math.max(...tokens.map((token) => textWidth(token, 14, true)))) + 10;
  const gap = 64;
  const slant = 24; // the last column's name leans over its edge
  const isBeside = room > 760 && ((room - gap - slant) / 2 - names) / tokens.length >= 15;
  const space = (isBeside ? (room - gap - slant) / 2 : room - slant) - names;
  const isLong = tokens.length > LONG;
  const cell = isLong
    ? Math.max(3, Math.min(15, space / tokens.length))
    : Math.max(15, Math.min(52, space / tokens.length));
  const height = isLong ? cell : cell < 24 ? Math.max(cell, 15) : Math.min(cell, 30);
  const above = (isLong ? 24 : columnLabelsHeight(tokens, cell, 13)) + 34;
  const digits = tokens.length <= MOST_WRITTEN && cell >= 36 ? 1 : undefined;
  const width = names + tokens.length * cell;
  const before = drawMatrix(context, scaled, {x: names, y: above, cell, height, digits, isAfter: false});
  const place = isBeside ? {x: width + gap + names, y: above} : {x: names, y: before.y + before.height + 54 + above};
  const after = drawMatrix(context, weights, {...place, cell, height, digits: digits && 2, isAfter: true});
  if (isBeside) {
    const middle = before.y + before.height / 2;
    arrow(picture, {
      points: [
        [before.x + before.width + 8, middle],
        [before.x + before.width + gap - 4, middle],
      ],
      width: 3,
    });
    label(picture, {
      x: before.x + before.width + gap / 2,
      y: middle - 12,
      text: "softmax",
      size: 13,
      quiet: true,
      anchor: "middle",
    });
  } else {
    const middle = before.x + before.width / 2;
    arrow(picture, {
      points: [
        [middle, before.y + before.height + 6],
        [middle, before.y + before.height + 40],
      ],
      width: 3,
    });
    label(picture, {x: middle + 14, y: before.y + before.height + 28, text: "softmax", size: 13, quiet: true});
  }
  drawRow(context, name, after.y + after.height + 34);
  picture.describe(
    `${tokens.length} by ${tokens.length} scores of head ${head}; everything right of the diagonal is −∞ before the softmax ` +
      `and 0 after it. “${tokens[step]}” weighs ${tokens
        .slice(0, step + 1)
        .map((token, key) => `“${token}” ${decimal(weights.at(head, step, key), 3)}`)
        .join(", ")}.`,
  );

  /**
   * The rows of numbers for the chosen step.
   * @param {ViewContext} context
   * @param {string} name
   * @param {number} y
   */
  function drawRow({trace}, name, y) {
    const scores = trace.array(`${name}.scores`).row(head, step);
    const divisor = Math.sqrt(trace.config.d_k);
    const shown = keysToShow(weights.row(head, step), isLong ? 14 : tokens.length, step);
    const some = (/** @type {ArrayLike<number>} */ row) => shown.map((key) => row[key]);
    const which = isLong ? `, where it weighs most: ${shown.length} of ${tokens.length}` : "";
    label(picture, {x: 0, y, text: `the row of “${tokens[step]}”${which}`, bold: true});
    numberTable(picture, {
      x: 0,
      y: y + 8,
      columns: shown.map((key) => tokens[key]),
      rows: [
        {name: "q·k / √d_k", values: some(scores).map((score) => score / divisor), meaning: "q"},
        {name: "masked", values: some(scaled.row(head, step)), meaning: "neutral"},
        {
          name: "softmax",
          values: some(weights.row(head, step)),
          meaning: "decoder",
          bold: true,
          write: (weight) => (weight === 0 ? "0" : decimal(weight, 3)),
        },
      ],
      name: `Step ${step + 1}, before and after the mask and after the softmax`,
      current: shown.indexOf(step),
      cellWidth: Math.max(46, Math.min(90, (room - 112) / shown.length)),
      size: (room - 112) / shown.length < 56 ? 13 : 15,
      key: "masked-row",
    });
  }

  /**
   * @param {ViewContext} context
   * @param {Tensor} values
   * @param {{x: number, y: number, cell: number, height: number, digits: number | undefined, isAfter: boolean}} given
   */
  function drawMatrix(context, values, {x, y, cell, height, digits, isAfter}) {
    const title = isAfter ? "weights: after the softmax" : "scores / √d_k: before the softmax";
    const box = matrix(picture, {
      x,
      y,
      rows: tokens.length,
      columns: tokens.length,
      cellWidth: cell,
      cellHeight: height,
      value: (row, column) => values.at(head, row, column),
      digits,
      ...(isAfter ? {colour: shades("decoder", theme).strong, largest: 1} : {}),
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
    outline(box, cell, height);
    if (digits === undefined && tokens.length > 3) writeHidden(box, isAfter ? "0" : "−∞");
    if (isLong) {
      // Names would touch: only the chosen token has its own.
      rowLabels(picture, {
        box: {...box, y: box.y + step * height, height},
        names: [tokens[step]],
        size: 14,
        width: 110,
        current: 0,
      });
      label(picture, {
        x: box.x + (step + 0.5) * cell,
        y: y - 6,
        text: tokens[step],
        size: 13,
        bold: true,
        anchor: "middle",
      });
    } else {
      rowLabels(picture, {box, names: tokens, size: 14, width: 110, current: step});
      columnLabels(picture, {box, names: tokens, size: 13, current: step, gap: 6});
    }
    label(picture, {x, y: y - above + 14, text: title, bold: true, size: 14});
    return box;
  }

  /**
   * The stairs between what is seen and what is hidden: not by colour alone.
   * @param {import("../draw/picture.js").Box} box
   * @param {number} cell
   * @param {number} height
   */
  function outline(box, cell, height) {
    let d = "";
    for (let row = 0; row + 1 < tokens.length; row++) {
      const left = box.x + (row + 1) * cell;
      d += `M${left} ${box.y + row * height}v${height}h${cell}`;
    }
    const stroke = shades("decoder", theme).strong;
    picture.add(shape("path", {d, fill: "none", stroke, "stroke-width": 2.5, "pointer-events": "none"}));
  }

  /**
   * One large number for all hidden cells, where they are too small to hold theirs.
   * @param {import("../draw/picture.js").Box} box
   * @param {string} text
   */
  function writeHidden(box, text) {
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
}
