// Row 26, what mattered: the translation's chances without each word of the source, beside where attention looked.

import {element} from "../dom.js";
import {plain, word} from "../context.js";
import {shades} from "../colour.js";
import {decimal, percent, significant} from "../numbers.js";
import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {toldApart} from "./choices.js";

const MOST_LETTERS = 24; // of a word in a line of text

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {{
 *   words: string[], places: number[][], loss: number[][], without: number[][], attention: number[][],
 *   best: number[][]}} Mattered
 *   by source word and step: how much log-probability the chosen token loses without the word, that log-probability,
 *   the attention to the word, and the id that the model would rather say
 */

/** @type {import("../views.js").View} */
export const whatMatteredView = {
  id: "what-mattered",
  row: 26,
  title: "What mattered",
  pickers: ["step"],
  render(context) {
    const {trace, state} = context;
    const found = mattered(trace);
    const chosen = trace.target.tokens[state.step];
    if (!found) {
      context.lead`Which words of the source ${word(inShort(chosen))} needed: each left out, and predicted again.`;
      if (context.leftOut()) context.say`It is being computed: a forward pass for each word.`;
      else context.say`For a sentence of this length the page does not have it: it takes a forward pass for each word.`;
      return;
    }
    const column = (/** @type {number[][]} */ table) => table.map((row) => row[state.step]);
    const most = largestPlace(column(found.loss));
    const seen = largestPlace(column(found.attention));
    const loss = found.loss[most][state.step];
    const [whole, left] = [found.without[most][state.step] + loss, found.without[most][state.step]].map(chance);
    context.lead`${word(inShort(chosen))} needs ${word(inShort(found.words[most]))} most: without it, its probability
      falls from ${whole} to ${left}.`;
    context.say`On the left, each source word is left out in turn, and the model predicts the same translation again:
      exactly, by computing. Orange words were needed; blue ones stood in the way.`;
    const agree = trace.target.tokens.filter(
      (_, step) =>
        largestPlace(found.loss.map((row) => row[step])) === largestPlace(found.attention.map((row) => row[step])),
    ).length;
    context.say`On the right is where the last decoder layer looks, on average over its heads. For ${word(chosen)} that
      is ${word(found.words[seen])}${plain(most === seen ? ", the same word." : ", another word.")} The two agree in
      ${agree} of ${trace.target.tokens.length} steps. Attention says where the model looked; what it needed may have
      come on other ways, through the encoder or the words already written.`;
    context.say`A sentence with a hole is not what the model was trained on, so part of the change is surprise.`;
    showControls(context, found);
    draw(context, found);
  },
};

/**
 * What the page needs to know; null if the trace does not have it.
 * @param {Trace} trace
 * @returns {Mattered | null}
 */
export function mattered(trace) {
  const held = trace.facts.left_out;
  if (!held || !held.places.length) return null;
  const without = trace.decode("left_out.log_probs", held.log_probs);
  const log_probs = trace.array("log_probs");
  const {ids} = trace.target;
  const weights = trace.array(`decoder.${trace.config.decoder_layers - 1}.cross_attention.weights`);
  const {heads} = trace.config;
  const steps = ids.map((_, step) => step);
  const rows = held.places.map((_, row) => steps.map((step) => without.at(row, step)));
  return {
    places: held.places,
    words: held.places.map((places) =>
      places
        .map((place) => trace.source.tokens[place])
        .join("")
        .replace(/^▁/, ""),
    ),
    without: rows,
    loss: rows.map((row) => row.map((value, step) => log_probs.at(step, ids[step]) - value)),
    attention: held.places.map((places) =>
      steps.map((step) => {
        let sum = 0;
        for (let head = 0; head < heads; head++) for (const place of places) sum += weights.at(head, step, place);
        return sum / heads;
      }),
    ),
    best: held.best,
  };
}

/**
 * Where the largest number is; the first of equal ones.
 * @param {number[]} values
 */
export function largestPlace(values) {
  return values.reduce((best, value, place) => (value > values[best] ? place : best), 0);
}

/**
 * @param {ViewContext} context
 * @param {Mattered} found
 */
