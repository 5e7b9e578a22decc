// Row 24, all heads at a glance: a small picture of every head of the model, with its habit, and one of them large.

import {plain} from "../context.js";
import {element, shape} from "../dom.js";
import {headColour} from "../colour.js";
import {bars} from "../draw/bars.js";
import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {habitInShort, habitInWords, habitOf, headInWords, inPerCent} from "../habits.js";
import {percent, precise} from "../numbers.js";
import {attentionOf} from "../state.js";
import {switchHeads} from "./heads_off.js";
import {writeHeads} from "../request.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../trace.js").Attention} Attention
 * @typedef {{stack: Stack, sublayer: Attention, title: string, layers: number}} Block one kind of attention
 * @typedef {{block: Block, x: number, y: number}} PlacedBlock
 */

const NAMES = 26; // units for a layer's number
const TITLE = 44; // above a block: its title and the heads' numbers
const GAP = 22;
const LARGEST = 96;

/** @type {import("../views.js").View} */
export const allHeadsView = {
  id: "all-heads",
  row: 24,
  title: "All heads at a glance",
  pickers: [],
  render(context) {
    const {trace, state} = context;
    const {heads} = trace.config;
    const blocks = blocksOf(trace);
    const count = heads * blocks.reduce((sum, {layers}) => sum + layers, 0);
    const sublayer = attentionOf(state);
    const attention = `${state.stack}.${state.layer}.${sublayer}`;
    context.lead`Where all ${count} heads look in this sentence. Choose one to see it large, with its habit.`;
    context.say`Each small picture is one head: a row for each token that looks, a column for each token that it can
      look at. Dark is much weight.`;
    const habit = habitOf(trace, attention, state.head);
    if (habit && trace.habits) {
      const even = trace.habits.heads[attention].even[habit.habit];
      context.say`Over ${trace.habits.sentences} sentences, ${plain(headInWords(attention, state.head))}
        ${habitInWords(habit)}.
        ${plain(even === undefined ? "" : `A head that looks everywhere alike would put ${inPerCent(even)} there.`)}`;
    } else {
      context.say`What the heads usually do has not been measured for this model: ${"vitrail heads"} does it.`;
    }
    context.say`Where a head looks is a clue to what it does, not a proof. What it finds there may be anything, and
      other heads may do the same. The test is to switch it off and see what changes.`;
    showControls(context, attention);
    draw(context, blocks, attention);
  },
};

/**
 * The three kinds of attention; those that the model has.
 * @param {Trace} trace
 * @returns {Block[]}
 */
export function blocksOf(trace) {
  const {encoder_layers, decoder_layers} = trace.config;
  /** @type {Block[]} */
  const all = [
    {stack: "encoder", sublayer: "self_attention", title: "encoder self-attention", layers: encoder_layers},
    {stack: "decoder", sublayer: "self_attention", title: "decoder self-attention", layers: decoder_layers},
    {stack: "decoder", sublayer: "cross_attention", title: "encoder-decoder attention", layers: decoder_layers},
  ];
  return all.filter(({layers}) => layers > 0);
}

/**
 * The arrangement of the blocks in which the small pictures are largest: side by side, in two columns, or in one.
 * @param {Block[]} blocks
 * @param {number} heads
 * @param {{width: number, height: number}} space
 * @returns {{cell: number, line: number, placed: PlacedBlock[]}} line: from one layer to the next
 */
export function arrange(blocks, heads, {width, height}) {
  const [first, ...others] = blocks;
  const arrangements = [blocks.map((block) => [block]), [[first], others], [blocks]].filter((columns) =>
    columns.every((column) => column.length),
  );
  let best = {cell: 0, line: 0, placed: /** @type {PlacedBlock[]} */ ([])};
  for (const columns of arrangements) {
    const deepest = Math.max(...columns.map((column) => column.reduce((sum, {layers}) => sum + layers, 0)));
    const titles = Math.max(...columns.map((column) => column.length));
    const across = (width - columns.length * (NAMES + GAP)) / (columns.length * heads) - 4;
    const down = (height - titles * (TITLE + GAP)) / deepest;
    const caption = down >= 40 ? 17 : 4; // room for a habit's name below
    const cell = Math.min(LARGEST, across, down - caption);
    if (cell <= best.cell) continue;
    const line = cell + caption;
    /** @type {PlacedBlock[]} */
    const placed = [];
    columns.forEach((column, number) => {
      let y = 0;
      for (const block of column) {
        placed.push({block, x: number * (NAMES + GAP + heads * (cell + 4)), y});
        y += TITLE + GAP + block.layers * line;
      }
    });
    best = {cell, line, placed};
  }
  return best;
}

/**
 * @param {ViewContext} context
 * @param {string} attention
 */
