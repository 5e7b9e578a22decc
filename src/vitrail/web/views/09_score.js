// Row 9, the score: how well a query matches each key, as a dot product, term by term.

import {coloured, word, wordAt} from "../context.js";
import {shape} from "../dom.js";
import {shades, valueColour} from "../colour.js";
import {decimal, extent, precise} from "../numbers.js";
import {strip} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {fadeIn} from "../draw/motion.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {readable} from "../draw/reading.js";
import {addsUp} from "./adding_up.js";
import {AttentionParts, keysToShow, strongest} from "./attention_parts.js";
import {bareStrip, LINE, wrappedVector} from "./wrapped_vector.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {{x: number, y: number, room: number}} Place of the sum, and how wide it may be
 */

const ROW = 28; // the height of a key's line, if there is room
const DIGITS = 2;
const SUM_HEIGHT = 54; // of the running sum
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
    context.lead`How much should ${word(asking)} look at each token? Its ${coloured("q", "query")} times each
      ${coloured("k", "key")}, number by number, added up.`;
    context.say`This dot product is large if the two vectors point the same way.`;
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
  const fit = rowsThatFit(Math.min(MOST, seen.length), context.tall - 74, {high: ROW, low: 14});
  const shown = keysToShow(seen, fit.count, key);
  const {meeting, placed} = parts.positions;
  const query = parts.vector(meeting.q, parts.token);
  const isWide = room >= 600;
  const nameWidth = Math.min(isWide ? 130 : 80, picture.ruler.widest(parts.keyTokens, 14, true) + 4);
  const share = query.length > 32 ? 0.36 : 0.44; // on a wide screen the sum stands beside the keys
  const listWidth = isWide ? Math.floor(room * share) : room;
  const stripWidth = isWide ? Math.max(70, (listWidth - nameWidth - 90) * 0.55) : room - nameWidth - 90;
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
    text: shown.length < scores.length ? `best ${shown.length} of ${scores.length} keys` : "keys",
    size: 13,
    bold: true,
    meaning: "k",
  });
  const columns = scoreColumns(parts, scores, left + stripWidth + 18, listWidth, isWide);
  for (const column of columns) {
    label(picture, {x: column.right, y: top - 10, text: column.title, size: 13, bold: true, anchor: "end"});
  }
  const panel = shape("g", {class: "terms"});
  const terms = isWide
    ? {x: listWidth + 28, y: 0, room: room - listWidth - 28}
    : {x: 0, y: top + shown.length * fit.height + 30, room};
  drawKeys(context, parts, {
    left,
    top,
    nameWidth,
    stripWidth,
    largest,
    columns,
    key,
    isWide,
    scores,
    shown,
    row: fit.height,
    width: listWidth,
  });
  picture.add(panel);
  const show = (/** @type {number} */ at) => drawTerms(context, parts, panel, terms, at);
  readable(picture, {
    x: 0,
    y: top,
    rows: shown.length,
    columns: 1,
    cellWidth: Math.max(listWidth - 2, left + stripWidth + 60),
    cellHeight: fit.height,
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
 *   shown: number[], row: number, width: number}} given
 */
function drawKeys(context, parts, given) {
  const {left, top, nameWidth, stripWidth, largest, columns, key, isWide, scores, shown, row: high, width} = given;
  const text = letterSize(high, 14);
  const picture = context.picture("");
  const {strong, soft} = shades("neutral", picture.theme);
  const before = columns[columns.length - 2]?.right ?? left + stripWidth;
  const barLeft = before + 12;
  const barRight = Math.max(barLeft, columns[columns.length - 1].right - 62);
  const {size} = extent(scores);
  const zero = (barLeft + barRight) / 2;
  shown.forEach((at, place) => {
    const token = parts.keyTokens[at];
    const y = top + place * high;
    const baseline = y + high / 2 + text * 0.36;
    const hidden = isHidden(parts, at);
    picture.group({opacity: hidden ? 0.45 : null}, () => {
      if (at === key) picture.add(shape("rect", {x: 0, y, width, height: high, rx: 6, fill: soft}));
      const name = picture.ruler.fit(token, nameWidth, text, at === key);
      label(picture, {x: nameWidth, y: baseline, text: name, size: text, anchor: "end", bold: at === key});
      bareStrip(picture, {
        x: left,
        y: y + 0.14 * high,
        values: parts.vector(parts.positions.meeting.k, at),
        width: stripWidth,
        cellHeight: 0.72 * high,
        name: "k",
        meaning: "k",
        largest,
      });
      if (isWide) {
        const length = size > 0 ? (Math.abs(scores[at]) / size) * (zero - barLeft) : 0;
        const x = scores[at] < 0 ? zero - length : zero;
        const bar = {x, y: y + high / 4, width: Math.max(1, length), height: high / 2};
        picture.add(shape("rect", {...bar, rx: 3, fill: strong}));
      }
      for (const {values, right} of columns) {
        const bold = values === scores;
        const number = decimal(values[at]);
        label(picture, {x: right, y: baseline, text: number, size: text, anchor: "end", numeric: true, bold});
      }
    });
  });
  if (isWide) {
    const line = {x1: zero, x2: zero, y1: top, y2: top + shown.length * high, stroke: strong, "stroke-width": 1};
    picture.add(shape("line", line));
  }
}

