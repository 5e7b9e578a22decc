// Row 19, the loss: the model's distribution beside the target, and their difference, which is the gradient.

import {shades, valueColour} from "../colour.js";
import {element, shape} from "../dom.js";
import {count, decimal, notZero, percent, precise} from "../numbers.js";
import {plain, word} from "../context.js";
import {label} from "../draw/label.js";
import {rowsThatFit} from "../draw/fit.js";
import {readable} from "../draw/reading.js";
import {addsUp} from "./adding_up.js";
import {oneOf, toldApart} from "./choices.js";
import {chosenWords} from "./chosen_words.js";
import {lossTerms} from "./distribution.js";
import {forcedReference, forcedTranslation, halfWay, probeRecords, probeSentences} from "./forced.js";
import {repaint, slider} from "./live.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./forced.js").Forced} Forced
 * @typedef {import("./distribution.js").LossTerm} LossTerm
 */

const DIGITS = 3;
const ROW = 32;

/** @type {import("../views.js").View} */
export const lossView = {
  id: "loss",
  row: 19,
  title: "The loss",
  pickers: [],
  render(context) {
    const {trace} = context;
    const probes = probeSentences(trace);
    const which = sourceOf(context, probes.length);
    const records = which.startsWith("probe") ? probeRecords(trace, Number(which.slice(5))) : [];
    const asked = Number(context.option("position", String(leastSure(context, which, records))));
    const wanted = Number.isInteger(asked) ? Math.max(0, asked) : 0;
    const given = Number(context.option("record", String(halfWay(records, wanted))));
    const record = Math.max(0, Math.min(records.length - 1, Number.isInteger(given) ? given : records.length - 1));
    const forcedAt = (/** @type {number} */ number) =>
      records[number]?.forced ?? (which === "reference" ? forcedReference(trace) : null) ?? forcedTranslation(trace);
    const now = forcedAt(record);
    const position = Math.max(0, Math.min(now.length - 1, wanted));

    askForReference(context);
    if (probes.length) context.controls(sourcePicker(context, which, probes));
    if (records.length > 1) {
      context.controls(
        slider({
          key: "loss-record",
          title: "Training",
          least: 0,
          most: records.length - 1,
          value: record,
          write: (value) => `step ${count(records[value].step)}`,
          preview: (value) => repaint(context, () => paint(context, forcedAt(value), position, which)),
          commit: (value) => context.setOption("record", String(value), {replace: true}),
        }),
      );
    }
    context.controls(
      oneOf({
        key: "loss-position",
        title: "Position",
        choices: now.tokens
          .slice(0, now.length)
          .map((text, index) => ({value: String(index), text: `${index + 1} ${text}`})),
        current: String(position),
        onpick: (value, repeated) => context.setOption("position", value, {replace: repeated}),
      }),
    );
    paint(context, now, position, which);
  },
};

/**
 * The position to show first: where the model is least sure of the correct word; while it learns, the first.
 * @param {ViewContext} context
 * @param {string} which
 * @param {import("./forced.js").ProbeRecord[]} records
 */
function leastSure({trace}, which, records) {
  if (records.length) return 0; // a record at which nothing is sure is chosen instead
  const forced = (which === "reference" ? forcedReference(trace) : null) ?? forcedTranslation(trace);
  const sure = Array.from({length: forced.length}, (_, at) => forced.logProb(at, forced.ids[at]) ?? -Infinity);
  return sure.indexOf(Math.min(...sure));
}

/**
 * Which translation counts as correct: "reference", "own" (the model's), or "probe0", "probe1" …
 * @param {ViewContext} context
 * @param {number} probes
 */
function sourceOf(context, probes) {
  const fallback = context.trace.reference ? "reference" : probes ? "probe0" : "own";
  const which = context.option("against", fallback);
  if (which === "reference" && context.trace.reference) return which;
  if (/^probe\d+$/.test(which) && Number(which.slice(5)) < probes) return which;
  return which === "own" ? which : fallback;
}

/**
 * @param {ViewContext} context
 * @param {string} which
 * @param {import("./forced.js").ProbeSentence[]} probes
 */
function sourcePicker(context, which, probes) {
  const first = context.trace.reference
    ? {value: "reference", text: "your reference"}
    : {value: "own", text: "this translation"};
  const texts = toldApart(probes.map(({source}) => source));
  return oneOf({
    key: "loss-against",
    title: "Sentence",
    choices: [
      first,
      ...probes.map(({source}, index) => ({
        value: `probe${index}`,
        text: texts[index],
        spoken: `probe sentence: ${source}`,
      })),
    ],
    current: which,
    onpick: (value) => context.update({options: {against: value, position: null, record: null}}),
  });
}

/**
 * A form for a reference translation, or how to give one.
 * @param {ViewContext} context
 */
