// Row 17, linear and softmax: the decoder's output becomes one number per word, and one word is chosen.

import {softmax} from "../arithmetic.js";
import {shades} from "../colour.js";
import {shape} from "../dom.js";
import {count, notZero, percent, precise} from "../numbers.js";
import {plain, word} from "../context.js";
import {arrow, box} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {strip} from "../draw/matrix.js";
import {readable} from "../draw/reading.js";
import {oneOf} from "./choices.js";
import {largestPlaces, restOf} from "./distribution.js";
import {foldedVocabulary} from "./folded_vocabulary.js";
import {repaint, slider} from "./live.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 */

const TOPS = ["5", "10", "20", "40"];
const ROW = 28;

/** @type {import("../views.js").View} */
export const outputView = {
  id: "output",
  row: 17,
  title: "Linear and softmax",
  pickers: ["step"],
  opensUnsure: true,
  render(context) {
    if (!context.trace.has("logits")) context.inside("output"); // the studio sends them
    const temperature = readTemperature(context.option("warmth", "1"));
    const top = TOPS.includes(context.option("top", "10")) ? context.option("top", "10") : "10";
    context.controls(
      slider({
        key: "warmth",
        title: "Temperature",
        least: 0.1,
        most: 3,
        step: 0.05,
        value: temperature,
        write: (value) => value.toFixed(2),
        preview: (value) => repaint(context, () => paint(context, value, Number(top))),
        commit: (value) => context.setOption("warmth", value === 1 ? null : value.toFixed(2)),
      }),
      oneOf({
        key: "output-top",
        title: "Show",
        choices: TOPS.map((value) => ({value, text: value, spoken: `the ${value} most probable words`})),
        current: top,
        onpick: (value) => context.setOption("top", value === "10" ? null : value),
      }),
    );
    paint(context, temperature, Number(top));
  },
};

/** @param {string} text */
function readTemperature(text) {
  const value = Number(text);
  return value >= 0.1 && value <= 3 ? value : 1;
}

/**
 * @param {ViewContext} context
 * @param {number} temperature
 * @param {number} top
 */
function paint(context, temperature, top) {
  const {trace, state} = context;
  const {step} = state;
  const {vocabulary, target} = trace;
  const logits = scoresOf(trace).row(step);
  const chances = softmax(logits, temperature);
  const [best] = largestPlaces(logits, 1);
  const chosen = target.ids[step];
  const size = trace.config.d_model;
  const largest = Math.exp(trace.array("log_probs").at(step, best));
  context.lead`One score for each of ${count(vocabulary.length)} words, and their softmax: ${word(vocabulary[best])}
    gets ${percent(chances[best])}.`;
  context.say`The top decoder's ${size} numbers at step ${step + 1} are multiplied by a matrix of ${size} ×
    ${count(vocabulary.length)} numbers. This gives one score, a logit, for every word the model knows. The softmax
    turns the logits into probabilities; ${word(vocabulary[best])} gets the largest, ${percent(largest)}.`;
  sayChoice(context, best, chosen);
  if (!trace.has("logits")) {
    context.say`The logits are not in this file, to keep it small. The log-probabilities stand in for them: they are the
      logits minus a constant, so they give the same probabilities at any temperature.`;
  }
  if (temperature === 1) {
    context.say`The temperature divides the logits before the softmax. Move the slider: a low temperature makes the top
      word even more likely, a high one makes all words more alike. Their order stays the same.`;
  } else {
    context.say`At temperature ${temperature.toFixed(2)} the logits are first divided by ${temperature.toFixed(2)}, and
      ${word(vocabulary[best])} gets ${percent(chances[best])}. The thin marks show the bars at temperature 1.`;
  }
  draw(context, chances, temperature, top);
}

/**
 * The logits; if they were left out, the log-probabilities, which differ only by a constant.
 * @param {import("../trace.js").Trace} trace
 */
function scoresOf(trace) {
  return trace.array(trace.has("logits") ? "logits" : "log_probs");
}

/**
 * Why the word is not the most probable one.
 * @param {ViewContext} context
 * @param {number} best
 * @param {number} chosen
 */
function sayChoice(context, best, chosen) {
  const {trace, state} = context;
  if (chosen === best) return;
  const searched = trace.search.steps[state.step];
  // While the beginning is forced, each hypothesis has exactly one continuation.
  const forced = Boolean(trace.whatIf.prefix && searched && searched.candidates.length <= searched.live.length);
  const reason = forced
    ? "the beginning was given"
    : trace.search.kind === "sample"
      ? "it was sampled"
      : "the whole sentence scores better with it, or the other word is not allowed";
  context.say`The translation has ${word(trace.vocabulary[chosen])} here, although another word is more probable:
    ${plain(reason)}.`;
}

