// Row 4, embeddings: every token as a strip of d_model cells, coloured by value.

import {matrix, rowLabels, strip} from "../draw/matrix.js";
import {count, extent, precise} from "../numbers.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {valueLegend} from "../draw/legend.js";
import {word} from "../context.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

const FIRST = 8; // numbers that are written out

/** @type {import("../views.js").View} */
export const embeddingsView = {
  id: "embeddings",
  row: 4,
  title: "Embeddings",
  pickers: ["stack", "token"],
  render(context) {
    const {trace, state} = context;
    const isSource = state.stack === "encoder";
    const tokens = trace.tokens(state.stack);
    const ids = isSource ? trace.source.ids : trace.target.input_ids;
    const token = tokens[state.token];
    const {d_model, embedding_scale} = trace.config;
    const size = isSource ? trace.model.source_vocabulary : trace.model.target_vocabulary;
    context.lead`The model looks up each token in a table: ${word(token)} becomes ${d_model} numbers, its
      embedding.`;
    context.say`${word(token)} is number ${count(ids[state.token])} of ${count(size)} in the table. The numbers of its
      row were learned in training.`;
    const twin = tokens.findIndex((other, index) => other === token && index !== state.token);
    if (twin >= 0) {
      context.say`${word(token)} appears more than once, for example at positions ${Math.min(state.token, twin)} and
        ${Math.max(state.token, twin)}, with the same embedding each time. The next view adds what tells them apart.`;
    }
    if (embedding_scale) {
      context.say`What you see is the row times √${d_model}, by which this model scales its embeddings, as in the
        paper.`;
    }
    draw(context, tokens, ids);
  },
};

/**
 * @param {ViewContext} context
 * @param {string[]} tokens
 * @param {number[]} ids
 */
function draw(context, tokens, ids) {
  const {trace, state} = context;
  const name = state.stack === "encoder" ? "source.embedding" : "target.embedding";
  const table = trace.array(name);
  const [rows, columns] = table.shape;
  const {size: largest, least, most} = extent(table.data);
  const picture = context.picture("The embedding of every token");
  picture.describe(
    `${rows} tokens with ${columns} numbers each, from ${precise(least)} to ${precise(most)}: ${tokens.join(", ")}.`,
  );
  const names = tokens.map((token, index) => `${token} · ${ids[index]}`);
  const left = Math.min(190, picture.ruler.widest(names, 15, true)) + 12;
  const width = Math.max(180, context.room - left - 16);

  // The chosen token first, with its first numbers written out.
  label(picture, {
    x: left,
    y: 16,
    text: `${tokens[state.token]}: the first ${Math.min(FIRST, columns)} of ${columns}`,
    bold: true,
  });
  const first = table.row(state.token).subarray(0, FIRST);
  strip(picture, {
    x: left,
    y: 26,
    values: first,
    width: Math.min(width, 76 * first.length),
    cellHeight: 40,
    digits: 2,
    largest,
    meaning: "x",
    name: `${tokens[state.token]}`,
    key: "embedding-first",
  });

  const top = 104;
  const {height: cellHeight} = rowsThatFit(rows, context.tall - top - 60, {high: 26, low: 8});
  const area = {x: left, y: top, width, height: rows * cellHeight};
  const cellWidth = width / columns;
  matrix(picture, {
    x: left,
    y: top,
    rows,
    columns,
    value: (row, column) => table.at(row, column),
    cellWidth,
    cellHeight,
    largest,
    meaning: "x",
    name: "embedding",
    rowNames: tokens,
    current: {row: state.token},
    onpick: (row) => context.update({token: row}),
    key: "embeddings",
  });
  const size = letterSize(cellHeight, 15);
  rowLabels(picture, {box: area, names, size, width: left - 12, current: state.token});
  const marks = [0, Math.floor(columns / 2), columns - 1];
  for (const mark of marks) {
    const x = left + (mark + 0.5) * cellWidth;
    label(picture, {x, y: area.y + area.height + 18, text: String(mark), size: 12, quiet: true, anchor: "middle"});
  }
  valueLegend(picture, {x: left, y: area.y + area.height + 34, largest});
}