function showControls(context, {places, words}) {
  const {trace, compare} = context;
  if (!compare) {
    context.note(context.needsStudio("leave a word out and translate again"));
    return;
  }
  const chosen = Number(context.option("gone", "-1"));
  const menu = element(
    "select",
    {class: "menu", "data-key": "leave-out", "aria-label": "Leave a word out and translate again"},
    element("option", {value: "-1"}, "Leave a word out …"),
    words.map((text, index) => element("option", {value: String(index), selected: index === chosen}, text)),
  );
  menu.addEventListener("change", () => {
    const gone = new Set(places[Number(menu.value)] ?? []);
    const isPiece = trace.source.tokens.some((token) => token.startsWith("▁"));
    const kept = trace.source.tokens.filter((_, place) => trace.source.words[place] >= 0 && !gone.has(place));
    const text = isPiece ? kept.join("").replaceAll("▁", " ").trim() : kept.join(" ");
    if (gone.size) compare({text});
  });
  context.controls(menu);
}

/**
 * @param {ViewContext} context
 * @param {Mattered} found
 */
function draw(context, found) {
  const picture = context.picture("Which words of the source mattered");
  const {trace, state, room, tall} = context;
  const {words, loss, attention, without, best} = found;
  const tokens = trace.target.tokens;
  const isNarrow = room < 700;
  const size = tokens.length > 24 || words.length > 24 ? 11 : 14;
  const names = Math.min(110, picture.ruler.widest(words, size, true)) + 10;
  const gap = 30;
  const across = isNarrow ? room - names : (room - 2 * names - gap) / 2;
  const cellWidth = Math.min(54, across / tokens.length);
  const head = columnLabelsHeight(picture, [...tokens], cellWidth, size);
  const high = Math.min(tall, 640);
  const cellHeight = Math.max(9, Math.min(34, (high - head - 76) / words.length));
  const largest = Math.max(...loss.flat().map(Math.abs), 1e-9);
  const tables = [
    {title: "lost without the word (nats of log-probability)", values: loss, key: "loss"},
    {title: "attention of the last layer, mean of its heads", values: attention, key: "attention"},
  ];
  let bottom = 0;
  tables.forEach(({title, values, key}, place) => {
    const x = names + (isNarrow ? 0 : place * (names + tokens.length * cellWidth + gap));
    const y = isNarrow && place ? bottom + 60 + head : 30 + head;
    const isLoss = place === 0;
    label(picture, {x: x - names, y: y - head - 10, text: title, bold: true});
    const box = matrix(picture, {
      x,
      y,
      rows: words.length,
      columns: tokens.length,
      cellWidth,
      cellHeight,
      value: (row, column) => values[row][column],
      largest: isLoss ? largest : 1,
      ...(!isLoss && {colour: shades("q", context.theme).strong}),
      name: title,
      key: `mattered-${key}`,
      current: {column: state.step},
      rowNames: words,
      columnNames: [...tokens],
      describe: (row, column) =>
        isLoss
          ? [
              `“${tokens[column]}” without “${words[row]}”`,
              `${chance(without[row][column] + loss[row][column])} → ${chance(without[row][column])}`,
              `log-probability ${significant(-loss[row][column])}`,
              `then most probable: “${trace.vocabulary[best[row][column]]}”`,
            ]
          : [`“${tokens[column]}” looks at “${words[row]}”`, percent(values[row][column])],
      onpick: (_, column) => context.update({step: column}),
    });
    rowLabels(picture, {
      box,
      names: words,
      size,
      width: names,
      current: largestPlace(values.map((row) => row[state.step])),
    });
    columnLabels(picture, {box, names: [...tokens], size, current: state.step});
    bottom = box.y + box.height;
  });
  const most = largestPlace(loss.map((row) => row[state.step]));
  const instead = trace.vocabulary[best[most][state.step]];
  const chosen = tokens[state.step];
  label(picture, {
    x: 0,
    y: bottom + 28,
    text:
      instead === chosen
        ? `Without “${inShort(words[most])}” it is still “${inShort(chosen)}”.`
        : `Without “${inShort(words[most])}” it would be “${inShort(instead)}”.`,
  });
  const each = words.map((text, row) => `${text} ${decimal(loss[row][state.step])}`);
  picture.describe(`For “${chosen}” the words matter by ${each.join(", ")}.`);
}

/**
 * A word that fits into a line: a long one keeps its beginning and its end.
 * @param {string} text
 */
function inShort(text) {
  return toldApart([text], MOST_LETTERS)[0];
}

/**
 * A probability; a small one is not rounded away, for it may be the point.
 * @param {number} logProb
 */
function chance(logProb) {
  const share = Math.exp(logProb);
  return share < 0.001 ? `${significant(100 * share, 2)}%` : percent(share);
}