/**
 * The dot product with one key, written out beside the keys or below them.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {SVGElement} panel
 * @param {Place} place
 * @param {number} key
 */
function drawTerms(context, parts, panel, {x, y: top, room}, key) {
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
      if (other) y = drawProduct(context, {x, y, room, title, query, other, letter, total});
      else {
        label(picture, {x, y: y + 16, text: `${title} = ${decimal(total)} (${missing})`});
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
    label(picture, {x, y: y + 16, text: `score = ${sum} = ${decimal(score)}`, bold: true, size: 15});
  });
}

/**
 * How the score grows term by term: a bar from the sum so far to the next. Gives the lower edge.
 * @param {ViewContext} context
 * @param {Place & {products: number[], letter: string}} given
 */
function drawRunningSum(context, {x, y, room, products, letter}) {
  const picture = context.picture("");
  const sums = products.reduce((all, value) => [...all, all[all.length - 1] + value], [0]);
  const {least, most} = extent(sums);
  const unit = SUM_HEIGHT / Math.max(1e-9, most - least);
  const at = (/** @type {number} */ sum) => y + (most - sum) * unit;
  const width = room / products.length;
  const grows = letter !== context.player.lastSum;
  context.player.lastSum = letter;
  picture.group({class: "running-sum", "pointer-events": "none"}, () => {
    const zero = {x, y: at(0), width: room, height: 1, fill: shades("neutral", picture.theme).strong};
    picture.add(shape("rect", zero), zero);
    products.forEach((value, index) => {
      const bar = {
        x: x + index * width,
        y: at(Math.max(sums[index], sums[index + 1])),
        width: Math.max(1, width - 1.5),
        height: Math.max(1, Math.abs(value) * unit),
      };
      const fill = valueColour(Math.sign(value) * 0.7, 1, picture.theme);
      const node = picture.add(shape("rect", {...bar, rx: 1.5, fill}), bar);
      if (grows) fadeIn(node, 45 * index);
    });
  });
  return y + SUM_HEIGHT + 22;
}

/**
 * Two vectors and their products, in lines, and the sum.
 * @param {ViewContext} context
 * @param {Place & {
 *   title: string, query: ArrayLike<number>, other: ArrayLike<number>, letter: string, total: number}} given
 * @returns {number} where it ends
 */
function drawProduct(context, {x, y, room, title, query, other, letter, total}) {
  const picture = context.picture("");
  const length = query.length;
  const left = x + 34;
  const lines = Math.ceil(length / Math.max(1, Math.floor((room - 34) / 33)));
  const columns = Math.ceil(length / lines);
  const cellWidth = Math.min(52, Math.floor((room - 34) / columns));
  const products = Float64Array.from({length}, (_, index) => query[index] * other[index]);
  const shown = addsUp(products, total, DIGITS);
  const largest = Math.max(extent(query).size, extent(other).size);
  const largestProduct = extent(products).size;
  label(picture, {x, y: y + 16, text: title, bold: true, size: 15});
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
  label(picture, {x, y: top + 12, text, bold: true, size: 15});
  return drawRunningSum(context, {x: left, y: top + 26, room: columns * cellWidth, products: shown, letter: title});
}
