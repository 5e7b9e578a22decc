// Row 13, many heads: every head's Q, K, V and Z, joined and multiplied by W^O; and all of it on one screen.

import {coloured, word} from "../context.js";
import {shape} from "../dom.js";
import {headColour} from "../colour.js";
import {precise} from "../numbers.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {arrow} from "../draw/frame.js";
import {fitText, label} from "../draw/label.js";
import {pressable} from "../draw/reading.js";
import {AttentionParts} from "./attention_parts.js";
import {oneOf, raised} from "./choices.js";
import {equation, missing} from "./equation.js";
import {headSwitches} from "./heads_off.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {import("./attention_parts.js").Letter} Letter
 * @typedef {import("./equation.js").Piece} Piece
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 */

const LETTERS = /** @type {Letter[]} */ (["q", "k", "v"]);

/** @type {import("../views.js").View} */
export const headsView = {
  id: "heads",
  row: 13,
  title: "Many heads",
  pickers: ["attention", "layer"],
  render(context) {
    const parts = new AttentionParts(context);
    const {heads, kv_heads, d_k, d_model} = context.trace.config;
    const show = context.option("heads-as", "steps");
    context.say`This layer does all that ${heads} times over, with other matrices: ${heads} heads, each free to look for
      something else. Each gives its own ${coloured("z", "Z")} of ${d_k} columns.`;
    context.say`The next part of the layer expects one matrix, so the ${heads} are joined side by side
      (${`${heads} × ${d_k} = ${heads * d_k}`} columns) and multiplied by ${raised("W", "O")}: what comes out again has ${d_model}
      numbers for every token, for ${word(parts.queryTokens[parts.token])} as for the others.`;
    if (kv_heads < heads) {
      const shared = kv_heads === 1 ? "one pair of keys and values" : `${kv_heads} pairs of keys and values`;
      context.say`In this model ${heads} queries share ${shared}: ${heads / kv_heads} heads use each.`;
    }
    if (parts.isCross) {
      context.say`Queries are made of what the decoder has so far; keys and values of the encoder’s output, one row for
        each of the ${parts.keyTokens.length} source tokens.`;
    }
    context.controls(
      oneOf({
        title: "Show",
        key: "choice-heads-as",
        choices: [
          {value: "steps", text: "step by step"},
          {value: "recap", text: "all on one screen"},
        ],
        current: show,
        onpick: (value) => context.setOption("heads-as", value === "steps" ? null : value),
      }),
    );
    headSwitches(context);
    if (show === "recap") drawRecap(context, parts);
    else drawSteps(context, parts);
  },
};

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 */
function drawSteps(context, parts) {
  const picture = context.picture("Every head, then all of them joined");
  const {room} = context;
  const {heads, d_k, d_model} = context.trace.config;
  const {queryTokens} = parts;
  const row = Math.max(0.75, Math.min(7, 84 / Math.max(queryTokens.length, parts.keyTokens.length)));
  const width = room < 600 ? 58 : 74;
  const blockWidth = 4 * width + 2 * 10 + 34;
  const perLine = Math.max(1, Math.floor((room + 24) / (blockWidth + 24)));
  const blockHeight = Math.max(queryTokens.length, parts.keyTokens.length) * row + 62;
  for (let head = 0; head < heads; head++) {
    const x = (head % perLine) * (blockWidth + 24);
    const y = Math.floor(head / perLine) * blockHeight;
    headBlock(context, parts, head, {x, y, width, row});
  }
  const top = Math.ceil(heads / perLine) * blockHeight + 14;
  const joined = heads * d_k;
  label(picture, {x: 0, y: top + 14, text: "joined side by side, times Wᴼ", bold: true, size: 15});
  equation(picture, {x: 0, y: top + 30, room, pieces: outputPieces(context, parts)});
  const off = Array.from({length: heads}, (_, head) => head).filter((head) => context.trace.isOff(parts.path, head));
  picture.describe(
    `${heads} heads, each with Q, K, V and Z for ${queryTokens.length} tokens; the Zs joined to ${queryTokens.length} by ${joined}, ` +
      `times W^O, give ${queryTokens.length} by ${d_model}. ${off.length ? `Switched off: ${off.join(", ")}.` : "All heads are on."}`,
  );
}

