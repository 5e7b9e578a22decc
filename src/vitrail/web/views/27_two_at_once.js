// Row 27, two at once: choose the second translation; where the two part, by head, layer and step.

import {element} from "../dom.js";
import {plain, word} from "../context.js";
import {apartByLayers, headsThatPart, movedByHeads, movedBySteps, otherHalf} from "../compare.js";
import {shades} from "../colour.js";
import {bars} from "../draw/bars.js";
import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {headInWords, inPerCent} from "../habits.js";
import {decimal, scientific} from "../numbers.js";
import {attentionOf} from "../state.js";
import {blocksOf} from "./24_all_heads.js";
import {oneOf} from "./choices.js";
import {switchHeads} from "./heads_off.js";
import {writeHeads} from "../request.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../compare.js").HeadMoved} HeadMoved
 */

/** @type {import("../views.js").View} */
export const twoAtOnceView = {
  id: "two",
  row: 27,
  title: "Two at once",
  pickers: [],
  render(context) {
    const {trace, second, compare} = context;
    if (!compare) {
      context.lead`Two translations side by side: another sentence, a head switched off, another model, a wider beam.`;
      context.say`Every view then shows both, with the differences marked, and this one says where they part: the first
        head that looks elsewhere, the layer, and the step at which another word is chosen.`;
      context.note(context.needsStudio("put a second translation beside this one"));
      return;
    }
    if (second) showStack(context);
    showControls(context, compare);
    if (!second && context.isComparing) {
      context.lead`The second translation is on its way …`;
      return;
    }
    if (!second) {
      context.lead`Choose a second translation: every view then shows both, with the differences marked.`;
      context.say`It can be another sentence, a head switched off, another model or another search.`;
      const other = otherHalf(trace.source.text);
      // The post's own puzzle is there from the start.
      if (other) queueMicrotask(() => compare({text: other}));
      return;
    }
    sayWhereTheyPart(context, second);
    draw(context, second);
  },
};

/**
 * Whose layers are compared: only once there is something to compare.
 * @param {ViewContext} context
 */
function showStack(context) {
  /** @type {Stack[]} */
  const stacks = ["encoder", "decoder"];
  context.controls(
    oneOf({
      title: "Stack",
      key: "picker-stack",
      choices: stacks.map((stack) => ({value: stack, text: stack})),
      current: context.state.stack,
      onpick: (stack) => context.update({stack: stacks.find((one) => one === stack)}),
    }),
  );
}

/**
 * @param {ViewContext} context
 * @param {(changes: Record<string, string> | null) => void} compare
 */
function showControls(context, compare) {
  const {trace, state, models, request, second} = context;
  const attention = `${state.stack}.${state.layer}.${attentionOf(state)}`;
  const input = element("input", {
    type: "text",
    "data-key": "second-text",
    "aria-label": "Another sentence",
    placeholder: "another sentence",
    value: second && second.source.text !== trace.source.text ? second.source.text : "",
    maxlength: 2000,
    size: 26,
  });
  const form = element("form", {class: "second-sentence"}, input, element("button", {type: "submit"}, "Compare"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) compare({text: input.value.trim()});
  });
  const heads = writeHeads(switchHeads(trace.whatIf.heads_off, attention, [state.head])) || "none";
  const isOff = trace.isOff(attention, state.head);
  /** @type {[string, Record<string, string>][]} */
  const choices = [
    [`${headInWords(attention, state.head)}: ${isOff ? "on" : "off"}`, {heads_off: heads}],
    ["greedy search", {beam_size: "1"}],
    ["a beam of 4", {beam_size: "4"}],
    ["a beam of 16", {beam_size: "16"}],
  ];
  for (const {name} of models) if (name !== request?.model) choices.push([`model ${name}`, {model: name}]);
  const menu = element(
    "select",
    {class: "menu", "data-key": "second-choice", "aria-label": "Or something else"},
    element("option", {value: ""}, "or something else …"),
    choices.map(([name], index) => element("option", {value: String(index)}, name)),
  );
  menu.addEventListener("change", () => {
    if (menu.value) compare(choices[Number(menu.value)][1]);
  });
  context.controls(form, menu);
}

/**
 * @param {ViewContext} context
 * @param {Trace} second
 */
