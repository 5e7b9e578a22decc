// Row 6, tokens on their own paths: x → z → r for every token of a layer; only attention mixes them.

import {arrow, box} from "../draw/frame.js";
import {coloured, word, wordAt} from "../context.js";
import {element, shape} from "../dom.js";
import {extent, percent} from "../numbers.js";
import {label} from "../draw/label.js";
import {lines} from "../draw/lines.js";
import {meanWeights} from "./mean_attention.js";
import {letterSize, rowsThatFit, windowAround} from "../draw/fit.js";
import {pressable} from "../draw/reading.js";
import {shades} from "../colour.js";
import {strip} from "../draw/matrix.js";
import {SUBLAYER_NAMES} from "../draw/layer.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Attention} Attention
 * @typedef {import("../colour.js").Meaning} Meaning
 */

const TOP = 64;
const MOST = 24; // tokens at a time; of a longer sentence, those around the chosen one

/**
 * @typedef {{first: number, count: number, row: number, block: number, think: number, way: number}} Plan
 *   what is drawn, how high and how wide
 */

/** @type {import("../views.js").View} */
export const pathsView = {
  id: "paths",
  row: 6,
  title: "Each token on its own path",
  pickers: ["stack", "layer", "token"],
  render(context) {
    const {trace, state} = context;
    const {stack, layer} = state;
    const token = trace.tokens(stack)[state.token];
    const [most, share] = strongest(context, "self_attention");
    context.lead`Each token follows its own path through ${`${stack} ${layer}`}. The paths meet only in attention.`;
    context.say`In self-attention, ${percent(share)} of what ${word(token)} gathers comes from ${most} (averaged over
      the heads).`;
    context.say`The feed-forward network is the same for all tokens but works on each one alone, so they can all be
      processed in parallel. ${coloured("x", "x")} goes in, attention produces ${coloured("z", "z")}, and the network
      produces ${coloured("r", "r")}. Each is added to what came before, and the sum moves on to the next layer.`;
    draw(context);
  },
};

/**
 * The token that gets most of the chosen token's attention, and how much.
 * @param {ViewContext} context
 * @param {Attention} attention
 * @returns {[HTMLElement, number]}
 */
function strongest({trace, state}, attention) {
  const row = meanWeights(trace, `${state.stack}.${state.layer}.${attention}`, state.token);
  const best = row.indexOf(Math.max(...row));
  return [wordAt(trace.keyTokens(state.stack, attention), best), row[best]];
}

/** @param {ViewContext} context */
function draw(context) {
  const {trace, state} = context;
  const {stack, layer} = state;
  const picture = context.picture(`Every token's path through ${stack} ${layer}`);
  const path = `${stack}.${layer}`;
  const isDecoder = stack === "decoder";
  const plan = planOf(context);
  const tokens = trace.tokens(stack).slice(plan.first, plan.first + plan.count);
  const names = Math.min(130, picture.ruler.widest(tokens, 15, true)) + 24;
  const strips = isDecoder ? 5 : 4;
  const ways = isDecoder ? 7 : 5;
  const fixed = names + (isDecoder ? 2 : 1) * plan.block + plan.think + ways * plan.way;
  const width = Math.max(22, Math.min(240, (context.room - fixed) / strips));

  let x = names;
  tokens.forEach((_, row) => drawName(context, plan, row, names));
  /** @type {(name: string, title: string, meaning: Meaning) => void} */
  const column = (name, title, meaning) => {
    drawStrips(context, plan, {name, title, meaning, x, width});
    x += width;
  };
  const arrows = () => {
    for (let row = 0; row < plan.count; row++) {
      const y = TOP + row * plan.row + plan.row / 2;
      const isChosen = plan.first + row === state.token;
      arrow(picture, {
        points: [
          [x + 2, y],
          [x + plan.way - 2, y],
        ],
        width: isChosen ? 2 : 1,
      });
    }
    x += plan.way;
  };
  /** @param {Attention} attention */
  const mixing = (attention) => {
    arrows();
    drawMixing(context, plan, attention, x);
    x += plan.block;
    arrows();
  };

  column(trace.layerInput(stack, layer), "x", "x");
  mixing("self_attention");
  column(`${path}.self_attention.output`, "z", "z");
  if (isDecoder) {
    mixing("cross_attention");
    column(`${path}.cross_attention.output`, "z", "z");
  }
  arrows();
  drawThinking(context, plan, x);
  x += plan.think;
  arrows();
  column(`${path}.feed_forward.output`, "r", "r");
  arrows();
  column(`${path}.output`, width < 40 ? "x" : layer === trace.layers(stack) - 1 ? "output" : "next x", "x");
  picture.describe(
    `${plan.count} tokens, one per row (${tokens.join(", ")}): each enters as x, attention mixes them into z, and ` +
      `the feed-forward network turns each z into r on its own.`,
  );
  const all = trace.tokens(stack).length;
  if (plan.count < all) {
    context.note(element("p", {class: "remark"}, `Showing ${plan.count} of ${all} tokens, around the chosen one.`));
  }
}

/**
 * @param {ViewContext} context
 * @returns {Plan}
 */
function planOf({trace, state, room, tall}) {
  const all = trace.tokens(state.stack).length;
  const {height, count} = rowsThatFit(Math.min(all, MOST), tall - TOP - 8, {high: 36, low: 18});
  const first = windowAround(all, count, state.token);
  if (room < 600) return {first, count, row: height, block: 66, think: 42, way: 7};
  const isTight = state.stack === "decoder" || room < 700;
  return {first, count, row: height, block: isTight ? 106 : 132, think: isTight ? 86 : 104, way: isTight ? 16 : 24};
}

