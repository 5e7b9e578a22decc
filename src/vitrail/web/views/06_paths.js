// Row 6, tokens on their own paths: x → z → r for every token of a layer; only attention mixes them.

import {arrow, box} from "../draw/frame.js";
import {coloured, word} from "../context.js";
import {extent, percent} from "../numbers.js";
import {label, textWidth, fitText} from "../draw/label.js";
import {lines} from "../draw/lines.js";
import {pressable} from "../draw/reading.js";
import {shades} from "../colour.js";
import {shape} from "../dom.js";
import {strip} from "../draw/matrix.js";
import {SUBLAYER_NAMES} from "../draw/layer.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Attention} Attention
 * @typedef {import("../colour.js").Meaning} Meaning
 */

const ROW = 36;
const TOP = 64;
const BLOCK = 128;
const THINK = 104;
const WAY = 22; // an arrow between two things

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
    context.say`Every token has a path of its own through ${`${stack} ${layer}`}. Only in attention do the paths meet:
      there ${word(token)} takes ${percent(share)} of what it gathers from ${word(most)} (the mean over the heads).`;
    context.say`The feed-forward network is the same for all tokens, but works on each one alone, so it could work on all
      of them at once. ${coloured("x", "x")} goes in, attention gives ${coloured("z", "z")}, the network gives
      ${coloured("r", "r")}; each is added to what came before it, and the sum goes on to the next layer.`;
    draw(context);
  },
};

/**
 * The token that gets most of the chosen token's attention, and how much.
 * @param {ViewContext} context
 * @param {Attention} attention
 * @returns {[string, number]}
 */
function strongest({trace, state}, attention) {
  const row = meanWeights({trace, state}, attention, state.token);
  const best = row.indexOf(Math.max(...row));
  return [trace.keyTokens(state.stack, attention)[best], row[best]];
}

/**
 * @param {Pick<ViewContext, "trace" | "state">} context
 * @param {Attention} attention
 * @param {number} token
 */
function meanWeights({trace, state}, attention, token) {
  const weights = trace.array(`${state.stack}.${state.layer}.${attention}.weights`);
  const [heads, , keys] = weights.shape;
  return Array.from({length: keys}, (_, key) => {
    let sum = 0;
    for (let head = 0; head < heads; head++) sum += weights.at(head, token, key);
    return sum / heads;
  });
}

/** @param {ViewContext} context */
function draw(context) {
  const {trace, state} = context;
  const {stack, layer} = state;
  const picture = context.picture(`Every token's path through ${stack} ${layer}`);
  const tokens = trace.tokens(stack);
  const path = `${stack}.${layer}`;
  const names = Math.min(150, Math.max(...tokens.map((token) => textWidth(token, 15, true)))) + 18;
  const isDecoder = stack === "decoder";
  const blocks = isDecoder ? 2 : 1;
  const strips = isDecoder ? 5 : 4;
  const fixed = names + blocks * BLOCK + THINK + (strips + blocks) * 2 * WAY;
  const width = Math.max(96, Math.min(240, (context.room - fixed) / strips));
  const height = tokens.length * ROW;

  let x = names;
  tokens.forEach((token, row) => drawName(context, token, row, names));
  /** @type {(name: string, title: string, meaning: Meaning) => void} */
  const column = (name, title, meaning) => {
    drawStrips(context, {name, title, meaning, x, width});
    x += width;
  };
  const arrows = () => {
    for (let row = 0; row < tokens.length; row++) {
      const y = TOP + row * ROW + ROW / 2;
      arrow(picture, {points: [[x + 3, y], [x + WAY - 2, y]], width: row === state.token ? 2.5 : 1});
    }
    x += WAY;
  };
  /** @param {Attention} attention */
  const mixing = (attention) => {
    arrows();
    drawMixing(context, attention, x, height);
    x += BLOCK;
    arrows();
  };

  column(trace.layerInput(stack, layer), "x", "x");
  mixing("self_attention");
  column(`${path}.self_attention.output`, "z", "z");
  if (isDecoder) {
    mixing("cross_attention");
    column(`${path}.cross_attention.output`, "z, from the source", "z");
  }
  arrows();
  drawThinking(context, x);
  x += THINK;
  arrows();
  column(`${path}.feed_forward.output`, "r", "r");
  arrows();
  const isLast = layer === trace.layers(stack) - 1;
  column(`${path}.output`, isLast ? "the last layer's output" : "x of the next layer", "x");
  picture.describe(
    `${tokens.length} tokens side by side (${tokens.join(", ")}): each enters as x, all pass through one block of ` +
      `attention that mixes them, come out as z, and pass, each alone, through the feed-forward network as r.`,
  );
}

