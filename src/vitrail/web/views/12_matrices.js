// Row 12, the same as matrices: all tokens at once.

import {coloured, word, wordAt} from "../context.js";
import {headColour} from "../colour.js";
import {decimal, percent, precise} from "../numbers.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {letterSize} from "../draw/fit.js";
import {AttentionParts, strongest} from "./attention_parts.js";
import {oneOf, raised} from "./choices.js";
import {subscript} from "./head_matrices.js";
import {equation, missing} from "./equation.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Tensor} Tensor
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {import("./attention_parts.js").Letter} Letter
 * @typedef {import("./equation.js").Piece} Piece
 */

const NAMES = 62; // units for the tokens' names

/** @type {import("../views.js").View} */
export const matricesView = {
  id: "matrices",
  row: 12,
  title: "The same, as matrices",
  pickers: ["attention", "layer", "head", "token"],
  render(context) {
    const parts = new AttentionParts(context);
    const {d_model, d_k} = context.trace.config;
    const {queryTokens, keyTokens, token} = parts;
    const weights = parts.array("weights").row(parts.head, token);
    const best = strongest(weights);
    context.lead`All ${queryTokens.length} tokens at once, as rows of one matrix ${coloured("x", "X")}: one
      multiplication gives every query.`;
    context.say`In practice the model does not go token by token: ${`${queryTokens.length} × ${d_model}`} times
      ${`${d_model} × ${d_k}`} is ${`${queryTokens.length} × ${d_k}`}. ${word(queryTokens[token])} is row ${token}.`;
    context.say`Queries times transposed keys (${raised("QK", "T")}) give a score for each pair of tokens. The scores
      are divided by ${decimal(Math.sqrt(d_k))} and go through the softmax row by row. In ${parts.headName}, the largest
      weight of ${word(queryTokens[token])} is ${percent(weights[best])}, for ${wordAt(keyTokens, best)}. The weights
      times ${coloured("v", "V")} are ${coloured("z", `Z${subscript(parts.head)}`)}.`;
    if (parts.isCross) {
      context.say`Keys and values come from the encoder’s output, which has one row for each of the ${keyTokens.length}
        source tokens.`;
    }
    parts.sayPositions(context);
    context.controls(
      oneOf({
        title: "Show",
        key: "choice-matrices-of",
        choices: [
          {value: "projections", text: "Q, K and V"},
          {value: "attention", text: "softmax(QKᵀ) V"},
        ],
        current: context.option("matrices-of", "projections"),
        onpick: (value) => context.setOption("matrices-of", value === "projections" ? null : value),
      }),
    );
    draw(context, parts);
  },
};

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 */
function draw(context, parts) {
  const picture = context.picture("Self-attention as matrices");
  const {room} = context;
  const {queryTokens, keyTokens} = parts;
  const {d_k, d_model} = context.trace.config;
  if (context.option("matrices-of", "projections") === "attention") {
    const {bias} = parts.positions;
    const divided = `Q Kᵀ / √${d_k}${bias ? ` ${bias.title}` : ""}`;
    label(picture, {
      x: 0,
      y: 16,
      text: `softmax( ${divided} ) V = Z${subscript(parts.head)}, step by step`,
      bold: true,
      size: 15,
    });
    equation(picture, {x: 0, y: 36, pieces: attentionPieces(context, parts), room});
  } else {
    const height = Math.min(120, context.tall / 3 - 58);
    const row = Math.max(1.5, Math.min(11, height / Math.max(queryTokens.length, keyTokens.length)));
    const hasNames = room >= 600 && row >= 7; // the tokens beside their rows, if there is room
    const left = hasNames ? NAMES : 0;
    let y = 0;
    for (const letter of /** @type {Letter[]} */ (["q", "k", "v"])) {
      const pieces = projectionPieces(context, parts, letter, {row, hasNames, height});
      y += equation(picture, {x: left, y, pieces, room: room - left}).height;
    }
  }
  picture.describe(
    `X, ${queryTokens.length} by ${d_model}, times W^Q, W^K and W^V gives Q, K and V with ${d_k} columns. ` +
      `Q times K transposed gives ${queryTokens.length} by ${keyTokens.length} scores. Their softmax times V gives Z.`,
  );
}