/**
 * @param {ViewContext} context
 * @param {Plan} plan
 * @param {number} row
 * @param {number} width
 */
function drawName(context, plan, row, width) {
  const {trace, state} = context;
  const picture = context.picture("");
  const position = plan.first + row;
  const token = trace.tokens(state.stack)[position];
  const current = position === state.token;
  const y = TOP + row * plan.row;
  const group = picture.group({class: "token-name"}, () => {
    const {soft, strong} = shades("x", context.theme);
    picture.add(
      shape("rect", {
        x: 2,
        y: y + 2,
        width: width - 8,
        height: plan.row - 4,
        rx: 6,
        fill: current ? soft : "transparent",
        stroke: current ? strong : "transparent",
      }),
    );
    const size = letterSize(plan.row, 15);
    const text = picture.ruler.fit(token, width - 24, size, current);
    label(picture, {x: width - 16, y: y + plan.row / 2 + size / 3, text, size, bold: current, anchor: "end"});
  });
  pressable(picture, group, {
    label: `follow ${token}, position ${position}`,
    onpick: () => context.update({token: position}),
    key: `path-${position}`,
    current,
  });
}

/**
 * @param {ViewContext} context
 * @param {Plan} plan
 * @param {{name: string, title: string, meaning: Meaning, x: number, width: number}} given
 */
function drawStrips(context, plan, {name, title, meaning, x, width}) {
  const {trace, state} = context;
  const picture = context.picture("");
  const tensor = trace.array(name);
  const {size} = extent(tensor.data);
  label(picture, {x: x + width / 2, y: 34, text: title, size: 15, bold: true, anchor: "middle", meaning});
  for (let row = 0; row < plan.count; row++) {
    const position = plan.first + row;
    picture.group({opacity: position === state.token ? 1 : 0.62}, () => {
      strip(picture, {
        x,
        y: TOP + row * plan.row + 0.19 * plan.row,
        values: tensor.row(position),
        width,
        cellHeight: plan.row * 0.62,
        largest: size,
        meaning,
        name: `${title} of “${trace.tokens(state.stack)[position]}”`,
        key: `${name}-${position}`,
      });
    });
  }
}

/**
 * One block for all tokens: inside, who looks at whom.
 * @param {ViewContext} context
 * @param {Plan} plan
 * @param {Attention} attention
 * @param {number} x
 */
function drawMixing(context, plan, attention, x) {
  const {trace, state, theme} = context;
  const picture = context.picture("");
  const {soft, strong} = shades("z", theme);
  const {stack, layer} = state;
  const isSelf = attention === "self_attention";
  const height = plan.count * plan.row;
  const middle = x + plan.block / 2;
  label(picture, {
    x: middle,
    y: 34,
    text: picture.ruler.fit(isSelf ? "self-attention" : "enc-dec att.", plan.block + plan.way, 14, true),
    size: 14,
    bold: true,
    anchor: "middle",
  });
  const isNarrow = plan.block < 100;
  const remark = isNarrow ? "mixes" : isSelf ? "mixes tokens" : "mixes in the source";
  label(picture, {x: middle, y: 51, text: remark, size: 12, quiet: true, anchor: "middle"});
  const area = {x, y: TOP, width: plan.block, height};
  const group = picture.group({}, () => {
    picture.add(shape("rect", {...area, rx: 10, fill: soft, stroke: strong, "stroke-width": 1.5}), area);
  });
  pressable(picture, group, {
    label: `${SUBLAYER_NAMES[attention]} of ${stack} ${layer}: open it`,
    onpick: () => context.go("attention", {sublayer: attention}),
    key: `mixing-${attention}`,
  });
  /** @type {{from: number, to: number, weight: number, colour: string}[]} */
  const links = [];
  for (let row = 0; row < plan.count; row++) {
    const isChosen = plan.first + row === state.token;
    meanWeights(trace, `${stack}.${layer}.${attention}`, plan.first + row).forEach((weight, from) => {
      const colour = isChosen ? strong : shades("neutral", theme).strong;
      links.push({from, to: row, weight: isChosen ? weight : weight * 0.3, colour});
    });
  }
  const keys = trace.keyTokens(stack, attention).length;
  lines(picture, {
    left: x + 6,
    right: x + plan.block - 6,
    // The source has no rows here: its tokens are spread over the height. Keys beyond the rows come from the edge.
    leftY: (key) =>
      isSelf
        ? TOP + Math.max(0, Math.min(height, (key - plan.first + 0.5) * plan.row))
        : TOP + ((key + 0.5) * height) / keys,
    rightY: (row) => TOP + (row + 0.5) * plan.row,
    links,
  }).setAttribute("pointer-events", "none");
}

/**
 * The same network for every token, each alone.
 * @param {ViewContext} context
 * @param {Plan} plan
 * @param {number} x
 */
function drawThinking(context, plan, x) {
  const {trace, state} = context;
  const picture = context.picture("");
  const middle = x + plan.think / 2;
  label(picture, {
    x: middle,
    y: 34,
    text: plan.think < 60 ? "ff" : "feed-forward",
    size: 14,
    bold: true,
    anchor: "middle",
  });
  label(picture, {
    x: middle,
    y: 51,
    text: plan.think < 60 ? "alone" : "each alone",
    size: 12,
    quiet: true,
    anchor: "middle",
  });
  for (let row = 0; row < plan.count; row++) {
    box(picture, {
      x,
      y: TOP + row * plan.row + 0.1 * plan.row,
      width: plan.think,
      height: 0.8 * plan.row,
      text: `${trace.config.d_model} → ${trace.config.d_ff}`,
      size: letterSize(plan.row, 12),
      meaning: "r",
      current: plan.first + row === state.token,
    });
  }
}
