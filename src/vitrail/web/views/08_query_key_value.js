// Row 8, query, key and value: what one head makes of one token.

import {coloured, word} from "../context.js";
import {dot} from "../arithmetic.js";
import {shape} from "../dom.js";
import {decimal, extent, precise} from "../numbers.js";
import {matrix, strip} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {valueLegend} from "../draw/legend.js";
import {AttentionParts, strongest} from "./attention_parts.js";
import {oneOf, raised} from "./choices.js";
import {equation, missing, SIGN, widthOf} from "./equation.js";
import {columnsFor, wrappedHeight, wrappedVector} from "./wrapped_vector.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./attention_parts.js").Letter} Letter
 * @typedef {import("./equation.js").Piece} Piece
 */

const NAMES = {q: "query", k: "key", v: "value"};
const MATRIX_HEIGHT = 116; // if there is room
const X_WIDTH = 60;
const W_WIDTH = 98;
const B_WIDTH = 44;
const TWO_DIGITS = 32; // a cell as wide as "−1.23"
const ONE_DIGIT = 26; // and as "−1.2"
const WIDEST_TOKEN = 110; // in the names above vectors: it must leave room for the numbers
const ON_A_LINE = 16; // numbers: fewer make a picture that is too high for the first screen

/** @type {import("../views.js").View} */
export const queryKeyValueView = {
  id: "query-key-value",
  row: 8,
  title: "Query, key and value",
  pickers: ["attention", "layer", "head", "token"],
  render(context) {
    const parts = new AttentionParts(context);
    const {d_model, d_k} = context.trace.config;
    const asking = parts.queryTokens[parts.token];
    const seen = seenToken(context, parts);
    context.lead`A head turns the ${d_model} numbers of ${word(asking)} into a ${coloured("q", "query")}, a
      ${coloured("k", "key")} and a ${coloured("v", "value")} of ${d_k} numbers each.`;
    context.say`The ${coloured("q", "query")} is what the token is looking for, the ${coloured("k", "key")} what others
      can find it by, and the ${coloured("v", "value")} what it passes on. Each is ${coloured("x", "x")} times a learned
      matrix.`;
    if (parts.isCross) {
      context.say`Here the decoder asks. The query comes from ${word(asking)}; keys and values come from the top
        encoder’s output for the source, here for ${word(parts.keyTokens[seen])}. This is ${parts.headName}.`;
    } else {
      const first = decimal(parts.vector("q", parts.token)[0], 2);
      context.say`This is ${word(asking)} in ${parts.headName}. The first number of its query, ${first}, is x times the
        first column of ${raised("W", "Q")}${bias(context)}. Point at any number of q, k or v to see which column it
        comes from.`;
    }
    if (context.trace.config.norm === "pre" && !parts.isCross) {
      context.say`This model normalizes before each sub-layer, so ${coloured("x", "x")} is the normalized vector.`;
    }
    parts.sayPositions(context);
    if (parts.isCross) context.controls(seenPicker(context, parts, seen));
    draw(context, parts, seen);
  },
};

/** @param {ViewContext} context */
function bias(context) {
  return document.createTextNode(context.trace.config.bias ? ", plus the first number of the bias" : "");
}

/**
 * The token whose key and value are shown: the same one; in encoder-decoder attention, the one it looks at most.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 */
