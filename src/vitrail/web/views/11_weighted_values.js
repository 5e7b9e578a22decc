// Row 11, weighted values and their sum: what a token takes from the others.

import {coloured, plain, word, wordAt} from "../context.js";
import {shape} from "../dom.js";
import {css, inkOn, shades, shareRgb, headColour} from "../colour.js";
import {decimal, extent, percent, precise} from "../numbers.js";
import {strip} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {readable} from "../draw/reading.js";
import {addsUp} from "./adding_up.js";
import {subscript} from "./head_matrices.js";
import {AttentionParts, strongest} from "./attention_parts.js";
import {oneOf} from "./choices.js";
import {bareStrip} from "./wrapped_vector.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {{name: string, weight: number | null, values: ArrayLike<number>, source?: ArrayLike<number>}} Term
 *   one row of the sum: values are what it adds to z; source: the v it comes from
 */

const DIGITS = 3;
const ROW = 28;
const MOST_TOKENS = 16; // more lines than this are summed up in one

/** @type {import("../views.js").View} */
export const weightedValuesView = {
  id: "weighted-values",
  row: 11,
  title: "Weighted values and their sum",
  pickers: ["attention", "layer", "head", "token"],
  render(context) {
    const parts = new AttentionParts(context);
    const asking = parts.queryTokens[parts.token];
    const weights = parts.array("weights").row(parts.head, parts.token);
    const best = strongest(weights);
    context.lead`Each ${coloured("v", "value")} times its weight; their sum is ${coloured("z", nameOfZ(parts))},
      what head ${plain(String(parts.head))} has to say about ${word(asking)}.`;
    context.say`Tokens that matter little almost vanish; ${wordAt(parts.keyTokens, best)}, with
      ${percent(weights[best])}, counts most. This is ${parts.headName}.`;
    context.say`Each column below adds up to the last digit shown. The terms are rounded to make that work; point at one
      for the exact number.`;
    parts.sayPositions(context);
    if (parts.isOff) context.say`This head is switched off: its sum is multiplied by ${"0"}.`;
    draw(context, parts, weights);
  },
};

/**
 * The z of one head: "z₂". Without a number, z is what all heads found together (views 6 and 14).
 * @param {AttentionParts} parts
 */
function nameOfZ({head}) {
  return `z${subscript(head)}`;
}

/**
 * The rows of the sum, in the sentence's order; in long sentences the smaller ones are added together.
 * @param {AttentionParts} parts
 * @param {Float32Array} weights
 * @returns {Term[]}
 */
export function termsOf(parts, weights) {
  const {d_k} = parts.trace.config;
  const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);
  const shown = new Set(order.length > MOST_TOKENS ? order.slice(0, MOST_TOKENS - 1) : order);
  const rest = new Float64Array(d_k);
  let restWeight = 0;
  /** @type {Term[]} */
  const terms = [];
  for (let key = 0; key < weights.length; key++) {
    const source = parts.vector("v", key);
    const values = Float64Array.from(source, (value) => value * weights[key]);
    if (shown.has(key)) terms.push({name: parts.keyTokens[key], weight: weights[key], values, source});
    else {
      restWeight += weights[key];
      values.forEach((value, index) => (rest[index] += value));
    }
  }
  if (shown.size < weights.length) {
    terms.push({name: `${weights.length - shown.size} others`, weight: restWeight, values: rest});
  }
  return [...terms, ...parts.positions.moreValues(parts).map((more) => ({...more, weight: null}))];
}

/**
 * The sum before a switched-off head sets it to zero: z itself, if the head is on.
 * @param {AttentionParts} parts
 * @param {Term[]} terms
 */
function sumOf(parts, terms) {
  if (!parts.isOff) return parts.array("z").row(parts.head, parts.token);
  return Float64Array.from(terms[0].values, (_, index) => terms.reduce((sum, term) => sum + term.values[index], 0));
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Float32Array} weights
 */
