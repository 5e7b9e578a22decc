// Row 20, untrained and trained: the target at every position, and what the model predicts as it learns.

import {shades} from "../colour.js";
import {element, shape} from "../dom.js";
import {count, decimal, percent, precise, quoted} from "../numbers.js";
import {plain} from "../context.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {readable} from "../draw/reading.js";
import {oneOf, toldApart} from "./choices.js";
import {chosenWords} from "./chosen_words.js";
import {smoothedTarget} from "./distribution.js";
import {forcedReference, forcedTranslation, probeRecords, probeSentences} from "./forced.js";
import {repaint, slider} from "./live.js";
import {wantsStillness} from "../draw/motion.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./forced.js").Forced} Forced
 * @typedef {import("./forced.js").ProbeRecord} ProbeRecord
 * @typedef {import("../draw/picture.js").Box} Box
 */

const MOST_COLUMNS = 24;
const CURVE = 124; // the height of the loss below the matrices
const SEEN = {training: "seen in training", "held out": "held out: never seen in training"};

/** @type {import("../views.js").View} */
export const untrainedView = {
  id: "untrained",
  row: 20,
  title: "Untrained and trained",
  pickers: [],
  render(context) {
    const {trace} = context;
    const probes = probeSentences(trace);
    if (!probes.length) {
      renderWithoutProbes(context);
      return;
    }
    const own = Math.max(
      0,
      probes.findIndex(({source}) => source === trace.source.text),
    );
    const asked = Number(context.option("probe", String(own)));
    const which = probes[asked] ? asked : own;
    const records = probeRecords(trace, which);
    if (!records.length) {
      renderWithoutProbes(context);
      return;
    }
    const given = Number(context.option("record", "0"));
    const current = Math.max(0, Math.min(records.length - 1, Number.isInteger(given) ? given : 0));
    const show = (/** @type {number} */ record) => context.setOption("record", String(record), {replace: true});
    if (probes.length > 1) {
      context.controls(
        oneOf({
          key: "untrained-probe",
          title: "Sentence",
          choices: toldApart(probes.map(({source}) => source)).map((text, index) => ({value: String(index), text})),
          current: String(which),
          onpick: (value) => context.setOption("probe", value),
        }),
      );
    }
    context.controls(
      context.player.controls(context, {
        key: "untrained",
        frame: current,
        frames: records.length,
        pause: wantsStillness() ? 1600 : 800,
        show,
      }),
      records.length > 1 &&
        slider({
          key: "untrained",
          title: "Training",
          least: 0,
          most: records.length - 1,
          value: current,
          write: (value) => `step ${count(records[value].step)}`,
          preview: (value) => repaint(context, () => paint(context, probes[which], records, value, show)),
          commit: show,
        }),
    );
    paint(context, probes[which], records, current, show);
  },
};

/** @param {string | null} seen */
function badge(seen) {
  const text = seen === "training" || seen === "held out" ? SEEN[seen] : null;
  return text && element("span", {class: "word", "data-seen": seen}, text);
}

/**
 * Without probes only the trained model is known.
 * @param {ViewContext} context
 */
function renderWithoutProbes(context) {
  const {trace} = context;
  const reference = forcedReference(trace);
  const forced = reference ?? forcedTranslation(trace);
  const text = trace.reference?.text ?? trace.target.text;
  context.lead`The target at every position, and what the trained model predicts there.`;
  context.say`Here are the target at each of the ${forced.length} positions of ${quoted(text)} and the prediction of the
    trained model. On (geometric) average it gives the correct word ${percent(Math.exp(-forced.loss()))}.`;
  context.say`How the model got there was not recorded. ${plain(
    "If a model is trained with probes (the setting probes in [train], on by default), this view has a slider.",
  )}`;
  if (!reference) {
    context.say`There is no reference translation either, so the model's own stands in for the correct one.`;
  }
  context.note(badge(trace.seen));
  drawMatrices(context, forced, "the model now", false);
}

/**
 * @param {ViewContext} context
 * @param {import("./forced.js").ProbeSentence} sentence
 * @param {ProbeRecord[]} records
 * @param {number} current
 * @param {(record: number) => void} show
 */