function sayWhereTheyPart(context, second) {
  const {trace} = context;
  const parted = headsThatPart(trace, second);
  const step = firstDifferentStep(trace, second);
  if (!parted && step === null) context.lead`The two are the same: no head looks elsewhere, and no word differs.`;
  else if (step === null) context.lead`The translation is the same, although heads look elsewhere.`;
  else {
    context.lead`They part at step ${step + 1}: ${word(trace.target.tokens[step] ?? "nothing")} or
      ${word(second.target.tokens[step] ?? "nothing")}.`;
  }
  if (trace.model.name !== second.model.name && !parted) {
    context.say`The two models are built differently, so their heads and layers are not compared one by one.`;
  }
  if (parted) {
    const {first, most} = parted;
    context.say`The first head that looks elsewhere is ${plain(nameOf(first))}: for
      ${word(trace.tokens(first.stack)[first.moved.at[0]])} it moves ${inPerCent(first.moved.most)} of its weight. The
      one that moves most is ${plain(nameOf(most))}: ${inPerCent(most.moved.most)} for
      ${word(trace.tokens(most.stack)[most.moved.at[0]])}.`;
  }
  context.say`Only tokens that both have are compared; weight on a word that just one of them has counts as moved. A
    distance of 0 means the same vector, 1 that they are as far apart as they are long.`;
  context.say`Go to any other view: it shows both, with words and numbers that differ underlined and the cells of heat
    maps that differ most framed.`;
}

/** @param {HeadMoved} head */
function nameOf({stack, layer, sublayer, head}) {
  return headInWords(`${stack}.${layer}.${sublayer}`, head);
}

/**
 * The first step at which another word was chosen; null if the translations are the same.
 * @param {Trace} one
 * @param {Trace} other
 */
export function firstDifferentStep(one, other) {
  const [own, others] = [one.target.tokens, other.target.tokens];
  const step = own.findIndex((token, place) => token !== others[place]);
  if (step >= 0) return step;
  return own.length === others.length ? null : own.length;
}

/**
 * @param {ViewContext} context
 * @param {Trace} second
 */
function draw(context, second) {
  const picture = context.picture("Where two translations part");
  const {trace, room} = context;
  const isNarrow = room < 700;
  const gap = 36;
  const third = isNarrow ? room : (room - 2 * gap) / 3;
  const places = [0, 1, 2].map((column) => (isNarrow ? 0 : column * (third + gap)));
  let bottom = drawHeads(context, second, {x: places[0], y: 0, width: third});
  bottom = drawLayers(context, second, {x: places[1], y: isNarrow ? bottom + 40 : 0, width: third});
  drawSteps(context, second, {x: places[2], y: isNarrow ? bottom + 40 : 0, width: third});
  const parted = headsThatPart(trace, second);
  const step = firstDifferentStep(trace, second);
  picture.describe(
    `${parted ? `The head that moves most is ${nameOf(parted.most)}, by ${inPerCent(parted.most.moved.most)}.` : ""} ` +
      `${step === null ? "The translations are the same." : `The first different word is at step ${step + 1}.`}`,
  );
}

/**
 * How much of its weight each head moves.
 * @param {ViewContext} context
 * @param {Trace} second
 * @param {{x: number, y: number, width: number}} place
 */
function drawHeads(context, second, {x, y, width}) {
  const picture = context.picture("");
  const {trace, tall} = context;
  const {heads} = trace.config;
  label(picture, {x, y: y + 15, text: "weight that each head moves", bold: true});
  let top = y + 28;
  const blocks = blocksOf(trace);
  const all = blocks.map(({stack, sublayer}) => movedByHeads(trace, second, stack, sublayer));
  const largest = Math.max(0.01, ...all.flatMap((layers) => (layers ?? []).flat().map(({mean}) => mean)));
  const rows = blocks.reduce((sum, {layers}) => sum + layers, 0);
  const cellHeight = Math.max(10, Math.min(26, (Math.min(tall, 600) - 40 - blocks.length * 46) / rows));
  blocks.forEach((block, number) => {
    const moved = all[number];
    label(picture, {x, y: top + 14, text: block.title, size: 13, meaning: block.stack});
    if (!moved) {
      label(picture, {x, y: top + 32, text: "another shape", size: 13, quiet: true});
      top += 46;
      return;
    }
    const layer = (/** @type {number} */ row) => block.layers - 1 - row;
    const cellWidth = Math.min(46, (width - 24) / heads);
    const box = matrix(picture, {
      x: x + 20,
      y: top + 22,
      rows: block.layers,
      columns: heads,
      cellWidth,
      cellHeight,
      value: (row, head) => moved[layer(row)][head].mean,
      largest,
      colour: shades("z", context.theme).strong,
      name: block.title,
      key: `moved-${block.stack}-${block.sublayer}`,
      describe: (row, head) => {
        const {mean, most, at} = moved[layer(row)][head];
        return [
          `${block.title}, layer ${layer(row)}, head ${head}`,
          `moves ${shareOf(mean)} of its weight on average`,
          `most for “${trace.tokens(block.stack)[at[0]]}”: ${shareOf(most)}`,
        ];
      },
      onpick: (row, head) =>
        context.go("attention", {
          ...{stack: block.stack, layer: layer(row), sublayer: block.sublayer, head},
          ...{token: moved[layer(row)][head].at[0], options: {heads: String(head)}},
        }),
    });
    rowLabels(picture, {box, names: moved.map((_, row) => String(layer(row))), size: 12});
    top = box.y + box.height + 18;
  });
  return top;
}