function draw(context, parts, weights) {
  const picture = context.picture("Values weighted and summed");
  const asking = parts.queryTokens[parts.token];
  const {d_k} = context.trace.config;
  const {room} = context;
  const isWide = room >= 600;
  const terms = termsOf(parts, weights);
  const z = sumOf(parts, terms);
  const nameWidth = Math.min(
    isWide ? 110 : 72,
    Math.max(60, ...terms.map((term) => picture.ruler.width(term.name, 14, true) + 2)),
  );
  const weightLeft = nameWidth + 8;
  const left = weightLeft + 62;
  const largest = Math.max(...terms.map((term) => extent(term.values).size), extent(z).size);
  const pitch = Math.ceil(picture.ruler.width(decimal(-largest, DIGITS), 13.5, true)) + 14;
  const inNumbers = columnsShown(context, d_k, Math.floor((room - left - (isWide ? 150 : 0)) / pitch));
  const stripWidth = isWide ? room - left - 16 - inNumbers.count * pitch : 0;
  const numberLeft = isWide ? left + stripWidth + 16 : left;
  const cellWidth = isWide ? pitch : Math.floor((room - left) / inNumbers.count);

  if (inNumbers.count < d_k) context.controls(inNumbers.picker);
  const top = 34;
  label(picture, {x: weightLeft + 50, y: 22, text: "weight", size: 13, bold: true, anchor: "end"});
  if (isWide) label(picture, {x: left, y: 22, text: "weight × v, all numbers", size: 13, bold: true, meaning: "v"});
  for (let column = 0; column < inNumbers.count; column++) {
    const x = numberLeft + (column + 1) * cellWidth - 8;
    label(picture, {
      x,
      y: 22,
      text: String(inNumbers.first + column),
      size: 12,
      quiet: true,
      anchor: "end",
      numeric: true,
    });
  }
  const shares = addsUp(
    terms.map((term) => term.weight ?? 0),
    1,
    DIGITS,
  );
  const columns = Array.from({length: inNumbers.count}, (_, column) => {
    const index = inNumbers.first + column;
    return addsUp(
      terms.map((term) => term.values[index]),
      z[index],
      DIGITS,
    );
  });
  const {soft} = shades("v", picture.theme);
  terms.forEach((term, row) => {
    const y = top + row * ROW;
    label(picture, {x: nameWidth, y: y + 19, text: picture.ruler.fit(term.name, nameWidth, 14), anchor: "end"});
    if (term.weight !== null) {
      shareMark(context, parts.head, {x: weightLeft, y: y + 3, share: term.weight, text: decimal(shares[row], DIGITS)});
    }
    if (isWide) {
      bareStrip(picture, {
        x: left,
        y: y + 3,
        values: term.values,
        width: stripWidth,
        cellHeight: ROW - 6,
        largest,
        meaning: "v",
        name: "weight × v",
      });
    }
    const band = {x: numberLeft, y: y + 2, width: inNumbers.count * cellWidth, height: ROW - 4};
    picture.add(shape("rect", {...band, rx: 5, fill: soft}), band);
    columns.forEach((column, place) => {
      const x = numberLeft + (place + 1) * cellWidth - 8;
      label(picture, {x, y: y + 19, text: decimal(column[row], DIGITS), anchor: "end", numeric: true, size: 13.5});
    });
  });
  const line = top + terms.length * ROW + 7;
  const rule = {
    x1: weightLeft,
    x2: numberLeft + inNumbers.count * cellWidth,
    y1: line,
    y2: line,
    stroke: "currentColor",
    "stroke-width": 1.5,
  };
  picture.add(shape("line", rule));
  drawSum(context, parts, {
    y: line + 8,
    z,
    left,
    nameWidth,
    stripWidth,
    numberLeft,
    cellWidth,
    inNumbers,
    largest,
    isWide,
  });
  const last = inNumbers.first + inNumbers.count - 1;
  readable(picture, {
    x: numberLeft,
    y: top,
    rows: terms.length,
    columns: inNumbers.count,
    cellWidth,
    cellHeight: ROW,
    label: `weight times v in ${terms.length} rows, numbers ${inNumbers.first} to ${last}`,
    describe: (row, column) => tellTerm(terms[row], inNumbers.first + column),
    key: "weighted-values",
  });
  const said = terms.map((term) => `${term.name} ${term.weight === null ? "" : percent(term.weight)}`);
  picture.describe(
    `z of “${asking}” is the sum of values weighted by ${said.join(", ")}; it begins with ` +
      `${Array.from(z.slice(0, 4), (value) => decimal(value, DIGITS)).join(", ")}.`,
  );
}