function paint(context, sentence, records, current, show) {
  const {step, forced, translation} = records[current];
  const last = records[records.length - 1];
  const [then, now] = [percent(Math.exp(-forced.loss())), percent(Math.exp(-last.forced.loss()))];
  context.lead`Step ${count(step)}: the model translates the sentence as ${`“${shorten(translation, 48)}”`}.`;
  if (current === records.length - 1) {
    context.say`After ${count(step)} steps of training, the model gives the correct words of
      ${`“${sentence.reference || translation}”`} ${now} each, on (geometric) average. The grey table is the target, one
      row per position; the pink one is the model's prediction.`;
  } else if (step === 0) {
    context.say`Before training, the model's numbers are random. The grey table is the target, one row per position of
      ${`“${sentence.reference || translation}”`}; the pink one is the model's prediction. The correct words, framed,
      get ${then} each on (geometric) average. Move the slider and watch them light up.`;
  } else {
    context.say`After ${count(step)} of ${count(last.step)} steps, the correct words of
      ${`“${sentence.reference || translation}”`} get ${then} each, on (geometric) average; at the end, ${now}.`;
  }
  context.say`In the table the model is given the correct words before each position. When it translates, it is given
    its own, so the two may differ.`;
  context.say`At this point the model translates ${`“${sentence.source}”`} as ${`“${shorten(translation)}”`}.`;
  context.note(badge(sentence.seen));
  const hasCurve = records.length > 1;
  const bottom = drawMatrices(context, forced, step === 0 ? "untrained" : `after ${count(step)} steps`, hasCurve);
  if (hasCurve) drawCurve(context, records, current, bottom + 46, show);
}

/**
 * @param {string} text
 * @param {number} [most]
 */
function shorten(text, most = 160) {
  return text.length > most ? `${text.slice(0, most - 2)}…` : text;
}

/**
 * The columns: the words of the sentence, then those chosen in row 18, if their numbers were kept.
 * @param {ViewContext} context
 * @param {Forced} forced
 */
function columnsOf(context, forced) {
  const wanted = [...forced.ids.slice(0, forced.length), ...chosenWords(context)];
  return [...new Set(wanted)].filter((id) => forced.logProb(0, id) !== null).slice(0, MOST_COLUMNS);
}

/**
 * Target and model, side by side or one below the other. Gives the lower edge.
 * @param {ViewContext} context
 * @param {Forced} forced
 * @param {string} title
 * @param {boolean} hasCurve whether the loss is drawn below
 */
function drawMatrices(context, forced, title, hasCurve) {
  const y = 0;
  const {trace, room, theme} = context;
  const picture = context.picture("Target distributions and the model's predictions");
  const columns = columnsOf(context, forced);
  const names = [...columns.map((id) => trace.vocabulary[id]), "others"];
  const rows = forced.tokens.slice(0, forced.length).map((token, index) => `${index + 1} ${token}`);
  const nameWidth = Math.min(120, picture.ruler.widest(rows, 14, true)) + 12;
  const beside = (room - 2 * nameWidth - 40) / 2 / names.length;
  const isBeside = beside >= (room > 700 ? 11 : 40);
  const cell = Math.max(11, Math.min(64, isBeside ? beside : (room - nameWidth - 24) / names.length));
  const letters = letterSize(1.4 * cell, 14);
  const above = columnLabelsHeight(picture, names, cell, letters) + 32;
  const {height: row} = rowsThatFit(rows.length, context.tall - above - (hasCurve ? CURVE + 46 : 10), {
    high: 30,
    low: 6,
  });
  const isWritten = cell >= 34 && row >= 15;
  /** @type {(position: number, column: number) => number} */
  const target = (position, column) =>
    column < columns.length
      ? smoothedTarget(columns[column] === forced.ids[position], forced.smoothing, forced.vocabulary)
      : (forced.vocabulary - columns.length) * smoothedTarget(false, forced.smoothing, forced.vocabulary);
  /** @type {(position: number, column: number) => number} */
  const model = (position, column) => {
    if (column < columns.length) return Math.exp(forced.logProb(position, columns[column]) ?? -Infinity);
    return Math.max(0, 1 - columns.reduce((sum, id) => sum + Math.exp(forced.logProb(position, id) ?? -Infinity), 0));
  };
  /** @type {(place: {x: number, y: number}, name: string, value: typeof model, colour: string, key: string) => Box} */
  const one = (place, name, value, colour, key) => {
    const box = matrix(picture, {
      x: place.x + nameWidth,
      y: place.y + above,
      rows: rows.length,
      columns: names.length,
      cellWidth: cell,
      cellHeight: row,
      value,
      digits: isWritten ? 2 : undefined,
      largest: 1,
      colour,
      name,
      describe: (position, column) => [
        `position ${rows[position]}, “${names[column]}”`,
        precise(value(position, column)),
      ],
      key,
    });
    rowLabels(picture, {box, names: rows, size: letterSize(row, 14), width: 120});
    columnLabels(picture, {box, names, size: letters, gap: 6});
    label(picture, {x: box.x, y: place.y + 16, text: name, bold: true, size: 15});
    return box;
  };
  const first = one({x: 0, y}, "target", target, shades("neutral", theme).strong, "untrained-target");
  const place = isBeside ? {x: first.x + first.width + 40, y} : {x: 0, y: first.y + first.height + 28};
  const second = one(place, title, model, shades("decoder", theme).strong, "untrained-model");
  picture.group({"pointer-events": "none"}, () => {
    for (let position = 0; position < rows.length; position++) {
      const column = columns.indexOf(forced.ids[position]);
      if (column < 0) continue;
      picture.add(
        shape("rect", {
          x: second.x + column * cell + 1.5,
          y: second.y + position * row + 1.5,
          width: cell - 3,
          height: row - 3,
          rx: 3,
          fill: "none",
          stroke: shades("decoder", theme).strong,
          "stroke-width": row < 12 ? 1.5 : 2.5,
        }),
      );
    }
  });
  picture.describe(
    `${title}: ${rows
      .map(
        (name, position) =>
          `position ${name}: ${percent(Math.exp(forced.logProb(position, forced.ids[position]) ?? -Infinity))}`,
      )
      .join("; ")}.`,
  );
  return second.y + second.height;
}

