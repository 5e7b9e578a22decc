// Row 10, divide by √d_k and take the softmax: from scores to attention weights.

import {coloured, word, wordAt} from "../context.js";
import {shape} from "../dom.js";
import {headColour} from "../colour.js";
import {decimal, percent, precise} from "../numbers.js";
import {columnLabels, columnLabelsHeight} from "../draw/matrix.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {readable} from "../draw/reading.js";
import {addsUp} from "./adding_up.js";
import {drawWeightedSum, inPhase, phaseOf, sequenceControls} from "./weighting_sequence.js";
import {AttentionParts, keysToShow, strongest} from "./attention_parts.js";
import {raised} from "./choices.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {{
 *   name: string, heading: string[], values: ArrayLike<number>, write: (value: number) => string, bold?: boolean}} Step
 *   heading: the name in short, in one or two lines, above a narrow column
 */

const DIGITS = 3;
const MOST = 40; // tokens; of a longer sentence, those with the largest weights, and all others together
const SMALLEST = 12; // type that can still be read from afar

/** @type {import("../views.js").View} */
export const softmaxView = {
  id: "softmax",
  row: 10,
  title: "Divide by √d_k, then softmax",
  pickers: ["attention", "layer", "head", "token"],
  render(context) {
    const parts = new AttentionParts(context);
    const {d_k} = context.trace.config;
    const asking = parts.queryTokens[parts.token];
    const scores = parts.array("scores").row(parts.head, parts.token);
    const scaled = parts.array("scaled").row(parts.head, parts.token);
    const weights = parts.array("weights").row(parts.head, parts.token);
    const best = strongest(weights);
    context.lead`Scores are divided by ${`√${d_k} = ${decimal(Math.sqrt(d_k), 2)}`}; the softmax makes them weights that
      add up to ${"1"}.`;
    context.say`The more numbers a vector has, the larger its dot products: that is why they are divided by the square
      root of that number. The softmax makes them all positive.`;
    context.say`In ${parts.headName}, ${word(asking)} gives ${percent(weights[best])} of its attention to
      ${wordAt(parts.keyTokens, best)}: the score ${decimal(scores[best])} becomes ${decimal(scaled[best])}, and
      ${raised("e", decimal(scaled[best]))} is ${percent(weights[best])} of the sum over all tokens.`;
    if (parts.isMasked) {
      context.say`Tokens after ${word(asking)} are hidden: their scores are set to ${"−∞"} and their weights are exactly
        ${"0"}, so that ${coloured("z", "nothing")} of them reaches the result.`;
    }
    parts.sayPositions(context);
    context.controls(sequenceControls(context));
    draw(context, parts, {scores, scaled, weights});
  },
};

/**
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {{scores: Float32Array, scaled: Float32Array, weights: Float32Array}} numbers
 */
function draw(context, parts, {scores, scaled, weights}) {
  const picture = context.picture("From scores to attention weights");
  const {d_k} = context.trace.config;
  const said = parts.keyTokens.map(
    (token, key) => `${token}: ${decimal(scores[key])}, ${decimal(scaled[key])}, ${decimal(weights[key], DIGITS)}`,
  );
  const {bias} = parts.positions;
  const added = bias ? [bias.title] : [];
  const root = [`the root of ${d_k}`, ...added].join(" ");
  picture.describe(`For each token: score, score divided by ${root}, softmax. ${said.slice(0, 40).join("; ")}.`);
  const shares = addsUp(weights, 1, DIGITS);
  const heading = [`÷ √${d_k}`, ...added];
  const divided = `${heading.join(" ")}${parts.isMasked ? ", hidden −∞" : ""}`;
  /** @type {Step[]} */
  const steps = [
    {name: "score", heading: ["score"], values: scores, write: (value) => decimal(value)},
    {name: divided, heading, values: scaled, write: (value) => decimal(value)},
    {name: "softmax", heading: ["softmax"], values: shares, write: (value) => decimal(value, DIGITS), bold: true},
  ];
  const nameWidth = Math.max(...steps.map((step) => picture.ruler.width(step.name, 14, true))) + 14;
  const cellWidth = (context.room - nameWidth - 6) / parts.keyTokens.length;
  const tell = (/** @type {number} */ step, /** @type {number} */ key) =>
    tellStep(parts, {scores, scaled, weights}, step, key);
  const widest = Math.max(
    ...steps.flatMap((step) =>
      Array.from(step.values, (value) => picture.ruler.width(step.write(value), 15, step.bold)),
    ),
  );
  const size = Math.min(15, (15 * (cellWidth - 8)) / widest);
  if (size >= SMALLEST) {
    drawAcross(context, parts, steps, {nameWidth, cellWidth: Math.min(cellWidth, 90), size}, weights, tell);
  } else drawDown(context, parts, steps, weights, tell);
}