function seenToken(context, parts) {
  if (!parts.isCross) return parts.token;
  const chosen = Number(context.option("seen", "-1"));
  if (Number.isInteger(chosen) && chosen >= 0 && chosen < parts.keyTokens.length) return chosen;
  return strongest(parts.array("weights").row(parts.head, parts.token));
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {number} seen
 */
function seenPicker(context, parts, seen) {
  return oneOf({
    title: "Source",
    key: "choice-seen",
    choices: parts.keyTokens.map((text, token) => ({
      value: String(token),
      text,
      spoken: `${text}, source position ${token}`,
    })),
    current: String(seen),
    onpick: (value, repeated) => context.setOption("seen", value, {replace: repeated}),
  });
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {number} seen
 */
function draw(context, parts, seen) {
  const picture = context.picture("Query, key and value of one token in one head");
  const {room} = context;
  const {d_k} = context.trace.config;
  const all = /** @type {Letter[]} */ (["q", "k", "v"]);
  const tokenOf = (/** @type {Letter} */ letter) => (letter === "q" ? parts.token : seen);
  const largest = Math.max(...all.map((letter) => extent(parts.vector(letter, tokenOf(letter))).size));
  let y = 0;
  for (const letter of all) {
    const token = tokenOf(letter);
    const pieces = projectionPieces(context, parts, letter, token, largest);
    const {placed} = parts.positions;
    const {width} = pieces[pieces.length - 1];
    if (placed && letter !== "v") pieces.push(placedPiece(context, parts, placed, letter, token, largest, width));
    y += equation(picture, {x: 0, y, pieces, room}).height + 10;
  }
  label(picture, {x: 0, y: y + 16, text: "scale of q, k and v", size: 12, quiet: true});
  valueLegend(picture, {x: 150, y: y + 4, largest});
  const said = all.map((letter) => {
    const values = Array.from(parts.vector(letter, tokenOf(letter)).slice(0, 4), (value) => decimal(value));
    const tokens = letter === "q" ? parts.queryTokens : parts.keyTokens;
    return `${letter} of “${tokens[tokenOf(letter)]}” begins with ${values.join(", ")}`;
  });
  const product = context.trace.config.bias ? "x times W plus bias" : "x times W";
  picture.describe(`${product} gives vectors of ${d_k} numbers in ${parts.headName}: ${said.join("; ")}.`);
}

/**
 * x × W + b = q.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Letter} letter
 * @param {number} token
 * @param {number} largest
 * @returns {Piece[]}
 */
function projectionPieces(context, parts, letter, token, largest) {
  const picture = context.picture("");
  const {d_model, d_k, bias: hasBias} = context.trace.config;
  const isWide = context.room >= 700;
  const tensor = letter === "q" ? parts.input : parts.seen;
  const from = letter === "q" ? parts.queryTokens[token] : parts.keyTokens[token];
  const short = picture.ruler.fit(from, WIDEST_TOKEN, 15, true);
  const x = tensor.row(token);
  const projection = parts.projection(letter);
  const matrixHeight = Math.max(40, Math.min(MATRIX_HEIGHT, (context.tall - 30) / 3 - 68));
  const xWidth = isWide ? X_WIDTH : context.room;
  const wWidth = isWide ? W_WIDTH : context.room - 34;
  const isOutside = parts.isCross && letter !== "q";

  /** @type {SVGElement | null} */
  let column = null;
  const showColumn = (/** @type {number | null} */ index) => {
    if (!column || !projection) return;
    column.setAttribute("visibility", index === null ? "hidden" : "visible");
    if (index !== null) {
      column.setAttribute("x", String(Number(column.getAttribute("data-left")) + (index * wWidth) / d_k));
    }
  };
  /** @type {Piece[]} */
  const pieces = [
    {
      width: xWidth,
      height: 22,
      name: isOutside ? `encoder’s “${short}”` : `x “${short}”`,
      note: `1 × ${d_model}`,
      meaning: "x",
      draw: (left, top) =>
        void strip(picture, {
          x: left,
          y: top,
          values: x,
          width: xWidth,
          name: `x of “${from}”`,
          meaning: "x",
          key: `x-${letter}`,
        }),
    },
    {
      sign: "×",
      width: wWidth,
      height: matrixHeight,
      name: "W",
      raised: letter.toUpperCase(),
      note: `${d_model} × ${d_k}`,
      meaning: letter,
      draw: (left, top) => {
        const box = {x: left, y: top, width: wWidth, height: matrixHeight};
        if (!projection) return missing(picture, {...box, meaning: letter});
        matrix(picture, {
          ...box,
          rows: d_model,
          columns: d_k,
          cellWidth: wWidth / d_k,
          cellHeight: matrixHeight / d_model,
          value: projection.at,
          name: `W^${letter.toUpperCase()}`,
          meaning: letter,
        });
        column = shape("rect", {
          class: "current-mark",
          "data-transient": "",
          "data-left": left,
          y: top,
          width: wWidth / d_k,
          height: matrixHeight,
          visibility: "hidden",
        });
        picture.add(column);
      },
    },
  ];
  if (hasBias) {
    const bWidth = isWide ? B_WIDTH : context.room - 34;
    pieces.push({
      sign: "+",
      width: bWidth,
      height: 22,
      name: "b",
      raised: letter.toUpperCase(),
      note: `1 × ${d_k}`,
      meaning: letter,
      draw: (left, top) => {
        const box = {x: left, y: top, width: bWidth, height: 22};
        if (!projection?.bias) return missing(picture, {...box, meaning: letter, text: "not here"});
        const values = Float64Array.from({length: d_k}, (_, index) => projection.bias?.(index) ?? 0);
        strip(picture, {x: left, y: top, values, width: bWidth, name: `b^${letter.toUpperCase()}`, meaning: letter});
      },
    });
  }
  const values = parts.vector(letter, token);
  const taken = isWide ? widthOf(picture, pieces) : 0;
  const {cellWidth, columns, digits} = cells(context.room - taken - SIGN, d_k);
  pieces.push({
    sign: "=",
    width: Math.min(columns, d_k) * cellWidth,
    height: wrappedHeight(d_k, columns),
    name: `${letter} “${short}”`,
    note: `the ${NAMES[letter]}, 1 × ${d_k}`,
    meaning: letter,
    draw: (left, top) =>
      void wrappedVector(picture, {
        x: left,
        y: top,
        values,
        columns,
        cellWidth,
        digits,
        name: `${letter} of “${from}”`,
        meaning: letter,
        largest,
        key: letter,
        onread: showColumn,
        describe: (index) => {
          const title = `${letter} of “${from}”, number ${index}: ${precise(values[index])}`;
          if (!projection) return [title];
          const product = dot(
            x,
            Float64Array.from({length: d_model}, (_, row) => projection.at(row, index)),
          );
          const start = `x · column ${index} of W^${letter.toUpperCase()} = ${decimal(product, 4)}`;
          if (!projection.bias) return [title, start];
          const offset = projection.bias(index);
          return [
            title,
            start,
            `plus b: ${decimal(product, 4)} + ${decimal(offset, 4)} = ${decimal(product + offset, 4)}`,
          ];
        },
      }),
  });
  return pieces;
}

/**
 * How wide a cell is, how many stand in a line, and how many decimals their numbers have.
 * @param {number} room
 * @param {number} d_k
 */
function cells(room, d_k) {
  const columns = Math.max(columnsFor(d_k, room, TWO_DIGITS), Math.min(ON_A_LINE, columnsFor(d_k, room, ONE_DIGIT)));
  const cellWidth = Math.min(52, Math.floor(room / Math.min(columns, d_k)));
  return {cellWidth, columns, digits: cellWidth < TWO_DIGITS ? 1 : 2};
}

/**
 * The query or key as positions left it.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {import("../positions/plain.js").Placed} placed
 * @param {"q" | "k"} letter
 * @param {number} token
 * @param {number} largest
 * @param {number} width of the vector before it, which it stands under
 * @returns {Piece}
 */
function placedPiece(context, parts, placed, letter, token, largest, width) {
  const {d_k} = context.trace.config;
  const from = letter === "q" ? parts.queryTokens[token] : parts.keyTokens[token];
  const short = context.picture("").ruler.fit(from, WIDEST_TOKEN, 15, true);
  const before = parts.vector(letter, token);
  const values = parts.vector(parts.positions.meeting[letter], token);
  const {cellWidth, columns, digits} = cells(width, d_k);
  return {
    sign: placed.sign,
    width: Math.min(columns, d_k) * cellWidth,
    height: wrappedHeight(d_k, columns),
    name: `${letter} “${short}”, ${placed.word}`,
    note: placed.note(token),
    meaning: letter,
    draw: (left, top) =>
      void wrappedVector(context.picture(""), {
        x: left,
        y: top,
        values,
        columns,
        cellWidth,
        digits,
        name: `${letter} of “${from}” ${placed.word}`,
        meaning: letter,
        largest,
        key: `${letter}-${placed.word}`,
        describe: (index) => [
          `${placed.word} ${letter} of “${from}”, number ${index}: ${precise(values[index])}`,
          placed.tell(before, index),
        ],
      }),
  };
}
