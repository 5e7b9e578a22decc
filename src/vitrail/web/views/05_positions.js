// Row 5, positional encoding: what tells the model where a word is. What each kind does is in positions/.

import {word} from "../context.js";
import {shape} from "../dom.js";
import {count, decimal, precise} from "../numbers.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {positionsOf} from "../positions/kinds.js";
import {LAYOUTS, sinusoid, wave} from "../positions/sinusoids.js";
import {oneOf} from "./choices.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {import("../positions/sinusoids.js").Layout} Layout
 * @typedef {{first: number, rows: number}} Range
 */

/** @type {readonly Range[]} */
const RANGES = [
  {first: 0, rows: 64},
  {first: 0, rows: 256},
  {first: 1000, rows: 64},
  {first: 10000, rows: 64},
];
const AXIS = 66;
const TABLE_HEIGHT = 340; // if there is room

/** @type {import("../views.js").View} */
export const positionsView = {
  id: "positions",
  row: 5,
  title: "Positional encoding",
  pickers: ["stack", "token"],
  render(context) {
    const {trace, state} = context;
    const kind = positionsOf(trace);
    const token = trace.tokens(state.stack)[state.token];
    context.lead`Attention alone ignores word order, so the model is told that ${word(token)} is at position
      ${state.token}.`;
    context.say`Shuffle the words, and without positions each would get the same answer.`;
    kind.say.positions?.(context);
    const layout = layoutOf(context);
    showControls(context, layout);
    const picture = context.picture("Positions");
    const part = context.option("positions-of", "sentence");
    if (part === "table") drawTables(context, 0);
    else if (part === "example") drawExample(context, layout, 0);
    else kind.draw(context, layout, 0);
    const row = Array.from(sinusoid(layout, state.token, 4), (value) => decimal(value, 4)).join(", ");
    picture.describe(`${kind.describe(context)} With four dimensions, position ${state.token} would be ${row}.`);
  },
};

/**
 * The layout of this model, or the paper's if it has none.
 * @param {ViewContext} context
 */
function ownLayout({trace}) {
  return positionsOf(trace).layout ?? LAYOUTS[0];
}

/** @param {ViewContext} context */
function layoutOf(context) {
  const own = ownLayout(context);
  const chosen = context.option("layout", own.name);
  return LAYOUTS.find(({name}) => name === chosen) ?? own;
}

/**
 * The layouts to compare.
 * @param {ViewContext} context
 */
function layoutsShown({trace}) {
  return LAYOUTS.filter((layout) => !layout.isRare || layout === positionsOf(trace).layout);
}

/**
 * @param {ViewContext} context
 * @param {Layout} layout
 */
function showControls(context, layout) {
  const own = ownLayout(context);
  const kind = positionsOf(context.trace);
  const part = context.option("positions-of", "sentence");
  context.controls(
    oneOf({
      title: "Show",
      key: "choice-positions-of",
      choices: [
        {value: "sentence", text: "your sentence"},
        {value: "table", text: kind.layout ? "the whole table" : "the paper’s table"},
        {value: "example", text: "in four dimensions"},
      ],
      current: part,
      onpick: (value) => context.setOption("positions-of", value === "sentence" ? null : value),
    }),
    (kind.layout || part === "example") &&
      part !== "table" &&
      oneOf({
        title: "Layout",
        key: "choice-layout",
        choices: layoutsShown(context).map((one) => ({
          value: one.name,
          text: one.short + (one === kind.layout ? " (this model’s)" : ""),
        })),
        current: layout.name,
        onpick: (value) => context.setOption("layout", value === own.name ? null : value),
      }),
    part === "table" &&
      oneOf({
        title: "Positions",
        key: "choice-range",
        choices: RANGES.map(({first, rows}, index) => ({
          value: String(index),
          text: `${count(first)}–${count(first + rows - 1)}`,
          spoken: `positions ${first} to ${first + rows - 1}`,
        })),
        current: context.option("range", "0"),
        onpick: (value) => context.setOption("range", value === "0" ? null : value),
      }),
  );
}

/**
 * The whole tables, side by side; the model's own is marked.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawTables(context, y) {
  const {trace, room} = context;
  const picture = context.picture("");
  const range = RANGES[Number(context.option("range", "0"))] ?? RANGES[0];
  const layouts = layoutsShown(context);
  const gap = 26;
  const perLine = room < 600 ? 1 : layouts.length;
  const width = (room - AXIS - (perLine - 1) * gap) / perLine;
  const height = Math.min(TABLE_HEIGHT, context.tall - 80);
  const what = positionsOf(trace).layout ? "the whole table" : "what the paper adds instead";
  label(picture, {
    x: 0,
    y: y + 16,
    text: `${what}, positions ${count(range.first)} to ${count(range.first + range.rows - 1)}`,
    bold: true,
    size: 15,
  });
  layouts.forEach((layout, index) => {
    const x = AXIS + (index % perLine) * (width + gap);
    const top = y + 50 + Math.floor(index / perLine) * (height + 56);
    const box = {x, y: top, width, height};
    drawTable(context, layout, range, box);
    drawAxes(context, range, box, index % perLine === 0);
  });
}

/**
 * @param {ViewContext} context
 * @param {Layout} layout
 * @param {Range} range
 * @param {Box} box
 */