/**
 * The tooltip of a cell.
 * @param {AttentionParts} parts
 * @param {{scores: Float32Array, scaled: Float32Array, weights: Float32Array}} numbers
 * @param {number} step
 * @param {number} key
 */
function tellStep(parts, {scores, scaled, weights}, step, key) {
  const token = `“${parts.keyTokens[key]}”`;
  const root = Math.sqrt(parts.trace.config.d_k);
  if (step === 0) return [`score of ${token}`, precise(scores[key])];
  if (step === 1) {
    if (scaled[key] === -Infinity) return [`${token} comes later`, "hidden: −∞ instead of a score"];
    const bias = parts.positions.bias?.of(parts.trace, parts.head, parts.token, key);
    const added = bias === undefined ? "" : ` ${bias < 0 ? "−" : "+"} ${decimal(Math.abs(bias), 4)}`;
    return [`${token}: ${decimal(scores[key], 4)} ÷ ${decimal(root, 4)}${added}`, precise(scaled[key])];
  }
  if (scaled[key] === -Infinity) return [`weight of ${token}`, "e^−∞ = 0"];
  let sum = 0;
  for (const value of scaled) sum += Math.exp(value);
  const power = Math.exp(scaled[key]);
  return [
    `weight of ${token}: ${precise(weights[key])}`,
    `e^${decimal(scaled[key])} = ${precise4(power)}, of ${precise4(sum)} in total`,
  ];
}

/** @param {number} value */
function precise4(value) {
  return precise(Number(value.toPrecision(4)));
}

/**
 * One column for each token.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Step[]} steps
 * @param {{nameWidth: number, cellWidth: number, size: number}} sizes
 * @param {Float32Array} weights
 * @param {(step: number, key: number) => string[]} tell
 */
function drawAcross(context, parts, steps, {nameWidth, cellWidth, size}, weights, tell) {
  const picture = context.picture("");
  const rowHeight = 40;
  const names = parts.keyTokens;
  const top = columnLabelsHeight(picture, names, cellWidth) + 4;
  const width = names.length * cellWidth;
  const box = {x: nameWidth, y: top, width, height: steps.length * rowHeight};
  columnLabels(picture, {box, names, current: strongest(weights)});
  const drawStep = (/** @type {Step} */ step, /** @type {number} */ row) => {
    const y = top + row * rowHeight;
    band(context, {x: nameWidth, y: y + 3, width, height: rowHeight - 6});
    label(picture, {x: nameWidth - 10, y: y + 25, text: step.name, bold: true, anchor: "end"});
    names.forEach((_, key) => {
      const text = step.write(step.values[key]);
      label(picture, {
        x: nameWidth + (key + 0.5) * cellWidth,
        y: y + 25,
        text,
        size,
        anchor: "middle",
        numeric: true,
        bold: step.bold,
      });
    });
  };
  steps.forEach((step, row) => inPhase(context, row, () => drawStep(step, row)));
  const base = top + box.height + 130;
  const colour = headColour(parts.head, picture.theme);
  const drawBar = (/** @type {number} */ key) => {
    const height = Math.max(1, weights[key] * 112);
    const barWidth = Math.min(40, cellWidth - 10);
    picture.add(
      shape("rect", {
        x: nameWidth + (key + 0.5) * cellWidth - barWidth / 2,
        y: base - height,
        width: barWidth,
        height,
        rx: 3,
        fill: colour,
      }),
      {x: nameWidth, y: base, width, height: 2},
    );
  };
  inPhase(context, 2, () => {
    names.forEach((_, key) => drawBar(key));
    label(picture, {x: nameWidth - 10, y: base - 4, text: "as bars", size: 13, quiet: true, anchor: "end"});
    band(context, {x: nameWidth, y: base, width, height: 1.5});
  });
  drawWeightedSum(context, parts, weights, {nameWidth, cellWidth, y: base + 14});
  picture.reach(nameWidth + width, base + 76); // nothing jumps while it is played
  readable(picture, {
    ...box,
    rows: Math.min(steps.length, phaseOf(context) + 1),
    columns: names.length,
    cellWidth,
    cellHeight: rowHeight,
    label: `Table of ${steps.map((step) => step.name).join(", ")} for ${names.length} tokens`,
    describe: tell,
    key: "softmax-table",
  });
}