/**
 * How far the vectors are apart after each layer of the chosen stack.
 * @param {ViewContext} context
 * @param {Trace} second
 * @param {{x: number, y: number, width: number}} place
 */
function drawLayers(context, second, {x, y, width}) {
  const picture = context.picture("");
  const {trace, state, tall} = context;
  const found = apartByLayers(trace, second, state.stack);
  label(picture, {x, y: y + 15, text: `distance after each ${state.stack} layer`, bold: true});
  if (!found?.pairs.length) {
    label(picture, {x, y: y + 40, text: found ? "no token in common" : "another shape", quiet: true});
    return y + 50;
  }
  const {pairs, apart} = found;
  const names = pairs.map(([place]) => trace.tokens(state.stack)[place]);
  const rowName = (/** @type {number} */ row) => (row ? `layer ${row - 1}` : "input");
  const rows = apart.length;
  const row = (/** @type {number} */ line) => rows - 1 - line;
  const cellWidth = (width - 62) / names.length;
  const head = columnLabelsHeight(picture, names, cellWidth, 12);
  const box = matrix(picture, {
    x: x + 60,
    y: y + 28 + head,
    rows,
    columns: names.length,
    cellWidth,
    cellHeight: Math.max(12, Math.min(30, (Math.min(tall, 500) - head - 40) / rows)),
    value: (line, column) => apart[row(line)][column],
    largest: 1,
    colour: shades("z", context.theme).strong,
    name: `distance after each ${state.stack} layer`,
    key: "apart",
    describe: (line, column) => [`“${names[column]}”, ${rowName(row(line))}`, decimal(apart[row(line)][column], 4)],
    onpick: (_, column) => context.update({token: pairs[column][0]}),
  });
  rowLabels(picture, {box, names: apart.map((_, line) => rowName(row(line))), size: 12});
  columnLabels(picture, {box, names, size: 12});
  return box.y + box.height;
}

/**
 * How much probability moves at each step, until another word is written.
 * @param {ViewContext} context
 * @param {Trace} second
 * @param {{x: number, y: number, width: number}} place
 */
function drawSteps(context, second, {x, y, width}) {
  const picture = context.picture("");
  const {trace, tall} = context;
  const moved = movedBySteps(trace, second);
  label(picture, {x, y: y + 15, text: "probability that moves at each step", bold: true});
  if (!moved) {
    label(picture, {x, y: y + 40, text: "another vocabulary", quiet: true});
    return;
  }
  bars(picture, {
    x,
    y: y + 28,
    names: moved.map((_, step) => {
      const [own, other] = [trace.target.tokens[step], second.target.tokens[step]];
      return own === other ? own : `${own} | ${other}`;
    }),
    values: moved,
    name: "probability that moves at each step",
    width,
    largest: 1,
    rowHeight: Math.max(14, Math.min(26, (Math.min(tall, 600) - 40) / moved.length)),
    nameWidth: Math.min(150, width / 2.4),
    meaning: "decoder",
    write: shareOf,
    onpick: (step) => context.go("output", {step}),
    key: "moved-steps",
  });
}

/**
 * A share in per cent; a small one is not rounded to nothing.
 * @param {number} share
 */
function shareOf(share) {
  return share > 0 && share < 0.001 ? `${scientific(100 * share)}%` : inPerCent(share);
}