function askForReference(context) {
  const {translate, request, trace} = context;
  if (!translate || !request) {
    if (trace.reference) return;
    context.note(
      element(
        "p",
        {class: "needs-studio"},
        "To compare with a human translation, pass ",
        element("code", {}, "--reference"),
        " to ",
        element("code", {}, "vitrail explain"),
        ", or open this model with ",
        element("code", {}, "vitrail studio"),
        ".",
      ),
    );
    return;
  }
  const text = element("input", {
    type: "text",
    class: "sentence-input",
    name: "reference",
    value: request.reference,
    maxlength: 2000,
    placeholder: "a correct translation",
    "aria-label": "Reference translation",
    "data-key": "loss-reference",
  });
  context.more(
    element(
      "form",
      {
        class: "sentence-form",
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          translate({reference: text.value.trim()});
        },
      },
      text,
      element("button", {type: "submit", class: "primary"}, "Compare"),
    ),
  );
}

/**
 * @param {ViewContext} context
 * @param {Forced} forced
 * @param {number} position
 * @param {string} which
 */
function paint(context, forced, position, which) {
  const right = forced.ids[position];
  const shown = shownWords(context, forced, position);
  const result = lossTerms({
    shown,
    right,
    smoothing: forced.smoothing,
    vocabulary: forced.vocabulary,
    logProb: (id) => forced.logProb(position, id),
    rest: forced.rest(position),
  });
  const p = Math.exp(forced.logProb(position, right) ?? -Infinity);
  const {q} = result.terms[shown.indexOf(right)];
  const smoothing = forced.smoothing
    ? ` (label smoothing spreads ${percent(forced.smoothing)} over all ${count(forced.vocabulary)} words)`
    : "";
  context.lead`The correct word is ${word(forced.tokens[position])}; the model gives it ${percent(p)}. The difference is
    what it learns from.`;
  context.say`At position ${position + 1} the correct word is ${word(forced.tokens[position])}. Given the correct words
    before it, the model assigns it ${percent(p)}; the target is ${percent(q)}${plain(smoothing)}.`;
  context.say`The difference, model minus target, is the gradient: training lowers the logits of words with a positive
    difference and raises those with a negative one. The loss at this position, the cross-entropy, is
    ${plain(result.isLeast ? "at least " : "")}${decimal(result.all.crossEntropy, DIGITS)}.`;
  if (which === "own") {
    context.say`There is no reference translation, so the model's own translation stands in for the correct one.`;
  }
  draw(context, forced, position, shown, result);
  if (result.isLeast) {
    context.note(
      element(
        "p",
        {class: "needs-studio"},
        "Training recorded the most probable words one by one and only the total of the others. The cross-entropy " +
          "assumes that the others share that total evenly, which gives the smallest possible value.",
      ),
    );
  }
}

/**
 * The correct word, the model's best words, and the words chosen in row 18.
 * @param {ViewContext} context
 * @param {Forced} forced
 * @param {number} position
 */
function shownWords(context, forced, position) {
  const wanted = [forced.ids[position], ...forced.best(position, 3), ...chosenWords(context)];
  return [...new Set(wanted)].filter((id) => forced.logProb(position, id) !== null);
}

/**
 * @param {ViewContext} context
 * @param {Forced} forced
 * @param {number} position
 * @param {number[]} shown
 * @param {ReturnType<typeof lossTerms>} result
 */
