// Multi-head attention on one screen: the sentence, X, each head's matrices, Q, K, V and Z, W^O and the output.

import {shape} from "../dom.js";
import {headColour} from "../colour.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {arrow} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {missing} from "./equation.js";
import {headMatrix, outputMatrix, subscript} from "./head_matrices.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {import("./attention_parts.js").AttentionParts} AttentionParts
 * @typedef {import("./attention_parts.js").Letter} Letter
 */

const LETTERS = /** @type {Letter[]} */ (["q", "k", "v"]);

/**
 * The whole of it on one screen: sentence, X, each head's matrices, Q K V, Z, W^O, Z.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 */
export function drawRecap(context, parts) {
  const picture = context.picture("Multi-head attention on one screen");
  const {heads, d_k} = context.trace.config;
  const tokens = parts.queryTokens;
  const room = Math.max(context.room, 760);
  const unit = (room - 92 - 5 * 28) / 10.2; // the width of a head's matrices, from which the rest follows
  const headHeight = heads > 8 ? 44 : heads > 4 ? 62 : 88;
  const tops = Array.from({length: heads}, (_, head) => 48 + head * (headHeight + 16));
  const bottom = 48 + heads * (headHeight + 16);
  const middle = (48 + bottom - 16) / 2;
  const size = headHeight - 14;
  const row = (/** @type {number} */ count) => Math.min(7, size / count);
  const columns = {words: 0, x: 92, w: 92 + 1.6 * unit + 28, made: 0, z: 0, wo: 0, out: 0};
  columns.made = columns.w + 3 * unit + 28;
  columns.z = columns.made + 3 * unit + 28;
  columns.wo = columns.z + unit + 28;
  columns.out = columns.wo; // W^O above, its result below
  const titles = [
    [columns.words, "1. tokens"],
    [columns.x, "2. X"],
    [columns.w, "3. each head’s W"],
    [columns.made, "4. Q, K and V"],
    [columns.z, "5. Z"],
    [columns.wo, "6. joined × Wᴼ"],
  ];
  for (const [x, text] of titles) label(picture, {x: Number(x), y: 16, text: String(text), size: 13, bold: true});

  const area = {x: columns.x, y: 40, width: 1.6 * unit, height: bottom - 56};
  if (parts.isCross) {
    const half = (area.height - 24) / 2;
    recapInput(context, parts, "X", {...area, height: half});
    recapInput(context, parts, "encoder’s output", {...area, y: area.y + half + 24, height: half});
  } else recapInput(context, parts, "X", area);
  tops.forEach((top, head) =>
    recapHead(context, parts, head, {top, columns, unit, size, row, from: [area.x + area.width, middle]}),
  );
  recapOutput(context, parts, {x: columns.wo, unit, middle, tops, size});
  picture.describe(
    `${tokens.length} tokens as X; ${heads} heads with their W^Q, W^K and W^V and the resulting Q, K and V; ` +
      `${heads} Zs of ${d_k} columns each, side by side, multiplied by W^O.`,
  );
}

/**
 * What the heads work on: X and, in encoder-decoder attention, the encoder's output.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {string} name
 * @param {Box} room
 */