function showControls(context, attention) {
  const {trace, state, translate, compare} = context;
  const isOff = trace.isOff(attention, state.head);
  const off = trace.whatIf.heads_off;
  context.controls(
    element("span", {class: "picker-title"}, `Head ${state.head}`),
    element(
      "button",
      {
        type: "button",
        "data-key": "open-head",
        onclick: () => context.go("attention", {options: {heads: String(state.head)}}),
      },
      "Where each token looks",
    ),
    translate &&
      element(
        "button",
        {
          type: "button",
          "data-key": "switch-head",
          "aria-pressed": String(isOff),
          onclick: () => translate({heads_off: switchHeads(off, attention, [state.head])}),
        },
        isOff ? "Switch it on again" : "Switch it off and translate again",
      ),
    compare &&
      !isOff &&
      element(
        "button",
        {
          type: "button",
          "data-key": "beside-without",
          onclick: () => compare({heads_off: writeHeads(switchHeads(off, attention, [state.head]))}),
        },
        "Both at once",
      ),
  );
  if (!translate) context.note(context.needsStudio("switch a head off and translate again"));
  const {before} = context;
  if (before && Object.keys(off).length) {
    const same = before.target.text === trace.target.text;
    const words = same
      ? "The translation did not change."
      : `Before: “${before.target.text}”. Now: “${trace.target.text}”.`;
    context.note(element("p", {}, words));
  }
}

/**
 * @param {ViewContext} context
 * @param {Block[]} blocks
 * @param {string} attention the chosen one
 */
function draw(context, blocks, attention) {
  const picture = context.picture("All heads at a glance");
  const {trace, state, room, tall} = context;
  const {heads} = trace.config;
  const isNarrow = room < 700;
  const height = Number.isFinite(tall) ? tall : 520;
  const width = isNarrow ? room : room * 0.62;
  const {cell, line, placed} = arrange(blocks, heads, {width, height});
  for (const {block, x, y} of placed) {
    label(picture, {x: x + NAMES, y: y + 15, text: block.title, bold: true, meaning: block.stack});
    for (let head = 0; head < heads; head++) {
      const middle = x + NAMES + head * (cell + 4) + cell / 2;
      label(picture, {
        x: middle,
        y: y + 36,
        text: String(head),
        size: 12,
        anchor: "middle",
        colour: headColour(head, context.theme),
      });
    }
    for (let layer = 0; layer < block.layers; layer++) {
      const top = y + TITLE + (block.layers - 1 - layer) * line; // the last layer on top, as in the stack
      label(picture, {
        x: x + NAMES - 8,
        y: top + cell / 2 + 4,
        text: String(layer),
        size: 12,
        anchor: "end",
        quiet: true,
      });
      for (let head = 0; head < heads; head++) {
        const path = `${block.stack}.${layer}.${block.sublayer}`;
        const isHere = path === attention && head === state.head;
        small(context, {
          block,
          path,
          layer,
          head,
          x: x + NAMES + head * (cell + 4),
          y: top,
          cell,
          hasName: line > cell + 10,
          isHere,
        });
      }
    }
  }
  const bottom = Math.max(...placed.map(({block, y}) => y + TITLE + block.layers * line));
  const end = Math.max(...placed.map(({x}) => x + NAMES + heads * (cell + 4))) + 40;
  const right = isNarrow ? {x: 0, y: bottom + 24, width: room} : {x: end, y: 0, width: Math.min(460, room - end)};
  large(context, attention, {...right, height: isNarrow ? 420 : height});
  picture.describe(described(trace));
}

/**
 * One head as a small picture; a button that chooses it.
 * @param {ViewContext} context
 * @param {{
 *   block: Block, path: string, layer: number, head: number, x: number, y: number, cell: number, hasName: boolean,
 *   isHere: boolean}} given
 */