/**
 * @param {ViewContext} context
 * @param {string} token
 * @param {number} row
 * @param {number} width
 */
function drawName(context, token, row, width) {
  const picture = context.picture("");
  const current = row === context.state.token;
  const y = TOP + row * ROW;
  const group = picture.group({class: "token-name"}, () => {
    const {soft, strong} = shades("x", context.theme);
    picture.add(
      shape("rect", {
        x: 0,
        y: y + 4,
        width: width - 6,
        height: ROW - 8,
        rx: 6,
        fill: current ? soft : "transparent",
        stroke: current ? strong : "transparent",
      }),
    );
    const text = fitText(token, width - 18, 15, current);
    label(picture, {x: width - 14, y: y + ROW / 2 + 5, text, size: 15, bold: current, anchor: "end"});
  });
  pressable(picture, group, {
    label: `follow ${token}, position ${row}`,
    onpick: () => context.update({token: row}),
    key: `path-${row}`,
    current,
  });
}

/**
 * @param {ViewContext} context
 * @param {{name: string, title: string, meaning: Meaning, x: number, width: number}} given
 */
function drawStrips(context, {name, title, meaning, x, width}) {
  const {trace, state} = context;
  const picture = context.picture("");
  const tensor = trace.array(name);
  const {size} = extent(tensor.data);
  const tokens = trace.tokens(state.stack);
  label(picture, {x: x + width / 2, y: 34, text: fitText(title, width + 20, 15, true), size: 15, bold: true, anchor: "middle", meaning});
  tokens.forEach((token, row) => {
    picture.group({opacity: row === state.token ? 1 : 0.62}, () => {
      strip(picture, {
        x,
        y: TOP + row * ROW + 7,
        values: tensor.row(row),
        width,
        cellHeight: ROW - 14,
        largest: size,
        meaning,
        name: `${title} of “${token}”`,
        key: `${name}-${row}`,
      });
    });
  });
}

/**
 * One block for all tokens: inside, who looks at whom.
 * @param {ViewContext} context
 * @param {Attention} attention
 * @param {number} x
 * @param {number} height
 */
function drawMixing(context, attention, x, height) {
  const {trace, state, theme} = context;
  const picture = context.picture("");
  const {soft, strong} = shades("z", theme);
  const {stack, layer} = state;
  const title = attention === "self_attention" ? "self-attention" : "enc-dec attention";
  label(picture, {x: x + BLOCK / 2, y: 34, text: title, size: 14, bold: true, anchor: "middle"});
  label(picture, {x: x + BLOCK / 2, y: 51, text: "mixes tokens", size: 12, quiet: true, anchor: "middle"});
  const area = {x, y: TOP, width: BLOCK, height};
  const group = picture.group({}, () => {
    picture.add(shape("rect", {...area, rx: 10, fill: soft, stroke: strong, "stroke-width": 1.5}), area);
  });
  pressable(picture, group, {
    label: `${SUBLAYER_NAMES[attention]} of ${stack} ${layer}: look into it`,
    onpick: () => context.go("attention", {sublayer: attention}),
    key: `mixing-${attention}`,
  });
  const keys = trace.keyTokens(stack, attention).length;
  const queries = trace.tokens(stack).length;
  /** @type {{from: number, to: number, weight: number, colour: string}[]} */
  const links = [];
  for (let to = 0; to < queries; to++) {
    meanWeights(context, attention, to).forEach((weight, from) => {
      const own = to === state.token;
      links.push({from, to, weight: own ? weight : weight * 0.3, colour: own ? strong : shades("neutral", theme).strong});
    });
  }
  lines(picture, {
    left: x + 6,
    right: x + BLOCK - 6,
    leftY: (key) => TOP + ((key + 0.5) * height) / keys,
    rightY: (query) => TOP + (query + 0.5) * ROW,
    links,
  }).setAttribute("pointer-events", "none");
}

/**
 * The same network for every token, each alone.
 * @param {ViewContext} context
 * @param {number} x
 */
function drawThinking(context, x) {
  const {trace, state} = context;
  const picture = context.picture("");
  label(picture, {x: x + THINK / 2, y: 34, text: "feed-forward", size: 14, bold: true, anchor: "middle"});
  label(picture, {x: x + THINK / 2, y: 51, text: "each token alone", size: 12, quiet: true, anchor: "middle"});
  trace.tokens(state.stack).forEach((_, row) => {
    box(picture, {
      x,
      y: TOP + row * ROW + 4,
      width: THINK,
      height: ROW - 8,
      text: `${trace.config.d_model} → ${trace.config.d_ff}`,
      size: 12,
      meaning: "r",
      current: row === state.token,
    });
  });
}
