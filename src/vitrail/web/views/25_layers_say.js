// Row 25, what each layer would say: the decoder's state after every layer, through the final linear layer.

import {plain, word} from "../context.js";
import {percent} from "../numbers.js";
import {bars} from "../draw/bars.js";
import {label} from "../draw/label.js";
import {matrix, rowLabels} from "../draw/matrix.js";
import {inkOn, shades, shareRgb} from "../colour.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {{
 *   name: string, ids: number[][], log_probs: import("../tensor.js").Tensor, chosen: import("../tensor.js").Tensor,
 *   rank: number[]}} Said what a layer would say: at every step the most probable ids, and how the chosen one fares
 */

const COLUMN = 84; // units: a word and its probability
const SHOWN = 8;

/** @type {import("../views.js").View} */
export const layersSayView = {
  id: "layers-say",
  row: 25,
  title: "What each layer would say",
  pickers: ["step"],
  render(context) {
    const {trace, state} = context;
    const said = layersSaid(trace);
    const chosen = trace.target.tokens[state.step];
    context.lead`The decoder’s state after every layer, read as if it were the last: how ${word(chosen)} takes shape.`;
    if (!said.length) {
      context.say`This trace does not have what the layers would say. Record the sentence again.`;
      return;
    }
    const settled = settledAt(said, state.step);
    const first = said[0].ids[state.step][0];
    const end = trace.config.norm === "pre" ? "norm and linear layer" : "linear layer";
    context.say`Every layer adds to the same vector, so one can stop early: put the sum through the final ${plain(end)}
      and see what would come out. Before the first layer that is ${word(trace.vocabulary[first])}: all it knows is the
      word that was just written.`;
    if (settled === null) context.say`Even the last layer finds another word more probable than ${word(chosen)}.`;
    else context.say`From ${said[settled].name} on, ${word(chosen)} is the most probable.`;
    context.say`Only the last layer was trained to be read like this. That an earlier one says something else does not
      mean that it knows nothing: it may hold it in a form that a later layer still has to translate.`;
    draw(context, said);
  },
};

/**
 * What the decoder's input and each of its layers would say, from the bottom up.
 * @param {Trace} trace
 * @returns {Said[]}
 */
export function layersSaid(trace) {
  return Object.entries(trace.facts.lens ?? {}).map(([of, {ids, log_probs, chosen, rank}]) => ({
    name: of === "target.sum" ? "before layer 0" : `layer ${of.split(".")[1]}`,
    ids,
    log_probs: trace.decode(`lens.${of}.log_probs`, log_probs),
    chosen: trace.decode(`lens.${of}.chosen`, chosen),
    rank,
  }));
}

/**
 * The first place from which on the chosen word is always the most probable; null if it never is at the end.
 * @param {{rank: number[]}[]} said
 * @param {number} step
 */
export function settledAt(said, step) {
  let place = said.length;
  while (place > 0 && said[place - 1].rank[step] === 0) place--;
  return place === said.length ? null : place;
}

/**
 * The steps to show: as many as fit, around the chosen one.
 * @param {number} steps
 * @param {number} current
 * @param {number} most
 */
export function stepsAround(steps, current, most) {
  const count = Math.min(steps, Math.max(1, most));
  const first = Math.max(0, Math.min(current - Math.floor(count / 2), steps - count));
  return Array.from({length: count}, (_, index) => first + index);
}

/**
 * @param {ViewContext} context
 * @param {Said[]} said
 */