/**
 * @param {Term} term
 * @param {number} index
 */
function tellTerm(term, index) {
  const title = `“${term.name}”, number ${index}: ${precise(term.values[index])}`;
  if (!term.source || term.weight === null) return [title];
  return [title, `${precise(term.weight)} × ${precise(term.source[index])}`];
}

/**
 * Which of z’s numbers are written out, and the control that turns to others.
 * @param {ViewContext} context
 * @param {number} d_k
 * @param {number} fit
 */
function columnsShown(context, d_k, fit) {
  const count = Math.max(1, Math.min(d_k, fit >= 8 ? 8 : fit >= 4 ? 4 : fit));
  const pages = Math.ceil(d_k / count);
  const page = Math.max(0, Math.min(pages - 1, Math.floor(Number(context.option("dimension", "0")) / count) || 0));
  const first = Math.min(page * count, d_k - count);
  const choices = Array.from({length: pages}, (_, number) => {
    const from = Math.min(number * count, d_k - count);
    return {
      value: String(number),
      text: `${from}–${from + count - 1}`,
      spoken: `numbers ${from} to ${from + count - 1}`,
    };
  });
  const picker = oneOf({
    title: "Numbers",
    key: "choice-dimension",
    choices,
    current: String(page),
    onpick: (value, repeated) =>
      context.setOption("dimension", value === "0" ? null : String(Number(value) * count), {replace: repeated}),
  });
  return {first, count, picker};
}

/**
 * A weight as a number on its own shade.
 * @param {ViewContext} context
 * @param {number} head
 * @param {{x: number, y: number, share: number, text: string}} given
 */
function shareMark(context, head, {x, y, share, text}) {
  const picture = context.picture("");
  const rgb = shareRgb(share, headColour(head, picture.theme), picture.theme);
  picture.add(shape("rect", {x, y, width: 56, height: ROW - 6, rx: 5, fill: css(rgb)}));
  label(picture, {
    x: x + 50,
    y: y + 16,
    text,
    anchor: "end",
    numeric: true,
    bold: true,
    colour: inkOn(rgb),
    size: 13.5,
  });
}

/**
 * z below the line, and zero below that if the head is switched off.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{y: number, z: ArrayLike<number>, left: number, nameWidth: number, stripWidth: number, numberLeft: number,
 *   cellWidth: number, inNumbers: {first: number, count: number}, largest: number, isWide: boolean}} given
 */
function drawSum(
  context,
  parts,
  {y, z, left, nameWidth, stripWidth, numberLeft, cellWidth, inNumbers, largest, isWide},
) {
  const picture = context.picture("");
  /** @type {{name: string, values: ArrayLike<number>}[]} */
  const rows = [{name: parts.isOff ? "sum" : nameOfZ(parts), values: z}];
  if (parts.isOff) rows.push({name: `${nameOfZ(parts)} = 0`, values: parts.array("z").row(parts.head, parts.token)});
  const {soft, ink} = shades("z", picture.theme);
  rows.forEach(({name, values}, row) => {
    const top = y + row * (ROW + 4);
    label(picture, {x: nameWidth, y: top + 19, text: name, size: 15, bold: true, anchor: "end", meaning: "z"});
    if (row === 0) {
      label(picture, {
        x: nameWidth + 58,
        y: top + 19,
        text: decimal(1, DIGITS),
        anchor: "end",
        numeric: true,
        bold: true,
        size: 13.5,
      });
    }
    if (isWide) {
      strip(picture, {
        x: left,
        y: top + 2,
        values,
        width: stripWidth,
        cellHeight: ROW - 4,
        name: `z of “${parts.queryTokens[parts.token]}”`,
        meaning: "z",
        largest,
        key: `z-${row}`,
      });
    }
    const band = {x: numberLeft, y: top + 1, width: inNumbers.count * cellWidth, height: ROW - 2};
    picture.add(shape("rect", {...band, rx: 5, fill: soft}), band);
    for (let column = 0; column < inNumbers.count; column++) {
      const x = numberLeft + (column + 1) * cellWidth - 8;
      const text = decimal(values[inNumbers.first + column], DIGITS);
      label(picture, {x, y: top + 19, text, anchor: "end", numeric: true, bold: true, size: 13.5, colour: ink});
    }
  });
}