/**
 * @param {ViewContext} context
 * @param {Float64Array} chances
 * @param {number} temperature
 * @param {number} top
 */
function draw(context, chances, temperature, top) {
  const {trace, state, room, theme} = context;
  const {step} = state;
  const {vocabulary, target} = trace;
  const picture = context.picture("From the decoder's output to a word");
  const isWide = room >= 700; // on a wide screen the bars stand beside the path that leads to them
  const width = isWide ? Math.floor(room * 0.4) : room;
  const logits = scoresOf(trace).row(step);
  const logProbs = trace.array("log_probs").row(step);
  const output = trace.array("decoder.output").row(step);
  const [best] = largestPlaces(logits, 1);
  let y = 0;
  /** @param {string} text @param {string} note */
  const title = (text, note) => {
    label(picture, {x: 0, y: y + 16, text, bold: true, size: 15});
    label(picture, {x: width, y: y + 16, text: note, size: 13, quiet: true, anchor: "end"});
    y += 26;
  };
  /** @param {Box} above @param {string} text */
  const operation = (above, text) => {
    const middle = width / 2;
    const from = above.y + above.height;
    arrow(picture, {
      points: [
        [middle, from + 5],
        [middle, from + 62],
      ],
      width: 3,
    });
    box(picture, {x: middle - 92, y: from + 14, width: 184, height: 32, text, filled: true, size: 14});
    y = from + 68;
  };

  title("decoder output", `${output.length} numbers`);
  const most = (context.tall - 262) / 2; // for each of the two pictures of the whole vocabulary
  const first = strip(picture, {
    x: 0,
    y,
    values: output,
    width,
    cellHeight: 26,
    name: `Decoder output at step ${step + 1}`,
    meaning: "r",
    key: "output-decoder",
  });
  const inOrder = `${count(vocabulary.length)} numbers${width < 560 ? "" : ", in the order of the vocabulary"}`;
  const linear = `linear: ${output.length} → ${count(vocabulary.length)}`;
  const bend = temperature === 1 ? "softmax" : `softmax at ${temperature.toFixed(2)}`;
  if (trace.has("logits")) {
    operation(first, linear);
    title("logits", inOrder);
    const second = foldedVocabulary(picture, {
      x: 0,
      y,
      width,
      vocabulary,
      values: logits,
      tall: most,
      name: "Logits",
      write: precise,
      current: best,
      key: "output-logits",
    });
    operation(second, bend);
  } else operation(first, `linear, ${bend}`);
  title(
    temperature === 1 ? "log-probabilities" : `probabilities at ${temperature.toFixed(2)}`,
    `${count(vocabulary.length)} numbers`,
  );
  const third = foldedVocabulary(picture, {
    x: 0,
    y,
    width,
    vocabulary,
    values: temperature === 1 ? logProbs : chances,
    tall: most,
    name: temperature === 1 ? "Log-probabilities" : "Probabilities",
    write: precise,
    ...(temperature === 1 ? {} : {colour: shades("decoder", theme).strong}),
    current: best,
    key: "output-log-probs",
  });
  const chosen = target.ids[step];
  const isArgmax = chosen === largestPlaces(chances, 1)[0];
  const choice = trace.search.kind === "sample" ? "sample" : isArgmax ? "argmax" : "search";
  const place = isWide ? {x: width + 44, y: 0, width: room - width - 44} : {x: 0, y, width};
  if (isWide) {
    const from = third.y + third.height / 2;
    arrow(picture, {
      points: [
        [width + 8, from],
        [width + 24, from],
        [width + 24, 30],
        [width + 40, 30],
      ],
      width: 3,
    });
  } else {
    operation(third, choice);
    place.y = y;
  }
  const rows = drawChances(context, {...place, chances, logits, logProbs, top, isBent: temperature !== 1});
  const said = choice === "search" ? "not the argmax: the search chose" : `${choice}: the word is`;
  label(picture, {x: place.x, y: rows + 30, text: said, size: 15, quiet: true});
  const beside = place.x + picture.ruler.width(said, 15) + 14;
  label(picture, {x: beside, y: rows + 32, text: vocabulary[chosen], size: 24, bold: true, meaning: "decoder"});
  picture.describe(
    `Step ${step + 1}: ${largestPlaces(chances, 5)
      .map((id) => `“${vocabulary[id]}” ${percent(chances[id])}`)
      .join(", ")} at temperature ${temperature.toFixed(2)}; the word is “${vocabulary[chosen]}”.`,
  );
}