/**
 * X × W^Q = Q.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Letter} letter
 * @param {{row: number, hasNames: boolean, height: number}} given height: of W
 * @returns {Piece[]}
 */
function projectionPieces(context, parts, letter, {row, hasNames, height}) {
  const picture = context.picture("");
  const {d_model, d_k, bias} = context.trace.config;
  const isNarrow = context.room < 600;
  const tensor = letter === "q" ? parts.input : parts.seen;
  const tokens = letter === "q" ? parts.queryTokens : parts.keyTokens;
  const projection = parts.projection(letter);
  const isOutside = parts.isCross && letter !== "q";
  const xWidth = isNarrow ? 150 : 230;
  const short = isNarrow ? 84 : 110;
  const size = letter.toUpperCase();
  const made = parts.array(letter);
  const head = parts.headOf(letter);
  /** @type {Piece[]} */
  const pieces = [
    {
      ...tokenMatrix(context, parts, {
        name: isOutside ? "encoder output" : "X",
        tokens,
        meaning: isOutside ? "r" : "x",
        columns: d_model,
        at: (token, column) => tensor.at(token, column),
        width: xWidth,
        row,
        key: `x-${letter}`,
        current: letter === "q" || !parts.isCross ? parts.token : undefined,
        hasNames,
      }),
    },
    {
      sign: "×",
      width: short,
      height,
      name: "W",
      raised: size,
      note: `${d_model} × ${d_k}`,
      meaning: letter,
      draw: (x, y) => {
        if (!projection) return missing(picture, {x, y, width: short, height, meaning: letter});
        matrix(picture, {
          x,
          y,
          rows: d_model,
          columns: d_k,
          cellWidth: short / d_k,
          cellHeight: height / d_model,
          value: projection.at,
          name: `W^${size}`,
          meaning: letter,
          key: `w-${letter}`,
        });
      },
    },
  ];
  if (bias) {
    pieces.push({
      sign: "+",
      width: isNarrow ? short : 70,
      height: 14,
      name: "b",
      raised: size,
      note: `1 × ${d_k}, to every row`,
      meaning: letter,
      draw: (x, y) => {
        const width = isNarrow ? short : 70;
        const offset = projection?.bias;
        if (!offset) return missing(picture, {x, y, width, height: 14, meaning: letter, text: "not here"});
        matrix(picture, {
          x,
          y,
          rows: 1,
          columns: d_k,
          cellWidth: width / d_k,
          cellHeight: 14,
          value: (_, column) => offset(column),
          name: `b^${size}`,
          meaning: letter,
          key: `b-${letter}`,
        });
      },
    });
  }
  pieces.push({
    sign: "=",
    ...tokenMatrix(context, parts, {
      name: size,
      tokens,
      meaning: letter,
      columns: d_k,
      at: (token, column) => made.at(head, token, column),
      width: short,
      row,
      key: `made-${letter}`,
      current: letter === "q" || !parts.isCross ? parts.token : undefined,
    }),
  });
  return pieces;
}

/**
 * A matrix with a row for each token.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{
 *   name: string, tokens: string[], meaning: Meaning, columns: number, at: (token: number, column: number) => number,
 *   width: number, row: number, key: string, current?: number, columnTokens?: string[], colour?: string,
 *   raised?: string, hasNames?: boolean}} given
 * @returns {Piece}
 */