function drawTable(context, layout, {first, rows}, box) {
  const picture = context.picture("");
  const {d_model} = context.trace.config;
  const table = Array.from({length: rows}, (_, row) => sinusoid(layout, first + row, d_model));
  const own = layout === positionsOf(context.trace).layout ? " — this model’s" : "";
  const fits = picture.ruler.width(layout.title + own, 13, true) <= box.width;
  const title = (fits ? layout.title : layout.short) + own;
  label(picture, {x: box.x, y: box.y - 8, text: title, size: 13, bold: Boolean(own)});
  matrix(picture, {
    ...box,
    rows,
    columns: d_model,
    cellWidth: box.width / d_model,
    cellHeight: box.height / rows,
    value: (row, column) => table[row][column],
    name: `${layout.short} table`,
    meaning: own ? "x" : "neutral",
    largest: 1,
    key: `table-${layout.name}`,
    describe: (row, column) => [
      `position ${count(first + row)}, dimension ${column}`,
      precise(table[row][column]),
      wave(layout, column, d_model),
    ],
  });
}

/**
 * Positions at the left of a line of tables, dimensions below each, and a line where the sentence ends.
 * @param {ViewContext} context
 * @param {Range} range
 * @param {Box} box
 * @param {boolean} isFirst in its line
 */
function drawAxes(context, {first, rows}, box, isFirst) {
  const {trace, state} = context;
  const picture = context.picture("");
  const cell = box.height / rows;
  for (const share of isFirst ? [0, 0.25, 0.5, 0.75] : []) {
    const row = Math.round(share * rows);
    label(picture, {
      x: AXIS - 6,
      y: box.y + row * cell + 10,
      text: count(first + row),
      size: 11,
      quiet: true,
      anchor: "end",
      numeric: true,
    });
  }
  const tokens = trace.tokens(state.stack).length;
  if (first === 0 && tokens < rows) {
    const end = box.y + tokens * cell;
    picture.add(
      shape("line", {
        x1: box.x,
        x2: box.x + box.width,
        y1: end,
        y2: end,
        class: "sentence-end",
        stroke: "currentColor",
        "stroke-width": 1.5,
        "stroke-dasharray": "4 3",
        "pointer-events": "none",
      }),
    );
    if (isFirst) label(picture, {x: AXIS - 6, y: end + 10, text: "last token", size: 11, bold: true, anchor: "end"});
  }
  const dimensions = `dimension 0 … ${trace.config.d_model - 1}`;
  label(picture, {x: box.x, y: box.y + box.height + 15, text: dimensions, size: 11, quiet: true});
}

/**
 * A table four numbers wide, with the numbers and their formulas.
 * @param {ViewContext} context
 * @param {Layout} layout
 * @param {number} y
 */
function drawExample(context, layout, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const tokens = trace.tokens(state.stack);
  const isNarrow = room < 600;
  const shown = [...new Set([0, 1, 2, 3, state.token])].filter((token) => token < tokens.length).sort((a, b) => a - b);
  label(picture, {
    x: 0,
    y: y + 16,
    text: `a worked example in four dimensions${isNarrow ? "" : `, ${layout.short}`}`,
    bold: true,
    size: 15,
  });
  const names = shown.map((token) => `${tokens[token]}  ${token}`);
  const left = Math.min(isNarrow ? 70 : 140, picture.ruler.widest(names, 14, true)) + 12;
  const cellWidth = Math.min(150, (room - left) / 4);
  const top = y + 56;
  const table = shown.map((token) => sinusoid(layout, token, 4));
  for (let column = 0; column < 4; column++) {
    const text = wave(layout, column, 4)
      .replace("position", isNarrow ? "p" : "position")
      .replace(" / 1)", ")");
    label(picture, {
      x: left + (column + 0.5) * cellWidth,
      y: top - 8,
      text: text.replace(" / ", "/"),
      size: isNarrow ? 10 : 13,
      anchor: "middle",
      quiet: true,
    });
  }
  const box = {x: left, y: top, width: 4 * cellWidth, height: shown.length * 32};
  rowLabels(picture, {box, names, width: left - 12, current: shown.indexOf(state.token)});
  matrix(picture, {
    ...box,
    rows: shown.length,
    columns: 4,
    cellWidth,
    cellHeight: 32,
    value: (row, column) => table[row][column],
    name: "four-dimensional example",
    digits: isNarrow ? 2 : 4,
    largest: 1,
    key: "example",
    describe: (row, column) => [
      wave(layout, column, 4).replace("position", String(shown[row])),
      precise(table[row][column]),
    ],
  });
}