/**
 * The most probable words, and one bar for all others. Gives the lower edge.
 * @param {ViewContext} context
 * @param {{
 *   x: number, y: number, width: number, chances: Float64Array, logits: Float32Array, logProbs: Float32Array,
 *   top: number, isBent: boolean}} given
 */
function drawChances(context, {x, y, width, chances, logits, logProbs, top, isBent}) {
  const {trace, state, theme} = context;
  const picture = context.picture("");
  const {vocabulary} = trace;
  const chosen = trace.target.ids[state.step];
  const shown = largestPlaces(logits, Math.min(top, vocabulary.length));
  if (!shown.includes(chosen)) shown.push(chosen);
  const others = vocabulary.length - shown.length;
  const isNarrow = width < 400;
  const nameWidth = isNarrow ? 92 : 100;
  const hasLogits = trace.has("logits");
  const columns = [
    {name: "logit", values: logits},
    {name: "log-prob.", values: isBent ? chances.map(Math.log) : logProbs},
  ];
  const numbers = isNarrow ? [] : hasLogits ? columns : columns.slice(1);
  const numberWidth = 72;
  const left = x + nameWidth + numbers.length * numberWidth + 18;
  const right = x + width - 84;
  const unit = right - left;
  numbers.forEach(({name}, index) => {
    label(picture, {
      x: x + nameWidth + (index + 1) * numberWidth,
      y: y + 14,
      text: name,
      size: 13,
      quiet: true,
      anchor: "end",
    });
  });
  label(picture, {x: x + width, y: y + 14, text: "probability", size: 13, quiet: true, anchor: "end"});
  const start = y + 24;
  const names = [...shown.map((id) => vocabulary[id]), ...(others > 0 ? [`${count(others)} others`] : [])];
  const values = [...shown.map((id) => chances[id]), ...(others > 0 ? [restOf(chances, shown)] : [])];
  const plainly = [...shown.map((id) => Math.exp(logProbs[id])), restOf(Array.from(logProbs, Math.exp), shown)];
  const {height: row} = rowsThatFit(names.length, context.tall - start - 40, {high: ROW, low: 15});
  const size = letterSize(row, 15);
  names.forEach((name, index) => {
    const isOthers = index >= shown.length;
    const isChosen = !isOthers && shown[index] === chosen;
    const rowTop = start + index * row;
    const middle = rowTop + row / 2 + size / 3;
    label(picture, {
      x: x + nameWidth,
      y: middle,
      text: picture.ruler.fit(name, nameWidth, size, isChosen),
      size,
      anchor: "end",
      bold: isChosen,
      quiet: isOthers,
    });
    if (!isOthers) {
      numbers.forEach((column, place) => {
        const text = notZero(column.values[shown[index]], 2);
        label(picture, {
          x: x + nameWidth + (place + 1) * numberWidth,
          y: middle,
          text,
          size,
          anchor: "end",
          numeric: true,
        });
      });
    }
    picture.add(
      shape("rect", {
        x: left,
        y: rowTop + 3,
        width: Math.max(1, values[index] * unit),
        height: row - 6,
        rx: 3,
        fill: shades(isChosen ? "decoder" : "neutral", theme).strong,
        opacity: isOthers ? 0.5 : null,
      }),
    );
    if (isBent) {
      const at = left + plainly[index] * unit;
      picture.add(
        shape("path", {d: `M${at} ${rowTop + 1}v${row - 2}`, stroke: shades("q", theme).strong, "stroke-width": 2.5}),
      );
    }
    label(picture, {
      x: x + width,
      y: middle,
      text: percent(values[index]),
      size,
      anchor: "end",
      numeric: true,
      bold: isChosen,
    });
  });
  readable(picture, {
    x,
    y: start,
    rows: names.length,
    columns: 1,
    cellWidth: width,
    cellHeight: row,
    label: `The most probable words: ${names
      .slice(0, 5)
      .map((name, index) => `${name} ${percent(values[index])}`)
      .join(", ")}`,
    describe: (place) => {
      if (place >= shown.length) return [`${count(others)} other words together`, precise(values[place])];
      const id = shown[place];
      return [
        `${id}: “${vocabulary[id]}”`,
        ...(hasLogits ? [`logit ${precise(logits[id])}`] : []),
        `log-probability ${precise(logProbs[id])}`,
        `probability ${precise(Math.exp(logProbs[id]))}`,
        ...(isBent
          ? [
              `at this temperature ${precise(values[place])}`,
              `log-probability at this temperature ${precise(Math.log(values[place]))}`,
            ]
          : []),
      ];
    },
    key: "output-chances",
  });
  return start + names.length * row;
}