function tokenMatrix(context, parts, given) {
  const {name, tokens, meaning, columns, at, width, row, current, columnTokens} = given;
  const picture = context.picture("");
  const height = tokens.length * row;
  return {
    width,
    height,
    name,
    raised: given.raised,
    note: `${tokens.length} × ${columns}`,
    meaning,
    draw: (x, y) => {
      if (given.hasNames) {
        rowLabels(picture, {
          box: {x, y, width, height},
          names: tokens,
          size: letterSize(row, 10.5),
          width: NAMES - 6,
          current,
          gap: 6,
        });
      }
      matrix(picture, {
        x,
        y,
        rows: tokens.length,
        columns,
        cellWidth: width / columns,
        cellHeight: row,
        value: at,
        name: given.raised ? `${name}^${given.raised}` : name,
        meaning,
        colour: given.colour,
        current: current === undefined ? undefined : {row: current},
        key: given.key,
        describe: (token, column) => [
          columnTokens
            ? `${name}: “${tokens[token]}” → “${columnTokens[column]}”`
            : `${name}: “${tokens[token]}”, number ${column}`,
          precise(at(token, column)),
        ],
        onpick: current === undefined ? undefined : (token) => context.update({token}),
      });
    },
  };
}

/**
 * softmax(Q Kᵀ / √d_k) V = Z, through every matrix in between.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @returns {Piece[]}
 */
function attentionPieces(context, parts) {
  const {queryTokens, keyTokens, head} = parts;
  const {d_k} = context.trace.config;
  const {meeting, placed, bias} = parts.positions;
  const isNarrow = context.room < 600;
  const q = parts.array(meeting.q);
  const k = parts.array(meeting.k);
  const v = parts.array("v");
  const z = parts.array("z");
  const scaled = parts.array("scaled");
  const weights = parts.array("weights");
  const short = isNarrow ? 84 : 88;
  const fit = isNarrow ? 130 : (context.room - 3 * short - 5 * 34) / 3; // all of it in one line
  const row = Math.max(0.75, Math.min(15, fit / Math.max(keyTokens.length, queryTokens.length)));
  const square = keyTokens.length * row;
  const suffix = placed ? `, ${placed.word}` : "";
  /** @type {Piece} */
  const keysTransposed = {
    sign: "×",
    width: square,
    height: short,
    name: `K${suffix}`,
    raised: "T",
    note: `${d_k} × ${keyTokens.length}`,
    meaning: "k",
    draw: (x, y) =>
      void matrix(context.picture(""), {
        x,
        y,
        rows: d_k,
        columns: keyTokens.length,
        cellWidth: row,
        cellHeight: short / d_k,
        value: (number, token) => k.at(parts.kvHead, token, number),
        name: "K transposed",
        meaning: "k",
        columnNames: keyTokens,
        key: "k-transposed",
      }),
  };
  const common = {tokens: queryTokens, row, current: parts.token};
  return [
    tokenMatrix(context, parts, {
      ...common,
      name: `Q${suffix}`,
      meaning: "q",
      columns: d_k,
      at: (t, i) => q.at(head, t, i),
      width: short,
      key: "q-again",
    }),
    keysTransposed,
    {
      sign: "→",
      ...tokenMatrix(context, parts, {
        ...common,
        name: `÷ √d_k${bias ? ` ${bias.title}` : ""}${parts.isMasked ? ", hidden" : ""}`,
        meaning: "neutral",
        columns: keyTokens.length,
        at: (t, s) => scaled.at(head, t, s),
        width: square,
        columnTokens: keyTokens,
        key: "scaled",
      }),
    },
    {
      sign: "→",
      ...tokenMatrix(context, parts, {
        ...common,
        name: "softmax",
        meaning: "neutral",
        columns: keyTokens.length,
        at: (t, s) => weights.at(head, t, s),
        width: square,
        columnTokens: keyTokens,
        colour: headColour(head, context.theme),
        key: "weights",
      }),
    },
    {
      sign: "×",
      ...tokenMatrix(context, parts, {
        tokens: keyTokens,
        row,
        name: "V",
        meaning: "v",
        columns: d_k,
        at: (t, i) => v.at(parts.kvHead, t, i),
        width: short,
        key: "v-again",
      }),
    },
    {
      sign: parts.positions.moreValues(parts).length ? "→" : "=",
      ...tokenMatrix(context, parts, {
        ...common,
        name: `Z${subscript(head)}${parts.isOff ? " (off)" : ""}`,
        meaning: "z",
        columns: d_k,
        at: (t, i) => z.at(head, t, i),
        width: short,
        key: "z",
      }),
    },
  ];
}
