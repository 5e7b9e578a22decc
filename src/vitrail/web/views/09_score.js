// Row 9, the score: how well a query matches each key, as a dot product, term by term.

import {coloured, word, wordAt} from "../context.js";
import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {decimal, extent, precise} from "../numbers.js";
import {strip} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {readable} from "../draw/reading.js";
import {addsUp} from "./adding_up.js";
import {AttentionParts, keysToShow, strongest} from "./attention_parts.js";
import {bareStrip, columnsFor, LINE, wrappedVector} from "./wrapped_vector.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Picture} Picture
 */

const ROW = 28;
const DIGITS = 2;
const MOST = 30; // keys; of a longer sentence, the best matches

/** @type {import("../views.js").View} */
export const scoreView = {
  id: "score",
  row: 9,
  title: "Score",
  pickers: ["attention", "layer", "head", "token"],
  render(context) {
    const parts = new AttentionParts(context);
    const asking = parts.queryTokens[parts.token];
    const scores = parts.array("scores").row(parts.head, parts.token);
    const key = chosenKey(context, parts, scores);
    context.say`How much should ${word(asking)} look at each token? Multiply its ${coloured("q", "query")} with each
      ${coloured("k", "key")}, number by number, and add up the products. This dot product is large if the two vectors
      point the same way.`;
    const allowed = parts.isMasked ? scores.slice(0, parts.token + 1) : scores;
    const best = strongest(allowed);
    context.say`In ${parts.headName}, ${word(asking)} matches ${wordAt(parts.keyTokens, best)} best, with a score of
      ${decimal(scores[best])}. Point at a token or choose it to see the sum term by term.`;
    if (parts.isMasked && parts.token < parts.keyTokens.length - 1) {
      context.say`Tokens after ${word(asking)} have scores too, but the next step hides them: the decoder must not see
        words that it has not written yet.`;
    }
    parts.sayPositions(context);
    draw(context, parts, scores, key);
  },
};

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {ArrayLike<number>} scores
 */
function chosenKey(context, parts, scores) {
  const chosen = Number(context.option("key", "-1"));
  if (Number.isInteger(chosen) && chosen >= 0 && chosen < scores.length) return chosen;
  return strongest(parts.array("weights").row(parts.head, parts.token));
}

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Float32Array} scores
 * @param {number} key
 */
function draw(context, parts, scores, key) {
  const picture = context.picture("The score of every key");
  const asking = parts.queryTokens[parts.token];
  const names = parts.keyTokens.map((token, index) => `${token} ${decimal(scores[index])}`);
  picture.describe(`q of “${asking}” times each k: ${names.slice(0, 40).join(", ")}.`);
  const {room} = context;
  const seen = scores.map((score, at) => (isHidden(parts, at) ? -Infinity : score));
  const shown = keysToShow(seen, MOST, key);
  const {meeting, placed} = parts.positions;
  const query = parts.vector(meeting.q, parts.token);
  const isWide = room >= 600;
  const nameWidth = Math.min(isWide ? 130 : 80, picture.ruler.widest(parts.keyTokens, 14, true) + 4);
  const stripWidth = isWide ? Math.min(240, room * 0.28) : room - nameWidth - 90;
  const left = nameWidth + 10;
  const largest = Math.max(
    extent(query).size,
    ...parts.keyTokens.map((_, token) => extent(parts.vector(meeting.k, token)).size),
  );

  label(picture, {
    x: nameWidth,
    y: 18,
    text: picture.ruler.fit(`q “${asking}”`, nameWidth, 14, true),
    anchor: "end",
    bold: true,
    meaning: "q",
  });
  strip(picture, {
    x: left,
    y: 3,
    values: query,
    width: stripWidth,
    name: `${meeting.q} of “${asking}”`,
    meaning: "q",
    largest,
    key: "score-q",
  });
  const top = 66;
  label(picture, {
    x: left,
    y: top - 10,
    text: shown.length < scores.length ? `the best matches of ${scores.length} keys` : "keys",
    size: 13,
    bold: true,
    meaning: "k",
  });
  const columns = scoreColumns(parts, scores, left + stripWidth + 18, room, isWide);
  for (const column of columns) {
    label(picture, {x: column.right, y: top - 10, text: column.title, size: 13, bold: true, anchor: "end"});
  }
  const panel = shape("g", {class: "terms"});
  const panelTop = top + shown.length * ROW + 30;
  drawKeys(context, parts, {left, top, nameWidth, stripWidth, largest, columns, key, isWide, scores, shown});
  picture.add(panel);
  const show = (/** @type {number} */ at) => drawTerms(context, parts, panel, panelTop, at);
  readable(picture, {
    x: 0,
    y: top,
    rows: shown.length,
    columns: 1,
    cellWidth: Math.max(room - 2, left + stripWidth + 60),
    cellHeight: ROW,
    label: `Scores: ${names.slice(0, 12).join(", ")}`,
    describe: (row) => [
      `${placed ? `${placed.word} q` : "q"} of “${asking}” · k of “${parts.keyTokens[shown[row]]}”`,
      precise(scores[shown[row]]),
      ...(isHidden(parts, shown[row]) ? ["comes later: hidden in the next step"] : []),
    ],
    onread: (row) => show(row === null ? key : shown[row]),
    onpick: (row) => context.setOption("key", String(shown[row]), {replace: true}),
    key: "scores",
  });
  show(key);
}