/**
 * The loss through training, one point for each record.
 * @param {ViewContext} context
 * @param {ProbeRecord[]} records
 * @param {number} current
 * @param {number} y
 * @param {(record: number) => void} show
 */
function drawCurve(context, records, current, y, show) {
  const {theme} = context;
  const picture = context.picture("");
  const width = Math.min(context.room, 860);
  const losses = records.map(({forced}) => forced.loss());
  const largest = Math.max(...losses);
  const [left, height] = [52, CURVE - 62];
  const pitch = (width - left) / records.length;
  const at = (/** @type {number} */ index) => left + (index + 0.5) * pitch;
  const up = (/** @type {number} */ loss) => y + 30 + height * (1 - loss / largest);
  label(picture, {x: 0, y: y + 8, text: "loss of this sentence", bold: true, size: 15});
  for (const value of [0, largest]) {
    label(picture, {
      x: left - 8,
      y: up(value) + 5,
      text: decimal(value, 1),
      size: 13,
      quiet: true,
      anchor: "end",
      numeric: true,
    });
    picture.add(
      shape("path", {
        d: `M${left} ${up(value)}H${width}`,
        stroke: shades("neutral", theme).strong,
        "stroke-width": 0.75,
        opacity: 0.5,
      }),
    );
  }
  const {strong} = shades("decoder", theme);
  const path = losses.map((loss, index) => `${index ? "L" : "M"}${at(index)} ${up(loss)}`).join("");
  picture.add(shape("path", {d: path, fill: "none", stroke: strong, "stroke-width": 2.5, "stroke-linejoin": "round"}));
  losses.forEach((loss, index) => {
    picture.add(shape("circle", {cx: at(index), cy: up(loss), r: index === current ? 8 : 4, fill: strong}));
  });
  const every = Math.ceil(56 / pitch);
  records.forEach(({step}, index) => {
    if (index % every && index !== records.length - 1) return;
    if (index !== records.length - 1 && records.length - 1 - index < every) return;
    const text = picture.ruler.fit(count(step), 56, 13);
    label(picture, {
      x: at(index),
      y: y + 30 + height + 20,
      text,
      size: 13,
      quiet: index !== current,
      bold: index === current,
      anchor: "middle",
      numeric: true,
    });
  });
  readable(picture, {
    x: left,
    y: y + 20,
    rows: 1,
    columns: records.length,
    cellWidth: pitch,
    cellHeight: height + 34,
    label: `Loss through training, from ${decimal(losses[0])} to ${decimal(losses[losses.length - 1])}`,
    describe: (_, column) => [
      `step ${count(records[column].step)}: loss ${precise(losses[column])}`,
      `“${shorten(records[column].translation)}”`,
    ],
    onpick: (_, column) => show(column),
    key: "untrained-curve",
  });
}