/**
 * Q, K, V → Z of one head.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {number} head
 * @param {{x: number, y: number, width: number, row: number}} given
 */
function headBlock(context, parts, head, {x, y, width, row}) {
  const {trace} = context;
  const picture = context.picture("");
  const {heads, kv_heads} = trace.config;
  const kv = trace.kvHead(head);
  const isOff = trace.isOff(parts.path, head);
  headTitle(context, head, {x, y, isOff, note: kv_heads < heads ? `kv head ${kv}` : ""});
  const top = y + 46;
  let left = x;
  for (const letter of LETTERS) {
    const rows = letter === "q" ? parts.queryTokens : parts.keyTokens;
    heat(context, parts, {name: letter.toUpperCase(), array: letter, head, tokens: rows, meaning: letter, x: left, y: top, width, row});
    left += width + 10;
  }
  const middle = top + (parts.queryTokens.length * row) / 2;
  arrow(picture, {points: [[left, middle], [left + 22, middle]], meaning: "z", width: 2});
  heat(context, parts, {name: "Z", array: "z", head, tokens: parts.queryTokens, meaning: "z", x: left + 24, y: top, width, row});
}

/**
 * "head 2", in its colour; a button that chooses the head and shows where it looks.
 * @param {ViewContext} context
 * @param {number} head
 * @param {{x: number, y: number, isOff: boolean, note: string}} given
 */
function headTitle(context, head, {x, y, isOff, note}) {
  const picture = context.picture("");
  const colour = headColour(head, picture.theme);
  const group = picture.group({}, () => {
    picture.add(shape("rect", {x, y: y + 2, width: 74, height: 22, rx: 11, fill: "none", stroke: colour, "stroke-width": 2}));
    label(picture, {x: x + 37, y: y + 18, text: `head ${head}`, size: 13, bold: true, anchor: "middle"});
  });
  pressable(picture, group, {
    label: `head ${head}: see what it looks at`,
    onpick: () => context.go("attention", {head, options: {heads: String(head)}}),
    key: `head-${head}`,
  });
  const said = [note, isOff ? "switched off: Z is 0" : ""].filter(Boolean).join(" · ");
  if (said) label(picture, {x: x + 84, y: y + 18, text: said, size: 12, quiet: true});
}

/**
 * One head's matrix with a row for each token.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{
 *   name: string, array: string, head: number, tokens: string[], meaning: Meaning, x: number, y: number, width: number,
 *   row: number, bare?: boolean}} given
 */
function heat(context, parts, {name, array, head, tokens, meaning, x, y, width, row, bare = false}) {
  const picture = context.picture("");
  const {d_k} = context.trace.config;
  const tensor = parts.array(array);
  const place = parts.headOf(array === "z" ? "q" : array, head);
  const sub = `${name}${subscript(array === "z" || array === "q" ? head : place)}`;
  if (!bare) label(picture, {x: x + width / 2, y: y - 6, text: sub, size: 13, bold: true, anchor: "middle", meaning});
  matrix(picture, {
    x,
    y,
    rows: tokens.length,
    columns: d_k,
    cellWidth: width / d_k,
    cellHeight: row,
    value: (token, column) => tensor.at(place, token, column),
    name: `${name} of head ${head}`,
    meaning,
    key: `${array}-${head}`,
    describe: (token, column) => [`${sub}: “${tokens[token]}”, number ${column}`, precise(tensor.at(place, token, column))],
  });
}

/** @param {number} number */
function subscript(number) {
  return String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
}

/**
 * The joined Zs × W^O + b = the layer's answer.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @returns {Piece[]}
 */