/**
 * @param {AttentionParts} parts
 * @param {number} key
 */
function isHidden(parts, key) {
  return parts.isMasked && key > parts.token;
}

/**
 * The columns of numbers on the right: the score, or its parts and the score.
 * @param {AttentionParts} parts
 * @param {Float32Array} scores
 * @param {number} left
 * @param {number} room
 * @param {boolean} isWide
 */
function scoreColumns(parts, scores, left, room, isWide) {
  const scoreParts = parts.positions.scoreParts(parts);
  if (scoreParts.length === 1 || !isWide) {
    return [{title: "score", values: scores, right: isWide ? room - 4 : left + 56}];
  }
  const rows = scoreParts.map(({array}) => parts.array(array).row(parts.head, parts.token));
  const shown = Array.from(scores, (score, key) =>
    addsUp(
      rows.map((row) => row[key]),
      score,
      DIGITS,
    ),
  );
  return [
    ...scoreParts.map(({title}, index) => ({
      title: index ? `+ ${title}` : title,
      values: Float32Array.from(shown, (terms) => terms[index]),
      right: left + 62 + index * 86,
    })),
    {title: "= score", values: scores, right: room - 4},
  ];
}

/**
 * One line for each key: its vector and its score.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{left: number, top: number, nameWidth: number, stripWidth: number, largest: number, key: number,
 *   columns: {title: string, values: Float32Array, right: number}[], isWide: boolean, scores: Float32Array,
 *   shown: number[]}} given
 */
function drawKeys(context, parts, {left, top, nameWidth, stripWidth, largest, columns, key, isWide, scores, shown}) {
  const picture = context.picture("");
  const {strong, soft} = shades("neutral", picture.theme);
  const before = columns[columns.length - 2]?.right ?? left + stripWidth;
  const barLeft = before + 24;
  const barRight = columns[columns.length - 1].right - 66;
  const {size} = extent(scores);
  const zero = (barLeft + barRight) / 2;
  shown.forEach((row, place) => {
    const token = parts.keyTokens[row];
    const y = top + place * ROW;
    const hidden = isHidden(parts, row);
    picture.group({opacity: hidden ? 0.45 : null}, () => {
      if (row === key) picture.add(shape("rect", {x: 0, y, width: context.room, height: ROW, rx: 6, fill: soft}));
      const text = picture.ruler.fit(token, nameWidth, 14, row === key);
      label(picture, {x: nameWidth, y: y + 19, text, anchor: "end", bold: row === key});
      bareStrip(picture, {
        x: left,
        y: y + 4,
        values: parts.vector(parts.positions.meeting.k, row),
        width: stripWidth,
        cellHeight: ROW - 8,
        name: "k",
        meaning: "k",
        largest,
      });
      if (isWide) {
        const length = size > 0 ? (Math.abs(scores[row]) / size) * (zero - barLeft) : 0;
        const bar = {x: scores[row] < 0 ? zero - length : zero, y: y + 7, width: Math.max(1, length), height: ROW - 14};
        picture.add(shape("rect", {...bar, rx: 3, fill: strong}));
      }
      for (const {values, right} of columns) {
        const bold = values === scores;
        label(picture, {x: right, y: y + 19, text: decimal(values[row]), anchor: "end", numeric: true, bold});
      }
    });
  });
  if (isWide) {
    const line = {x1: zero, x2: zero, y1: top, y2: top + shown.length * ROW, stroke: strong, "stroke-width": 1};
    picture.add(shape("line", line));
  }
}