function small(context, {block, path, layer, head, x, y, cell, hasName, isHere}) {
  const picture = context.picture("");
  const {trace} = context;
  const weights = trace.array(`${path}.weights`);
  const [, rows, columns] = weights.shape;
  const isOff = trace.isOff(path, head);
  const habit = habitOf(trace, path, head);
  const [asking, asked] = [trace.tokens(block.stack), trace.keyTokens(block.stack, block.sublayer)];
  matrix(picture, {
    x,
    y,
    rows,
    columns,
    cellWidth: cell / columns,
    cellHeight: cell / rows,
    value: (query, key) => (isOff ? 0 : weights.at(head, query, key)),
    largest: 1,
    colour: headColour(head, context.theme),
    name: headInWords(path, head),
    key: `glance-${path}-${head}`,
    describe: (query, key) => [
      `${block.title} ${layer}, head ${head}${isOff ? ", switched off" : ""}`,
      `“${asking[query]}” → “${asked[key]}”: ${percent(weights.at(head, query, key))}`,
      ...(habit ? [habitInWords(habit)] : []),
    ],
    onpick: () => context.update({stack: block.stack, layer, sublayer: block.sublayer, head}),
  });
  if (isHere) {
    picture.add(shape("rect", {x: x - 2, y: y - 2, width: cell + 4, height: cell + 4, rx: 4, class: "current-mark"}));
  }
  if (isOff) {
    label(picture, {x: x + cell / 2, y: y + cell / 2 + 4, text: "off", size: 12, anchor: "middle", bold: true});
  }
  if (!hasName || !habit) return;
  const [long, short] = [habitInShort(habit), habit.habit.replace("_", " ")];
  const text = picture.ruler.fit(picture.ruler.width(long, 11) <= cell + 4 ? long : short, cell + 4, 11);
  label(picture, {x: x + cell / 2, y: y + cell + 12, text, size: 11, anchor: "middle", quiet: habit.habit === "mixed"});
}

/**
 * The chosen head, with the tokens' names and its habit.
 * @param {ViewContext} context
 * @param {string} attention
 * @param {{x: number, y: number, width: number, height: number}} space
 */
function large(context, attention, {x, y, width, height}) {
  const picture = context.picture("");
  const {trace, state} = context;
  const weights = trace.array(`${attention}.weights`);
  const sublayer = attentionOf(state);
  const [queries, keys] = [trace.tokens(state.stack), trace.keyTokens(state.stack, sublayer)];
  const habit = habitOf(trace, attention, state.head);
  const shares = habit ? Object.entries(habit.shares) : [];
  const barHeight = 19;
  const forBars = habit ? (shares.length + 1) * barHeight + 66 : 0;
  const size = queries.length > 24 ? 10 : 12;
  const names = Math.min(90, picture.ruler.widest([...queries], size, true)) + 8;
  const across = (width - names - 10) / keys.length;
  const head = columnLabelsHeight(picture, [...keys], across, size);
  const down = (height - forBars - head - 30) / queries.length;
  const cellHeight = Math.max(5, Math.min(24, down));
  const cellWidth = Math.min(34, across);
  const top = y + 24 + head;
  label(picture, {
    x,
    y: y + 15,
    text: headInWords(attention, state.head),
    bold: true,
    colour: headColour(state.head, context.theme),
  });
  const box = matrix(picture, {
    x: x + names,
    y: top,
    rows: queries.length,
    columns: keys.length,
    cellWidth,
    cellHeight,
    value: (query, key) => weights.at(state.head, query, key),
    largest: 1,
    colour: headColour(state.head, context.theme),
    name: "the chosen head",
    key: "glance-large",
    describe: (query, key) => [`“${queries[query]}” → “${keys[key]}”`, precise(weights.at(state.head, query, key))],
  });
  rowLabels(picture, {box, names: [...queries], size, width: names});
  columnLabels(picture, {box, names: [...keys], size});
  if (!habit) return;
  const even = trace.habits?.heads[attention].even ?? {};
  const below = top + box.height + 26;
  label(picture, {x, y: below, text: "usually, of its weight", size: 13, bold: true});
  bars(picture, {
    x,
    y: below + 8,
    names: [...shares.map(([name]) => name.replace("_", " ")), "evenness"],
    values: [...shares.map(([, share]) => share), habit.evenness],
    name: "habit",
    width,
    rowHeight: barHeight,
    nameWidth: 90,
    largest: 1,
    write: (value) => inPerCent(value, 0),
    current: habit.habit === "spread" ? shares.length : shares.findIndex(([name]) => name === habit.habit),
    describe: (row) =>
      row < shares.length
        ? [
            `${shares[row][0].replace("_", " ")}: ${inPerCent(shares[row][1])} of its weight`,
            `a head that looks everywhere alike: ${inPerCent(even[shares[row][0]] ?? 0)}`,
          ]
        : [`evenness: ${inPerCent(habit.evenness)}`],
    key: "habit",
  });
  label(picture, {
    x,
    y: below + 8 + (shares.length + 1) * barHeight + 18,
    text: picture.ruler.fit("evenness: 0% is one token, 100% all tokens alike", width, 12),
    size: 12,
    quiet: true,
  });
}

/** @param {Trace} trace */
function described(trace) {
  const counts = new Map();
  for (const {heads} of Object.values(trace.habits?.heads ?? {})) {
    for (const {habit} of heads) counts.set(habit, (counts.get(habit) ?? 0) + 1);
  }
  const habits = [...counts].map(([habit, many]) => `${many} ${habit.replace("_", " ")}`).join(", ");
  return `A small picture of the attention weights of every head.${habits ? ` Their habits: ${habits}.` : ""}`;
}
