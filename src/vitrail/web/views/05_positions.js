// Row 5, positional encoding: what tells the model where a word stands.

import {word} from "../context.js";
import {sinusoid} from "../arithmetic.js";
import {shape} from "../dom.js";
import {count, decimal, extent, precise} from "../numbers.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {valueLegend} from "../draw/legend.js";
import {oneOf} from "./choices.js";
import {equation} from "./equation.js";
import {drawDistances, drawTurns} from "./positions_inside.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {import("./equation.js").Piece} Piece
 */

/** @type {Record<string, {title: string, short: string}>} */
const LAYOUTS = {
  sinusoidal: {title: "interleaved: sin, cos, sin, cos (the paper)", short: "interleaved"},
  "sinusoidal-concat": {title: "concatenated: all sin, all cos (Tensor2Tensor)", short: "concatenated"},
  "sinusoidal-halves": {title: "halves with the paper’s frequencies (Marian)", short: "halves"},
};
const RANGES = [
  {first: 0, rows: 64},
  {first: 0, rows: 256},
  {first: 1000, rows: 64},
  {first: 10000, rows: 64},
];

/** @type {import("../views.js").View} */
export const positionsView = {
  id: "positions",
  row: 5,
  title: "Positional encoding",
  pickers: ["stack", "token"],
  render(context) {
    const {trace, state} = context;
    const {positions, d_model} = trace.config;
    const token = trace.tokens(state.stack)[state.token];
    context.say`Attention by itself does not know in which order words come: shuffle them, and every word would be answered the
      same. So the model is told that ${word(token)} stands at position ${state.token}.`;
    sayHow(context, positions, d_model);
    const layout = layoutOf(context);
    showControls(context, layout);
    const picture = context.picture("Positions");
    let y = 0;
    if (positions === "rope") y = drawTurns(context, y);
    else if (positions === "relative") y = drawDistances(context, y);
    else y = drawSum(context, layout, y);
    y = drawTables(context, y + 20);
    drawExample(context, layout, y + 20);
    picture.describe(describe(context, layout));
  },
};

/**
 * @param {ViewContext} context
 * @param {string} positions
 * @param {number} d_model
 */
function sayHow(context, positions, d_model) {
  const {trace} = context;
  if (positions === "rope") {
    context.say`This model adds nothing to the embeddings. Inside self-attention it turns every query and key, two numbers at a
      time, by an angle that grows with the position; their dot product then depends on how far apart two words stand. The
      tables further down are what the paper adds instead.`;
  } else if (positions === "relative") {
    context.say`This model adds nothing to the embeddings. Inside self-attention it has a learned vector for every distance from
      ${decimal(-trace.config.max_distance, 0)} to ${trace.config.max_distance}, which counts for keys and values that far
      away. The tables further down are what the paper adds instead.`;
  } else if (positions === "learned") {
    context.say`To each embedding it adds a vector that stands for the position. In this model these vectors were learned,
      ${count(trace.config.max_positions)} of them, and there is no formula: past the last one it cannot go. The tables
      further down are the paper’s, for comparison.`;
  } else {
    context.say`To each embedding it adds a vector of ${d_model} numbers that stands for the position: sines and cosines, of
      which the first turn fast from word to word and the last hardly at all. Nothing of this was learned, so the table
      goes on past the longest sentence that the model ever saw.`;
    context.say`This model’s layout is ${LAYOUTS[positions]?.short ?? positions}. The layouts hold almost the same waves in
      another order, and a model could learn with any of them.`;
  }
}

/** @param {ViewContext} context */
function layoutOf(context) {
  const {positions} = context.trace.config;
  const own = positions in LAYOUTS ? positions : "sinusoidal";
  const chosen = context.option("layout", own);
  return chosen in LAYOUTS ? chosen : own;
}

/**
 * @param {ViewContext} context
 * @param {string} layout
 */