/**
 * The dot product with one key, written out below.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {SVGElement} panel
 * @param {number} top
 * @param {number} key
 */
function drawTerms(context, parts, panel, top, key) {
  const picture = context.picture("");
  const query = parts.vector(parts.positions.meeting.q, parts.token);
  const terms = parts.positions.scoreParts(parts).map((part) => ({
    ...part,
    total: parts.array(part.array).at(parts.head, parts.token, key),
  }));
  panel.replaceChildren();
  picture.into(panel, () => {
    let y = top;
    for (const {heading, vector, letter, total, missing} of terms) {
      const title = heading(key);
      const other = vector(key);
      if (other) y = drawProduct(context, {y, title, query, other, letter, total});
      else {
        label(picture, {x: 0, y: y + 16, text: `${title} = ${decimal(total)} (${missing})`});
        y += 36;
      }
    }
    if (terms.length === 1) return;
    const score = parts.array("scores").at(parts.head, parts.token, key);
    const shown = addsUp(
      terms.map(({total}) => total),
      score,
      DIGITS,
    );
    const sum = terms.map(({title}, index) => `${decimal(shown[index])} (${title})`).join(" + ");
    label(picture, {x: 0, y: y + 16, text: `score = ${sum} = ${decimal(score)}`, bold: true, size: 15});
  });
}

/**
 * Two vectors and their products, in lines, and the sum.
 * @param {ViewContext} context
 * @param {{
 *   y: number, title: string, query: ArrayLike<number>, other: ArrayLike<number>, letter: string, total: number}} given
 * @returns {number} where it ends
 */
function drawProduct(context, {y, title, query, other, letter, total}) {
  const picture = context.picture("");
  const length = query.length;
  const left = 34;
  const columns = columnsFor(length, context.room - left, context.room < 600 ? 33 : 44);
  const cellWidth = Math.min(52, Math.floor((context.room - left) / columns));
  const products = Float64Array.from({length}, (_, index) => query[index] * other[index]);
  const shown = addsUp(products, total, DIGITS);
  const largest = Math.max(extent(query).size, extent(other).size);
  const largestProduct = extent(products).size;
  label(picture, {x: 0, y: y + 16, text: title, bold: true, size: 15});
  let top = y + 30;
  for (let first = 0; first < length; first += columns) {
    const slice = (/** @type {ArrayLike<number>} */ values) => Array.from(values).slice(first, first + columns);
    /** @type {[string, ArrayLike<number>, import("../colour.js").Meaning, number][]} */
    const rows = [
      ["q", query, "q", largest],
      [`× ${letter}`, other, "k", largest],
      ["=", shown, "neutral", largestProduct],
    ];
    rows.forEach(([name, values, meaning, most], row) => {
      const rowTop = top + row * (LINE + 2);
      label(picture, {x: left - 8, y: rowTop + 18, text: name, anchor: "end", bold: true, meaning});
      wrappedVector(picture, {
        x: left,
        y: rowTop,
        values: slice(values),
        columns,
        cellWidth,
        name,
        meaning,
        largest: most,
        digits: DIGITS,
        isRead: row === 2, // one stop for the keyboard: its tooltip has all three numbers
        key: `terms-${letter}-${row}-${first}`,
        describe: (index) => {
          const i = first + index;
          return [`number ${i}`, `${decimal(query[i], 4)} × ${decimal(other[i], 4)} = ${decimal(products[i], 4)}`];
        },
      });
    });
    top += 3 * (LINE + 2) + 12;
  }
  const text = `sum of all ${length} products: ${decimal(total, DIGITS)}`;
  label(picture, {x: 0, y: top + 12, text, bold: true, size: 15});
  return top + 34;
}
