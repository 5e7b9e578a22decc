// Row 13, many heads: each head's Q, K, V and Z, side by side, times W^O; and all of it on one screen.

import {coloured, plain, word} from "../context.js";
import {shape} from "../dom.js";
import {headColour} from "../colour.js";
import {precise} from "../numbers.js";
import {matrix} from "../draw/matrix.js";
import {arrow} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {pressable} from "../draw/reading.js";
import {AttentionParts} from "./attention_parts.js";
import {oneOf, raised} from "./choices.js";
import {equation, missing} from "./equation.js";
import {headMatrix, outputMatrix, subscript} from "./head_matrices.js";
import {headSwitches} from "./heads_off.js";
import {drawRecap} from "./heads_recap.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./attention_parts.js").Letter} Letter
 * @typedef {import("./equation.js").Piece} Piece
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
    if (heads === 1) {
      context.lead`This model has a single head, whose ${coloured("z", "Z")} has ${d_k} columns.`;
      context.say`Other models do all of that several times in parallel, each time with different matrices.`;
    } else {
      context.lead`${heads} heads do all of that side by side, each with matrices of its own and a ${coloured("z", "Z")}
        of its own.`;
      context.say`Each head is free to look for something else. Its ${coloured("z", "Z")} has ${d_k} columns.`;
    }
    context.say`The next sub-layer expects one matrix, so the heads’ results are placed side by side
      (${`${heads} × ${d_k} = ${heads * d_k}`} columns) and multiplied by ${raised("W", "O")}. Each token, such as
      ${word(parts.queryTokens[parts.token])}, then has ${d_model} numbers again.`;
    if (kv_heads < heads) {
      const shared = kv_heads === 1 ? "one set of keys and values" : `${kv_heads} sets of keys and values`;
      context.say`In this model the ${heads} heads share
        ${shared}${plain(kv_heads === 1 ? "." : `, ${heads / kv_heads} heads each.`)}`;
    }
    if (parts.isCross) {
      context.say`Queries come from the decoder’s own tokens. Keys and values come from the encoder’s output, one row
        for each of the ${parts.keyTokens.length} source tokens.`;
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
  const picture = context.picture("Each head, then all of them side by side");
  const {room} = context;
  const {heads, d_k, d_model} = context.trace.config;
  const {queryTokens} = parts;
  const perHead = context.tall / (heads > 4 ? 4.6 : 3.6) - 62;
  const most = Math.max(queryTokens.length, parts.keyTokens.length);
  const row = Math.max(0.75, Math.min(7, 84 / most, perHead / most));
  const width = room < 600 ? 58 : heads > 4 ? 52 : 74;
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
  label(picture, {x: 0, y: top + 14, text: "side by side, times Wᴼ", bold: true, size: 15});
  equation(picture, {x: 0, y: top + 30, room, pieces: outputPieces(context, parts)});
  const tokens = queryTokens.length;
  const off = Array.from({length: heads}, (_, head) => head).filter((head) => context.trace.isOff(parts.path, head));
  const switches = off.length ? `Switched off: ${off.join(", ")}.` : "All heads are on.";
  picture.describe(
    `${heads} heads, each with Q, K, V and Z for ${tokens} tokens. Side by side the Zs are ${tokens} by ${joined}; ` +
      `times W^O they give ${tokens} by ${d_model}. ${switches}`,
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
    headMatrix(context, parts, {
      name: letter.toUpperCase(),
      array: letter,
      head,
      tokens: rows,
      meaning: letter,
      x: left,
      y: top,
      width,
      row,
    });
    left += width + 10;
  }
  const middle = top + (parts.queryTokens.length * row) / 2;
  arrow(picture, {
    points: [
      [left, middle],
      [left + 22, middle],
    ],
    meaning: "z",
    width: 2,
  });
  headMatrix(context, parts, {
    name: "Z",
    array: "z",
    head,
    tokens: parts.queryTokens,
    meaning: "z",
    x: left + 24,
    y: top,
    width,
    row,
  });
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
    picture.add(
      shape("rect", {x, y: y + 2, width: 74, height: 22, rx: 11, fill: "none", stroke: colour, "stroke-width": 2}),
    );
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
 * The Zs side by side × W^O + b = the output.
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
        matrix(picture, {
          x,
          y,
          rows: joined,
          columns: d_model,
          cellWidth: outWidth / d_model,
          cellHeight: 130 / joined,
          value: projection.at,
          name: "W^O",
          key: "w-o",
        });
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
        matrix(picture, {
          x,
          y,
          rows: 1,
          columns: d_model,
          cellWidth: bWidth / d_model,
          cellHeight: 14,
          value: (_, column) => offset(column),
          name: "b^O",
          key: "b-o",
        });
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
    draw: (x, y) => outputMatrix(context, parts, {x, y, width: outWidth, row}),
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
    name: "the heads' Z, side by side",
    meaning: "z",
    key: "joined",
    describe: (token, column) => {
      const head = Math.floor(column / d_k);
      return [
        `Z${subscript(head)}: “${tokens[token]}”, number ${column % d_k}`,
        precise(z.at(head, token, column % d_k)),
      ];
    },
  });
}
