// Positions that are added: embedding + position = input, as three strips for each token.

import {shape} from "../dom.js";
import {extent} from "../numbers.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {valueLegend} from "../draw/legend.js";
import {equation} from "../views/equation.js";
import {sinusoid} from "./sinusoids.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {import("../views/equation.js").Piece} Piece
 * @typedef {import("./sinusoids.js").Layout} Layout
 */

/**
 * embedding + position = input, three strips for each token.
 * @param {ViewContext} context
 * @param {Layout | null} layout null: the model's own numbers; else as they would be in this layout
 * @param {number} y
 */
export function drawAdded(context, layout, y) {
  const {trace, state, room} = context;
  const picture = context.picture("");
  const side = state.stack === "encoder" ? "source" : "target";
  const tokens = trace.tokens(state.stack);
  const {d_model} = trace.config;
  const embedding = trace.array(`${side}.embedding`);
  const recorded = trace.array(`${side}.position`);
  const sum = trace.array(`${side}.sum`);
  const other = layout && tokens.map((_, token) => sinusoid(layout, token, d_model));
  const position = (/** @type {number} */ token, /** @type {number} */ i) =>
    other ? other[token][i] : recorded.at(token, i);
  const input = (/** @type {number} */ token, /** @type {number} */ i) =>
    other ? embedding.at(token, i) + other[token][i] : sum.at(token, i);
  const isNarrow = room < 600;
  const nameWidth = Math.min(isNarrow ? 76 : 110, picture.ruler.widest(tokens, 14, true)) + 10;
  const width = isNarrow ? room - nameWidth : (room - nameWidth - 2 * 34) / 3;
  const {height: row} = rowsThatFit(tokens.length, context.tall - 96, {high: 24, low: 9});
  // Positions have a scale of their own: their numbers are smaller, and their pattern would be washed out.
  const largest = Math.max(extent(embedding.data).size, extent(sum.data).size);
  const ofPosition = other ? 1 : extent(recorded.data).size;
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
            size: letterSize(row, 14),
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
          largest: meaning === "neutral" ? ofPosition : largest,
          key: `sum-${name}`,
          current: {row: state.token},
          onpick: (token) => context.update({token}),
        });
        apart(context, box, tokens.length);
      },
    };
  };
  const would = other ? ", in this layout" : "";
  const pieces = [
    strips("embedding", "x", (token, i) => embedding.at(token, i)),
    strips(`position${would}`, "neutral", position, "+"),
    strips(other ? "input, in this layout" : "input", "x", input, "="),
  ];
  const box = equation(picture, {x: 0, y, pieces, room});
  const below = y + box.height;
  const legend = valueLegend(picture, {x: 0, y: below, largest});
  const start = isNarrow ? {x: 0, y: below + 26} : {x: legend.width + 40, y: below};
  label(picture, {x: start.x, y: start.y + 12, text: "position:", size: 13, quiet: true});
  valueLegend(picture, {x: start.x + 66, y: start.y, largest: ofPosition, digits: ofPosition < 0.1 ? 3 : 2});
  return start.y + 30;
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
