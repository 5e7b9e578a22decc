// Row 23, the feed-forward network: d_model → d_ff → d_model, which hidden units fire, and what a unit fires for.

import {word} from "../context.js";
import {decimal} from "../numbers.js";
import {arrow} from "../draw/frame.js";
import {bars} from "../draw/bars.js";
import {label} from "../draw/label.js";
import {matrix} from "../draw/matrix.js";
import {inPerCent, unitHabit} from "../habits.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 */

const MOST_UNITS = 9; // to list

/** @type {import("../views.js").View} */
export const feedForwardView = {
  id: "feed-forward",
  row: 23,
  title: "Feed-forward",
  pickers: ["stack", "layer", "token"],
  render(context) {
    const {trace, state} = context;
    const {stack, layer} = state;
    const part = `${stack}.${layer}`;
    const {d_model, d_ff, activation} = trace.config;
    const name = trace.tokens(stack)[state.token];
    const hidden = trace.array(`${part}.feed_forward.hidden`).row(state.token);
    const order = strongestUnits(hidden);
    const unit = Math.min(d_ff - 1, Number(context.option("unit", String(order[0]))) || 0);
    const firing = countFiring(hidden);
    context.lead`${word(name)} on its own: ${d_model} numbers become ${d_ff}, of which ${firing} fire, and again
      ${d_model}.`;
    context.say`Attention mixes tokens; the feed-forward network doesn’t. It multiplies each token’s vector by a wide
      matrix, applies ${activation}, and multiplies by a narrow one. A hidden unit fires if its number is above 0: then
      it adds its own column of the second matrix to the token.`;
    sayHabit(context, part, unit);
    context.say`A list of tokens is not a meaning: many units fire for things that have no name, and one thing is often
      spread over many units.`;
    draw(context, {part, hidden, order, unit});
  },
};

/**
 * What the chosen unit usually fires for.
 * @param {ViewContext} context
 * @param {string} part
 * @param {number} unit
 */
function sayHabit(context, part, unit) {
  const habit = unitHabit(context.trace, part, unit);
  if (!habit) {
    context.say`What a unit usually fires for has not been measured for this model: ${"vitrail heads"} does it.`;
    return;
  }
  const {sentences} = /** @type {import("../habits.js").Habits} */ (context.trace.habits);
  if (!habit.tokens.length) {
    context.say`Over ${sentences} sentences, unit ${unit} never fired.`;
    return;
  }
  context.say`Over ${sentences} sentences, unit ${unit} fires at ${inPerCent(habit.fires)} of the tokens, most strongly
    at ${habit.tokens.join(", ")} (up to ${decimal(habit.peak)}).`;
}

/**
 * The units with the largest values, largest first.
 * @param {ArrayLike<number>} hidden
 * @param {number} [most]
 */
export function strongestUnits(hidden, most = MOST_UNITS) {
  return Array.from(hidden, (_, unit) => unit)
    .sort((a, b) => hidden[b] - hidden[a] || a - b)
    .slice(0, most);
}

/** @param {ArrayLike<number>} hidden */
export function countFiring(hidden) {
  let found = 0;
  for (let unit = 0; unit < hidden.length; unit++) if (hidden[unit] > 0) found++;
  return found;
}

/**
 * The sides of a grid that holds some cells and is about as wide as high.
 * @param {number} cells
 */
export function gridOf(cells) {
  const columns = Math.ceil(Math.sqrt(cells));
  return {columns, rows: Math.ceil(cells / columns)};
}

/**
 * @param {ViewContext} context
 * @param {{part: string, hidden: ArrayLike<number>, order: number[], unit: number}} given
 */