/**
 * One line for each token, if columns do not fit.
 * @param {ViewContext} context
 * @param {AttentionParts} parts
 * @param {Step[]} steps
 * @param {Float32Array} weights
 * @param {(step: number, key: number) => string[]} tell
 */
function drawDown(context, parts, steps, weights, tell) {
  const picture = context.picture("");
  const isWide = context.room >= 600;
  const nameWidth = Math.min(isWide ? 150 : 86, picture.ruler.widest(parts.keyTokens, 14, true) + 4);
  const cellWidth = isWide ? 110 : Math.floor((context.room - nameWidth - 8) / steps.length);
  const left = nameWidth + 8;
  const top = 16 + 18 * Math.max(...steps.map((step) => step.heading.length));
  const best = strongest(weights);
  const {height: rowHeight, count} = rowsThatFit(Math.min(weights.length, MOST), context.tall - top - 26, {
    high: 30,
    low: 16,
  });
  const size = letterSize(rowHeight, 14);
  const down = rowHeight / 2 + size * 0.36;
  steps.forEach(({heading}, column) => {
    const x = left + (column + 1) * cellWidth - 8;
    heading.forEach((text, line) => label(picture, {x, y: 20 + 18 * line, text, bold: true, anchor: "end"}));
  });
  const barLeft = left + steps.length * cellWidth + 16;
  const room = context.room - barLeft - 4;
  const shown = keysToShow(weights, count, parts.token);
  const others = weights.length - shown.length;
  shown.forEach((key, row) => {
    const token = parts.keyTokens[key];
    const y = top + row * rowHeight;
    band(context, {x: left, y: y + 2, width: steps.length * cellWidth, height: rowHeight - 4});
    label(picture, {
      x: nameWidth,
      y: y + down,
      size,
      text: picture.ruler.fit(token, nameWidth, size, key === best),
      anchor: "end",
      bold: key === best,
    });
    steps.slice(0, phaseOf(context) + 1).forEach((step, column) => {
      const text = step.write(step.values[key]);
      label(picture, {
        x: left + (column + 1) * cellWidth - 8,
        y: y + down,
        size,
        text,
        anchor: "end",
        numeric: true,
        bold: step.bold,
      });
    });
    if (isWide && phaseOf(context) >= 2) {
      const bar = {x: barLeft, y: y + rowHeight / 5, width: Math.max(1, weights[key] * room), height: rowHeight * 0.6};
      picture.add(shape("rect", {...bar, rx: 3, fill: headColour(parts.head, picture.theme)}), bar);
    }
  });
  if (others > 0) {
    const y = top + shown.length * rowHeight + 20;
    const {values, write} = steps[steps.length - 1];
    const rest = write(1 - shown.reduce((sum, key) => sum + values[key], 0));
    label(picture, {
      x: nameWidth,
      y,
      text: picture.ruler.fit(`${others} others`, nameWidth, 14),
      anchor: "end",
      quiet: true,
    });
    label(picture, {x: left + steps.length * cellWidth - 8, y, text: rest, anchor: "end", numeric: true, quiet: true});
  }
  readable(picture, {
    x: left,
    y: top,
    rows: shown.length,
    columns: steps.length,
    cellWidth,
    cellHeight: rowHeight,
    label: `Table of ${steps.map((step) => step.heading.join(" ")).join(", ")} for ${parts.keyTokens.length} tokens`,
    describe: (row, step) => tell(step, shown[row]),
    key: "softmax-table",
  });
}

/**
 * @param {ViewContext} context
 * @param {import("../draw/picture.js").Box} box
 */
function band(context, box) {
  const rect = shape("rect", {
    ...box,
    rx: Math.min(6, box.height / 2),
    class: "band",
    fill: "currentColor",
    "fill-opacity": 0.06,
  });
  context.picture("").add(rect, box);
}