function recapInput(context, parts, name, room) {
  const picture = context.picture("");
  const isX = name === "X";
  const tokens = isX ? parts.queryTokens : parts.keyTokens;
  const tensor = isX ? parts.input : parts.seen;
  const {d_model} = context.trace.config;
  const row = Math.min(22, room.height / tokens.length);
  const area = {...room, y: room.y + (room.height - tokens.length * row) / 2, height: tokens.length * row};
  if (row >= 9) {
    rowLabels(picture, {
      box: area,
      names: tokens,
      size: Math.min(13, row * 0.75),
      width: 84,
      current: isX ? parts.token : undefined,
    });
  } else {
    const middle = area.y + area.height / 2;
    label(picture, {x: 84, y: middle, text: picture.ruler.fit(`${tokens.length} tokens`, 84), anchor: "end", size: 13});
  }
  if (!isX) label(picture, {x: area.x, y: area.y - 5, text: name, size: 11, meaning: "encoder"});
  matrix(picture, {
    ...area,
    rows: tokens.length,
    columns: d_model,
    cellWidth: area.width / d_model,
    cellHeight: row,
    value: (token, column) => tensor.at(token, column),
    name,
    meaning: isX ? "x" : "encoder",
    rowNames: tokens,
    key: `recap-${name}`,
  });
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {number} head
 * @param {{top: number, columns: {w: number, made: number, z: number}, unit: number, size: number,
 *   row: (count: number) => number, from: [number, number]}} given
 */
function recapHead(context, parts, head, {top, columns, unit, size, row, from}) {
  const picture = context.picture("");
  const {d_model, d_k} = context.trace.config;
  const isOff = context.trace.isOff(parts.path, head);
  const middle = top + size / 2;
  const colour = headColour(head, picture.theme);
  const [startX, startY] = from;
  picture.add(
    shape("path", {
      d: `M${startX + 3} ${startY} C${startX + 16} ${startY} ${columns.w - 18} ${middle} ${columns.w - 5} ${middle}`,
      fill: "none",
      stroke: colour,
      "stroke-width": 2,
    }),
  );
  LETTERS.forEach((letter, index) => {
    const box = {x: columns.w + index * unit, y: top, width: unit - 8, height: size};
    const projection = parts.projection(letter, head);
    const above = {
      x: box.x + box.width / 2,
      y: top - 4,
      size: 11,
      anchor: /** @type {const} */ ("middle"),
      meaning: letter,
    };
    label(picture, {...above, text: `W${subscript(head)} ${letter.toUpperCase()}`});
    if (projection) {
      matrix(picture, {
        ...box,
        rows: d_model,
        columns: d_k,
        cellWidth: box.width / d_k,
        cellHeight: size / d_model,
        value: projection.at,
        name: `W^${letter.toUpperCase()} of head ${head}`,
        meaning: letter,
        key: `recap-w-${letter}-${head}`,
      });
    } else missing(picture, {...box, meaning: letter, text: "—"});
    const tokens = letter === "q" ? parts.queryTokens : parts.keyTokens;
    const height = tokens.length * row(tokens.length);
    const x = columns.made + index * unit;
    label(picture, {
      ...above,
      x: x + box.width / 2,
      y: middle - height / 2 - 4,
      text: `${letter.toUpperCase()}${subscript(parts.headOf(letter, head))}`,
    });
    headMatrix(context, parts, {
      name: letter.toUpperCase(),
      array: letter,
      head,
      tokens,
      meaning: letter,
      x,
      y: middle - height / 2,
      width: unit - 8,
      row: row(tokens.length),
      bare: true,
    });
  });
  const height = parts.queryTokens.length * row(parts.queryTokens.length);
  arrow(picture, {
    points: [
      [columns.made - 28, middle],
      [columns.made - 6, middle],
    ],
    width: 1.5,
  });
  arrow(picture, {
    points: [
      [columns.z - 28, middle],
      [columns.z - 6, middle],
    ],
    width: 1.5,
  });
  label(picture, {
    x: columns.z + unit / 2 - 4,
    y: middle - height / 2 - 4,
    text: isOff ? `Z${subscript(head)} off` : `Z${subscript(head)}`,
    size: 11,
    anchor: "middle",
    meaning: "z",
  });
  headMatrix(context, parts, {
    name: "Z",
    array: "z",
    head,
    tokens: parts.queryTokens,
    meaning: "z",
    x: columns.z,
    y: middle - height / 2,
    width: unit - 8,
    row: row(parts.queryTokens.length),
    bare: true,
  });
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{x: number, unit: number, middle: number, tops: number[], size: number}} given
 */
function recapOutput(context, parts, {x, unit, middle, tops, size}) {
  const picture = context.picture("");
  const {heads, d_k, d_model} = context.trace.config;
  const width = 1.6 * unit - 4;
  const projection = parts.outputProjection();
  const top = middle - 130;
  tops.forEach((headTop, head) => {
    const y = headTop + size / 2;
    const end = top + 100 * ((head + 0.5) / heads);
    picture.add(
      shape("path", {
        d: `M${x - 32} ${y} C${x - 18} ${y} ${x - 18} ${end} ${x - 5} ${end}`,
        fill: "none",
        stroke: headColour(head, picture.theme),
        "stroke-width": 2,
      }),
    );
  });
  const box = {x, y: top, width, height: 100};
  label(picture, {x: x + width / 2, y: top - 4, text: "Wᴼ", size: 11, anchor: "middle"});
  if (projection) {
    matrix(picture, {
      ...box,
      rows: heads * d_k,
      columns: d_model,
      cellWidth: width / d_model,
      cellHeight: 100 / (heads * d_k),
      value: projection.at,
      name: "W^O",
      key: "recap-w-o",
    });
  } else missing(picture, box);
  arrow(picture, {
    points: [
      [x + width / 2, top + 104],
      [x + width / 2, top + 134],
    ],
    meaning: "z",
    width: 2,
  });
  const tokens = parts.queryTokens;
  const row = Math.min(10, 130 / tokens.length);
  label(picture, {x, y: top + 150, text: "Z", size: 13, bold: true, meaning: "z"});
  outputMatrix(context, parts, {x, y: top + 156, width, row});
}