function showControls(context, layout) {
  const {positions} = context.trace.config;
  const own = positions in LAYOUTS ? positions : "sinusoidal";
  const names = Object.keys(LAYOUTS).filter((name) => name !== "sinusoidal-halves" || positions === name);
  context.controls(
    oneOf({
      title: "Layout",
      key: "choice-layout",
      choices: names.map((name) => ({
        value: name,
        text: LAYOUTS[name].short + (name === positions ? " (this model’s)" : ""),
      })),
      current: layout,
      onpick: (value) => context.setOption("layout", value === own ? null : value),
    }),
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
 * embedding + position = input, three strips for each token.
 * @param {ViewContext} context
 * @param {string} layout
 * @param {number} y
 */
function drawSum(context, layout, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const side = state.stack === "encoder" ? "source" : "target";
  const tokens = trace.tokens(state.stack);
  const {positions, d_model} = trace.config;
  const embedding = trace.array(`${side}.embedding`);
  const recorded = trace.array(`${side}.position`);
  const sum = trace.array(`${side}.sum`);
  const isOwn = positions === "learned" || layout === positions;
  const other = isOwn ? null : tokens.map((_, token) => sinusoid(layout, token, d_model));
  const position = (/** @type {number} */ token, /** @type {number} */ i) =>
    other ? other[token][i] : recorded.at(token, i);
  const input = (/** @type {number} */ token, /** @type {number} */ i) =>
    other ? embedding.at(token, i) + other[token][i] : sum.at(token, i);
  const isNarrow = room < 600;
  const nameWidth = Math.min(isNarrow ? 76 : 110, picture.ruler.widest(tokens, 14, true)) + 10;
  const width = isNarrow ? room - nameWidth : (room - nameWidth - 2 * 34) / 3;
  const row = tokens.length > 40 ? 12 : 24;
  const largest = Math.max(extent(embedding.data).size, extent(recorded.data).size, extent(sum.data).size);
  /** @type {(name: string, meaning: Meaning, value: (token: number, i: number) => number, sign?: string) => Piece} */
  const strips = (name, meaning, value, sign) => {
    const hasNames = isNarrow || !sign;
    return {
      sign: isNarrow ? undefined : sign,
      width: hasNames ? width + nameWidth : width,
      height: tokens.length * row,
      name: isNarrow && sign ? `${sign} ${name}` : name,
      note: `${tokens.length} × ${d_model}`,
      meaning,
      draw: (left, top) => {
        const x = hasNames ? left + nameWidth : left;
        const box = {x, y: top, width, height: tokens.length * row};
        if (hasNames) {
          rowLabels(picture, {
            box,
            names: tokens,
            size: Math.min(14, row),
            width: nameWidth - 10,
            current: state.token,
          });
        }
        matrix(picture, {
          ...box,
          rows: tokens.length,
          columns: d_model,
          cellWidth: width / d_model,
          cellHeight: row,
          value,
          name,
          meaning,
          rowNames: tokens,
          largest,
          key: `sum-${name}`,
          current: {row: state.token},
          onpick: (token) => context.update({token}),
        });
        apart(context, box, tokens.length);
      },
    };
  };
  const would = isOwn ? "" : ", if it had this layout";
  const pieces = [
    strips("embedding", "x", (token, i) => embedding.at(token, i)),
    strips(`position${would}`, "neutral", position, "+"),
    strips(isOwn ? "input" : "input, then", "x", input, "="),
  ];
  const box = equation(picture, {x: 0, y, pieces, room});
  valueLegend(picture, {x: 0, y: y + box.height, largest});
  return y + box.height + 30;
}

/**
 * Thin lines of paper between rows, so that each reads as a strip.
 * @param {ViewContext} context
 * @param {import("../draw/picture.js").Box} box
 * @param {number} rows
 */
function apart(context, box, rows) {
  const picture = context.picture("");
  const height = box.height / rows;
  const group = shape("g", {"pointer-events": "none"});
  for (let row = 1; row < rows; row++) {
    group.append(
      shape("rect", {x: box.x - 1, y: box.y + row * height - 1.5, width: box.width + 2, height: 3, class: "paper"}),
    );
  }
  picture.add(group);
}

/**
 * The whole tables, side by side; the model's own is marked.
 * @param {ViewContext} context
 * @param {number} y
 */
function drawTables(context, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const {positions, d_model} = trace.config;
  const {first, rows} = RANGES[Number(context.option("range", "0"))] ?? RANGES[0];
  const names = Object.keys(LAYOUTS).filter((name) => name !== "sinusoidal-halves" || positions === name);
  const axis = 66;
  const gap = 26;
  const perLine = room < 600 ? 1 : names.length;
  const width = (room - axis - (perLine - 1) * gap) / perLine;
  const height = 256;
  const cell = height / rows;
  const what = positions in LAYOUTS ? "the whole table" : "what the paper adds instead";
  label(picture, {
    x: 0,
    y: y + 16,
    text: `${what}, positions ${count(first)} to ${count(first + rows - 1)}`,
    bold: true,
    size: 15,
  });
  const tokens = trace.tokens(state.stack).length;
  names.forEach((name, index) => {
    const x = axis + (index % perLine) * (width + gap);
    const top = y + 50 + Math.floor(index / perLine) * (height + 56);
    const table = Array.from({length: rows}, (_, row) => sinusoid(name, first + row, d_model));
    const own = name === positions ? " — this model’s" : "";
    label(picture, {x, y: top - 8, text: fitTitle(picture, LAYOUTS[name], own, width), size: 13, bold: Boolean(own)});
    matrix(picture, {
      x,
      y: top,
      rows,
      columns: d_model,
      cellWidth: width / d_model,
      cellHeight: cell,
      value: (row, column) => table[row][column],
      name: `${LAYOUTS[name].short} table`,
      meaning: own ? "x" : "neutral",
      largest: 1,
      key: `table-${name}`,
      describe: (row, column) => [
        `position ${count(first + row)}, dimension ${column}`,
        precise(table[row][column]),
        wave(name, column, d_model),
      ],
    });
    if (index % perLine === 0) {
      for (const share of [0, 0.25, 0.5, 0.75]) {
        const row = Math.round(share * rows);
        label(picture, {
          x: axis - 6,
          y: top + row * cell + 10,
          text: count(first + row),
          size: 11,
          quiet: true,
          anchor: "end",
          numeric: true,
        });
      }
    }
    if (first === 0 && tokens < rows) {
      const end = top + tokens * cell;
      picture.add(
        shape("line", {
          x1: x,
          x2: x + width,
          y1: end,
          y2: end,
          class: "sentence-end",
          stroke: "currentColor",
          "stroke-width": 1.5,
          "stroke-dasharray": "4 3",
          "pointer-events": "none",
        }),
      );
      if (index % perLine === 0) {
        label(picture, {x: axis - 6, y: end + 10, text: "last token", size: 11, bold: true, anchor: "end"});
      }
    }
    label(picture, {x, y: top + height + 15, text: `dimension 0 … ${d_model - 1}`, size: 11, quiet: true});
  });
  const lines = Math.ceil(names.length / perLine);
  return y + 50 + lines * (height + 56) - 20;
}

/**
 * @param {import("../draw/picture.js").Picture} picture
 * @param {{title: string, short: string}} layout
 * @param {string} own
 * @param {number} width
 */
function fitTitle(picture, {title, short}, own, width) {
  return picture.ruler.width(title + own, 13, true) <= width ? title + own : short + own;
}

/**
 * The formula of one column.
 * @param {string} layout
 * @param {number} column
 * @param {number} width
 */
export function wave(layout, column, width) {
  const half = width / 2;
  const isInterleaved = layout === "sinusoidal";
  const index = isInterleaved ? Math.floor(column / 2) : column % half;
  const isSine = isInterleaved ? column % 2 === 0 : column < half;
  const steps = layout === "sinusoidal-concat" ? half - 1 : half;
  const divisor = 10000 ** (index / steps);
  return `${isSine ? "sin" : "cos"}(position / ${precise(Number(divisor.toPrecision(4)))})`;
}

/**
 * A table four numbers wide, with the numbers and their formulas.
 * @param {ViewContext} context
 * @param {string} layout
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
    text: `worked out with four dimensions${isNarrow ? "" : `, ${LAYOUTS[layout].short}`}`,
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

/**
 * @param {ViewContext} context
 * @param {string} layout
 */
function describe({trace, state}, layout) {
  const {positions, d_model} = trace.config;
  const token = trace.tokens(state.stack)[state.token];
  const row = Array.from(sinusoid(layout, state.token, 4), (value) => decimal(value, 4)).join(", ");
  const start =
    positions === "rope"
      ? `Queries and keys of “${token}” are turned by its position, ${state.token}.`
      : positions === "relative"
        ? `Distances between tokens have learned vectors.`
        : `Embedding plus position gives the input of ${trace.tokens(state.stack).length} tokens, ${d_model} numbers each.`;
  return `${start} With four dimensions, position ${state.token} would be ${row}.`;
}