function outputPieces(context, parts) {
  const {room} = context;
  const {heads, d_k, d_model, bias} = context.trace.config;
  const picture = context.picture("");
  const tokens = parts.queryTokens;
  const isNarrow = room < 600;
  const row = Math.max(0.75, Math.min(11, 120 / tokens.length));
  const projection = parts.outputProjection();
  const joined = heads * d_k;
  const joinedWidth = isNarrow ? room - 4 : Math.min(290, room * 0.36);
  const outWidth = isNarrow ? room - 40 : Math.min(160, room * 0.2);
  const bWidth = isNarrow ? room - 40 : 60;
  /** @type {Piece[]} */
  const pieces = [
    {
      width: joinedWidth,
      height: tokens.length * row + 12,
      name: heads > 1 ? `Z₀ … Z${subscript(heads - 1)}` : "Z₀",
      note: `${tokens.length} × ${joined}`,
      meaning: "z",
      draw: (x, y) => drawJoined(context, parts, {x, y, width: joinedWidth, row}),
    },
    {
      sign: "×",
      width: outWidth,
      height: 130,
      name: "W",
      raised: "O",
      note: `${joined} × ${d_model}`,
      meaning: "neutral",
      draw: (x, y) => {
        if (!projection) return missing(picture, {x, y, width: outWidth, height: 130});
        matrix(picture, {x, y, rows: joined, columns: d_model, cellWidth: outWidth / d_model, cellHeight: 130 / joined, value: projection.at, name: "W^O", key: "w-o"});
      },
    },
  ];
  if (bias) {
    pieces.push({
      sign: "+",
      width: bWidth,
      height: 14,
      name: "b",
      raised: "O",
      note: `1 × ${d_model}`,
      draw: (x, y) => {
        const offset = projection?.bias;
        if (!offset) return missing(picture, {x, y, width: bWidth, height: 14, text: "not here"});
        matrix(picture, {x, y, rows: 1, columns: d_model, cellWidth: bWidth / d_model, cellHeight: 14, value: (_, column) => offset(column), name: "b^O", key: "b-o"});
      },
    });
  }
  pieces.push({
    sign: "=",
    width: outWidth,
    height: tokens.length * row,
    name: "Z",
    note: `${tokens.length} × ${d_model}`,
    meaning: "z",
    draw: (x, y) => drawOutput(context, parts, {x, y, width: outWidth, row}),
  });
  return pieces;
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{x: number, y: number, width: number, row: number}} given
 */
function drawJoined(context, parts, {x, y, width, row}) {
  const picture = context.picture("");
  const {heads, d_k} = context.trace.config;
  const z = parts.array("z");
  const tokens = parts.queryTokens;
  for (let head = 0; head < heads; head++) {
    const bar = {x: x + (head * width) / heads + 1, y, width: width / heads - 2, height: 7};
    picture.add(shape("rect", {...bar, rx: 3, fill: headColour(head, picture.theme)}));
  }
  matrix(picture, {
    x,
    y: y + 12,
    rows: tokens.length,
    columns: heads * d_k,
    cellWidth: width / (heads * d_k),
    cellHeight: row,
    value: (token, column) => z.at(Math.floor(column / d_k), token, column % d_k),
    name: "the heads' Z joined",
    meaning: "z",
    key: "joined",
    describe: (token, column) => {
      const head = Math.floor(column / d_k);
      return [`Z${subscript(head)}: “${tokens[token]}”, number ${column % d_k}`, precise(z.at(head, token, column % d_k))];
    },
  });
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{x: number, y: number, width: number, row: number}} given
 */
function drawOutput(context, parts, {x, y, width, row}) {
  const output = parts.array("output");
  const tokens = parts.queryTokens;
  const {d_model} = context.trace.config;
  matrix(context.picture(""), {
    x,
    y,
    rows: tokens.length,
    columns: d_model,
    cellWidth: width / d_model,
    cellHeight: row,
    value: (token, column) => output.at(token, column),
    name: "Z, the output",
    meaning: "z",
    rowNames: tokens,
    key: "output",
  });
}

/**
 * The whole of it on one screen: sentence, X, each head's matrices, Q K V, Z, W^O, Z.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 */
function drawRecap(context, parts) {
  const picture = context.picture("Multi-head attention on one screen");
  const {heads, d_k} = context.trace.config;
  const tokens = parts.queryTokens;
  const room = Math.max(context.room, 760);
  const unit = (room - 92 - 5 * 28) / 10.2; // what the matrices of a head are wide, all else follows
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
  tops.forEach((top, head) => recapHead(context, parts, head, {top, columns, unit, size, row, from: [area.x + area.width, middle]}));
  recapOutput(context, parts, {x: columns.wo, unit, middle, tops, size});
  picture.describe(
    `${tokens.length} tokens as X, ${heads} heads with their W^Q, W^K and W^V, the Q, K and V they make, the ${heads} Z of ` +
      `${d_k} columns each, joined and multiplied by W^O.`,
  );
}