function draw(context, forced, position, shown, result) {
  const {trace, room, theme} = context;
  const picture = context.picture("The model's distribution, the target and their difference");
  const right = forced.ids[position];
  const others = forced.vocabulary - shown.length;
  const terms = others > 0 ? [...result.terms, result.others] : result.terms;
  const names = [...shown.map((id) => trace.vocabulary[id]), ...(others > 0 ? [`${count(others)} others`] : [])];
  const isNarrow = room < 560;
  const nameWidth = isNarrow ? 66 : 104;
  const width = Math.min(room, 900);
  const panel = (width - nameWidth - 12) / (isNarrow ? 3 : 4);
  const bar = panel - (isNarrow ? 58 : 70);
  const letters = isNarrow ? 12 : 15;
  // Rounded so that each column adds up to the sum below it.
  const p = addsUp(
    terms.map((term) => term.p),
    1,
    DIGITS,
  );
  const q = addsUp(
    terms.map((term) => term.q),
    1,
    DIGITS,
  );
  const costs = addsUp(
    terms.map((term) => term.crossEntropy),
    result.all.crossEntropy,
    DIGITS,
  );
  const gradient = p.map((value, index) => Number((value - q[index]).toFixed(DIGITS)));
  const all = [
    {
      title: "the model",
      values: p,
      exacts: terms.map((term) => term.p),
      largest: 1,
      colour: () => shades("decoder", theme).strong,
      sum: "1",
    },
    {
      title: "the target",
      values: q,
      exacts: terms.map((term) => term.q),
      largest: 1,
      colour: () => shades("neutral", theme).strong,
      sum: "1",
    },
    {
      title: "difference",
      values: gradient,
      exacts: terms.map((term) => term.gradient),
      largest: 1,
      colour: (/** @type {number} */ value) => valueColour(Math.sign(value) * 0.7, 1, theme),
      sum: "0",
    },
    {
      title: "−q · log p",
      values: costs,
      exacts: terms.map((term) => term.crossEntropy),
      largest: Math.max(1e-9, ...costs),
      colour: () => shades("neutral", theme).strong,
      sum: decimal(result.all.crossEntropy, DIGITS),
    },
  ];
  const columns = isNarrow ? all.slice(0, 3) : all; // a phone has the sum of the fourth below
  const top = 40;
  const {height: row} = rowsThatFit(names.length, context.tall - top - 110, {high: ROW, low: 16});
  columns.forEach(({title, values, exacts, largest, colour, sum}, place) => {
    const left = nameWidth + 12 + place * panel;
    const isSigned = place === 2;
    const zero = left + (isSigned ? bar / 2 : 0);
    label(picture, {x: left, y: 18, text: title, bold: true, size: letters});
    values.forEach((value, index) => {
      const y = top + index * row;
      const length = (Math.abs(value) / largest) * (isSigned ? bar / 2 : bar);
      picture.add(
        shape("rect", {
          x: value < 0 ? zero - length : zero,
          y: y + 4,
          width: Math.max(1, length),
          height: row - 8,
          rx: 3,
          fill: colour(value),
        }),
      );
      const exact = exacts[index];
      const number = exact === 0 ? "0" : value === 0 ? notZero(exact, DIGITS) : decimal(value, DIGITS);
      const text = `${isSigned && exact > 0 ? "+" : ""}${number}`;
      label(picture, {
        x: left + panel - 10,
        y: y + row / 2 + 5,
        text,
        size: Math.min(14, letters),
        anchor: "end",
        numeric: true,
      });
    });
    const bottom = top + values.length * row;
    picture.add(
      shape("path", {
        d: `M${left} ${bottom + 4}H${left + panel - 10}`,
        stroke: shades("neutral", theme).strong,
        "stroke-width": 1,
      }),
    );
    label(picture, {
      x: left + panel - 10,
      y: bottom + 24,
      text: sum,
      size: 15,
      bold: true,
      anchor: "end",
      numeric: true,
    });
  });
  names.forEach((name, index) => {
    const isRight = shown[index] === right;
    label(picture, {
      x: nameWidth,
      y: top + (index + 0.5) * row + 5,
      text: picture.ruler.fit(name, nameWidth, letters, isRight),
      size: letters,
      bold: isRight,
      quiet: index >= shown.length,
      anchor: "end",
    });
  });
  const bottom = top + names.length * row;
  label(picture, {x: nameWidth, y: bottom + 24, text: "sum", size: 15, bold: true, anchor: "end"});
  readable(picture, {
    x: 0,
    y: top,
    rows: names.length,
    columns: 1,
    cellWidth: width,
    cellHeight: row,
    label: `Model, target and difference: ${names
      .slice(0, 4)
      .map((name, index) => `${name} ${p[index]}, ${q[index]}`)
      .join("; ")}`,
    describe: (at) => [
      names[at],
      `model p ${precise(terms[at].p)}`,
      `target q ${precise(terms[at].q)}`,
      `difference ${precise(terms[at].gradient)}`,
      `−q · log p ${precise(terms[at].crossEntropy)}`,
    ],
    key: "loss-rows",
  });
  drawNumbers(context, bottom + 48, result, costs);
  picture.describe(
    `Correct word “${trace.vocabulary[right]}”. ${names
      .map((name, index) => `${name}: model ${decimal(p[index], DIGITS)}, target ${decimal(q[index], DIGITS)}`)
      .join("; ")}. Cross-entropy ${decimal(result.all.crossEntropy, DIGITS)}.`,
  );
}

/**
 * Cross-entropy − entropy of the target = KL divergence, in numbers that add up as they are shown.
 * @param {ViewContext} context
 * @param {number} y
 * @param {ReturnType<typeof lossTerms>} result
 * @param {number[]} costs
 */
function drawNumbers(context, y, result, costs) {
  const picture = context.picture("");
  const crossEntropy = costs.reduce((sum, value) => sum + value, 0);
  const entropy = Number(result.all.entropy.toFixed(DIGITS));
  const parts = [
    {name: "cross-entropy", value: crossEntropy, sign: ""},
    {name: "entropy of the target", value: entropy, sign: "−"},
    {name: "KL divergence", value: crossEntropy - entropy, sign: "="},
  ];
  const least = result.isLeast ? "≥ " : "";
  const isNarrow = context.room < 560;
  const width = isNarrow ? context.room / 3 : Math.min(220, context.room / 3.2);
  const [large, small] = isNarrow ? [16, 10] : [26, 13];
  parts.forEach(({name, value, sign}, index) => {
    const x = index * width;
    label(picture, {x, y: y + 30, text: sign, size: large, quiet: true});
    const number = `${index === 1 ? "" : least}${value === 0 ? "0" : decimal(value, DIGITS)}`;
    const at = x + large + 4;
    label(picture, {x: at, y: y + 30, text: number, size: large, bold: true, numeric: true});
    label(picture, {x: at, y: y + 52, text: name, size: small, quiet: true});
  });
}