function draw(context, {part, hidden, order, unit}) {
  const picture = context.picture("The feed-forward network, for one token");
  const {trace, state, room} = context;
  const {stack, layer} = state;
  const {d_model, d_ff, activation} = trace.config;
  const name = trace.tokens(stack)[state.token];
  const number = trace.sublayers(stack).length;
  const input = trace.array(trace.sublayerInput(stack, layer, number)).row(state.token);
  const output = trace.array(`${part}.feed_forward.output`).row(state.token);
  const isNarrow = room < 700;
  const most = isNarrow ? room : room * 0.5;
  // Both grids have cells of the same size, so that the middle is as much wider as it is.
  const [outer, inner] = [gridOf(d_model), gridOf(d_ff)];
  const cell = Math.min(11, (most - 2 * 44) / (2 * outer.columns + inner.columns));
  const height = Math.max(outer.rows, inner.rows) * cell;
  const top = 44;
  const middle = top + height / 2;
  const pick = (/** @type {number} */ chosen) => context.setOption("unit", String(chosen), {replace: true});
  let x = 0;
  const parts = [
    {title: "x", note: `${d_model}`, values: input, grid: outer, meaning: /** @type {const} */ ("x")},
    {title: activation, note: `${d_ff} hidden units`, values: hidden, grid: inner, meaning: /** @type {const} */ ("k")},
    {title: "r", note: `${d_model}`, values: output, grid: outer, meaning: /** @type {const} */ ("r")},
  ];
  parts.forEach(({title, note, values, grid, meaning}, place) => {
    const {columns, rows} = grid;
    const y = middle - (rows * cell) / 2;
    const isHidden = place === 1;
    label(picture, {x, y: y - 22, text: title, bold: true, meaning});
    label(picture, {x, y: y - 6, text: note, size: 12, quiet: true});
    matrix(picture, {
      x,
      y,
      rows,
      columns,
      cellWidth: cell,
      cellHeight: cell,
      value: (row, column) => values[row * columns + column] ?? 0,
      meaning,
      name: isHidden ? `hidden units of “${name}”` : `${title} of “${name}”`,
      key: `feed-forward-${place}`,
      describe: (row, column) => {
        const at = row * columns + column;
        return at < values.length ? [`${isHidden ? "unit" : "number"} ${at}`, decimal(values[at], 4)] : [""];
      },
      ...(isHidden && {
        onpick: (row, column) => pick(Math.min(d_ff - 1, row * columns + column)),
        current: {row: Math.floor(unit / columns), column: unit % columns},
      }),
    });
    x += columns * cell;
    if (place < 2) {
      arrow(picture, {
        points: [
          [x + 6, middle],
          [x + 38, middle],
        ],
      });
      label(picture, {x: x + 22, y: middle - 10, text: place ? "W₂" : "W₁", anchor: "middle", size: 13});
      x += 44;
    }
  });
  const right = isNarrow ? {x: 0, y: top + height + 30, width: room} : {x: x + 40, y: 0, width: room - x - 40};
  drawUnits(context, {...right, part, hidden, order, unit, pick});
  picture.describe(
    `${name} becomes ${d_ff} hidden numbers, ${countFiring(hidden)} of them above 0. The largest are ` +
      `${order
        .slice(0, 3)
        .map((each) => `unit ${each} with ${decimal(hidden[each])}`)
        .join(", ")}.`,
  );
}

/**
 * The strongestUnits units, and the chosen one at every token.
 * @param {ViewContext} context
 * @param {{
 *   x: number, y: number, width: number, part: string, hidden: ArrayLike<number>, order: number[], unit: number,
 *   pick: (unit: number) => void}} given
 */
function drawUnits(context, {x, y, width, part, hidden, order, unit, pick}) {
  const picture = context.picture("");
  const {trace, state, tall} = context;
  const tokens = trace.tokens(state.stack);
  const all = trace.array(`${part}.feed_forward.hidden`);
  const half = (width - 24) / 2;
  label(picture, {
    x,
    y: y + 16,
    text: `fire most for “${picture.ruler.fit(tokens[state.token], 90, 14, true)}”`,
    bold: true,
  });
  const rowHeight = 24;
  bars(picture, {
    x,
    y: y + 28,
    names: order.map((each) => `unit ${each}`),
    values: order.map((each) => hidden[each]),
    name: "units that fire most",
    width: half,
    rowHeight,
    nameWidth: 66,
    meaning: "k",
    write: (value) => decimal(value),
    current: order.indexOf(unit),
    onpick: (row) => pick(order[row]),
    describe: (row) => {
      const habit = unitHabit(trace, part, order[row]);
      return [
        `unit ${order[row]}: ${decimal(hidden[order[row]], 4)}`,
        habit ? `usually: ${habit.tokens.join(", ")}` : "",
      ];
    },
    key: "units",
  });
  const left = x + half + 24;
  label(picture, {x: left, y: y + 16, text: `unit ${unit} at every token`, bold: true});
  const fits = Math.max(10, Math.min(rowHeight, (Math.min(tall, 700) - y - 40) / tokens.length));
  bars(picture, {
    x: left,
    y: y + 28,
    names: [...tokens],
    values: tokens.map((_, token) => all.at(token, unit)),
    name: `unit ${unit} at every token`,
    width: half,
    rowHeight: fits,
    nameWidth: Math.min(116, half * 0.42),
    meaning: "k",
    write: (value) => decimal(value),
    current: state.token,
    onpick: (token) => context.update({token}),
    key: "unit-at-tokens",
  });
  const habit = unitHabit(trace, part, unit);
  if (!habit?.tokens.length) return;
  const below = y + 28 + order.length * rowHeight + 24;
  label(picture, {x, y: below, text: "it usually fires for", bold: true});
  habit.tokens.forEach((token, index) => {
    const text = picture.ruler.fit(token, half - 20, 14);
    label(picture, {x: x + 12, y: below + 22 * (index + 1), text});
  });
}