function draw(context, said) {
  const picture = context.picture("What each layer would say");
  const {trace, state, room, tall} = context;
  const isNarrow = room < 700;
  const nameWidth = 112;
  const listWidth = isNarrow ? room : 250;
  const steps = stepsAround(
    trace.target.tokens.length,
    state.step,
    Math.floor((room - nameWidth - (isNarrow ? 0 : listWidth + 30)) / COLUMN),
  );
  const rows = said.length;
  const rowHeight = Math.max(22, Math.min(52, (Math.min(tall, 640) - 70) / rows));
  const top = 40;
  const layer = (/** @type {number} */ row) => rows - 1 - row; // the last layer on top, as in the stack
  const width = steps.length * COLUMN;
  steps.forEach((step, column) => {
    const text = picture.ruler.fit(trace.target.tokens[step], COLUMN - 8, 15, true);
    const x = nameWidth + (column + 0.5) * COLUMN;
    label(picture, {x, y: top - 10, text, anchor: "middle", bold: true, meaning: "decoder"});
  });
  const {strong} = shades("decoder", context.theme);
  const chanceOfBest = (/** @type {number} */ row, /** @type {number} */ column) =>
    Math.exp(said[layer(row)].log_probs.at(steps[column], 0));
  const best = (/** @type {number} */ row, /** @type {number} */ column) =>
    trace.vocabulary[said[layer(row)].ids[steps[column]][0]];
  const isChosen = (/** @type {number} */ row, /** @type {number} */ column) =>
    said[layer(row)].rank[steps[column]] === 0;
  const chosenLayer = Math.min(rows - 1, Math.max(0, Number(context.option("lens", String(rows - 1))) || 0));
  matrix(picture, {
    x: nameWidth,
    y: top,
    rows,
    columns: steps.length,
    cellWidth: COLUMN,
    cellHeight: rowHeight,
    value: chanceOfBest,
    largest: 1,
    colour: strong,
    name: "the most probable word after each layer",
    meaning: "decoder",
    key: "lens",
    current: {row: layer(chosenLayer), column: Math.max(0, steps.indexOf(state.step))},
    describe: (row, column) => [
      `${said[layer(row)].name}, step ${steps[column] + 1}`,
      `“${best(row, column)}” ${percent(chanceOfBest(row, column))}`,
      ofChosen(trace, said[layer(row)], steps[column]),
    ],
    onpick: (row, column) => context.update({step: steps[column], options: {lens: String(layer(row))}}),
  });
  for (let row = 0; row < rows; row++) {
    steps.forEach((_, column) => {
      const isTwoLines = rowHeight >= 36;
      const middle = {x: nameWidth + (column + 0.5) * COLUMN, y: top + (row + 0.5) * rowHeight};
      const text = picture.ruler.fit(best(row, column), COLUMN - 10, 14, isChosen(row, column));
      const colour = inkOn(shareRgb(chanceOfBest(row, column), strong, context.theme));
      label(picture, {
        ...middle,
        y: middle.y + (isTwoLines ? -1 : 5),
        text,
        anchor: "middle",
        bold: isChosen(row, column),
        colour,
      });
      if (isTwoLines) {
        label(picture, {
          ...middle,
          y: middle.y + 15,
          text: percent(chanceOfBest(row, column)),
          size: 12,
          anchor: "middle",
          colour,
        });
      }
    });
  }
  rowLabels(picture, {
    box: {x: nameWidth, y: top, width, height: rows * rowHeight},
    names: said.map((_, row) => said[layer(row)].name),
    current: layer(chosenLayer),
  });
  const ids = said[chosenLayer].ids[state.step].slice(0, SHOWN);
  const place = isNarrow ? {x: 0, y: top + rows * rowHeight + 40} : {x: nameWidth + width + 30, y: top};
  label(picture, {...place, y: place.y - 10, text: `${said[chosenLayer].name}, step ${state.step + 1}`, bold: true});
  bars(picture, {
    ...place,
    names: ids.map((id) => trace.vocabulary[id]),
    values: ids.map((_, index) => Math.exp(said[chosenLayer].log_probs.at(state.step, index))),
    name: `the most probable words after ${said[chosenLayer].name}`,
    width: listWidth,
    largest: 1,
    rowHeight: 26,
    nameWidth: 80,
    meaning: "decoder",
    write: percent,
    current: ids.indexOf(trace.target.ids[state.step]),
    key: "lens-words",
  });
  const each = said.map(({name, ids: most, log_probs}) => {
    const chance = percent(Math.exp(log_probs.at(state.step, 0)));
    return `${name} says “${trace.vocabulary[most[state.step][0]]}” with ${chance}`;
  });
  picture.describe(`At step ${state.step + 1}: ${each.join(", ")}.`);
}

/**
 * How the chosen word fares after a layer.
 * @param {Trace} trace
 * @param {Said} said
 * @param {number} step
 */
function ofChosen(trace, {chosen, rank}, step) {
  return `“${trace.target.tokens[step]}”: ${percent(Math.exp(chosen.at(step)))}, number ${rank[step] + 1}`;
}