/**
 * What the heads work on: X, and in encoder-decoder attention what the encoder gave.
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
    rowLabels(picture, {box: area, names: tokens, size: Math.min(13, row * 0.75), width: 84, current: isX ? parts.token : undefined});
  } else {
    const middle = area.y + area.height / 2;
    label(picture, {x: 84, y: middle, text: fitText(`${tokens.length} tokens`, 84), anchor: "end", size: 13});
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
  picture.add(shape("path", {d: `M${from[0] + 3} ${from[1]} C${from[0] + 16} ${from[1]} ${columns.w - 18} ${middle} ${columns.w - 5} ${middle}`, fill: "none", stroke: colour, "stroke-width": 2}));
  LETTERS.forEach((letter, index) => {
    const box = {x: columns.w + index * unit, y: top, width: unit - 8, height: size};
    const projection = parts.projection(letter, head);
    const above = {x: box.x + box.width / 2, y: top - 4, size: 11, anchor: /** @type {const} */ ("middle"), meaning: letter};
    label(picture, {...above, text: `W${subscript(head)} ${letter.toUpperCase()}`});
    if (projection) {
      matrix(picture, {...box, rows: d_model, columns: d_k, cellWidth: box.width / d_k, cellHeight: size / d_model, value: projection.at, name: `W^${letter.toUpperCase()} of head ${head}`, meaning: letter, key: `recap-w-${letter}-${head}`});
    } else missing(picture, {...box, meaning: letter, text: "—"});
    const tokens = letter === "q" ? parts.queryTokens : parts.keyTokens;
    const height = tokens.length * row(tokens.length);
    const x = columns.made + index * unit;
    label(picture, {...above, x: x + box.width / 2, y: middle - height / 2 - 4, text: `${letter.toUpperCase()}${subscript(parts.headOf(letter, head))}`});
    heat(context, parts, {name: letter.toUpperCase(), array: letter, head, tokens, meaning: letter, x, y: middle - height / 2, width: unit - 8, row: row(tokens.length), bare: true});
  });
  const height = parts.queryTokens.length * row(parts.queryTokens.length);
  arrow(picture, {points: [[columns.made - 28, middle], [columns.made - 6, middle]], width: 1.5});
  arrow(picture, {points: [[columns.z - 28, middle], [columns.z - 6, middle]], width: 1.5});
  label(picture, {x: columns.z + unit / 2 - 4, y: middle - height / 2 - 4, text: isOff ? `Z${subscript(head)} off` : `Z${subscript(head)}`, size: 11, anchor: "middle", meaning: "z"});
  heat(context, parts, {name: "Z", array: "z", head, tokens: parts.queryTokens, meaning: "z", x: columns.z, y: middle - height / 2, width: unit - 8, row: row(parts.queryTokens.length), bare: true});
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
    picture.add(shape("path", {d: `M${x - 32} ${y} C${x - 18} ${y} ${x - 18} ${end} ${x - 5} ${end}`, fill: "none", stroke: headColour(head, picture.theme), "stroke-width": 2}));
  });
  const box = {x, y: top, width, height: 100};
  label(picture, {x: x + width / 2, y: top - 4, text: "Wᴼ", size: 11, anchor: "middle"});
  if (projection) {
    matrix(picture, {...box, rows: heads * d_k, columns: d_model, cellWidth: width / d_model, cellHeight: 100 / (heads * d_k), value: projection.at, name: "W^O", key: "recap-w-o"});
  } else missing(picture, box);
  arrow(picture, {points: [[x + width / 2, top + 104], [x + width / 2, top + 134]], meaning: "z", width: 2});
  const tokens = parts.queryTokens;
  const row = Math.min(10, 130 / tokens.length);
  label(picture, {x, y: top + 150, text: "Z", size: 13, bold: true, meaning: "z"});
  drawOutput(context, parts, {x, y: top + 156, width, row});
}
