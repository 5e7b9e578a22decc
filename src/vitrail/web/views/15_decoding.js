// Row 15, decoding, time step by time step: what is fed in, what each decoder looks at in the source, the output.

import {shades} from "../colour.js";
import {element} from "../dom.js";
import {count, percent} from "../numbers.js";
import {plain, word, wordAt} from "../context.js";
import {bars} from "../draw/bars.js";
import {arrow, box, frame} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix} from "../draw/matrix.js";
import {oneOf} from "./choices.js";
import {largestPlaces} from "./distribution.js";
import {fadeIn, repaint, slider, wantsStillness} from "./live.js";
import {layOutTokens, tokenLine} from "./token_line.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {{left: number, width: number, cellsLeft: number, cell: number, isNarrow: boolean, rows: number}} Geometry
 *   left: of the decoders; cellsLeft, cell: of the heat maps over the source; rows: 1 for the mean, else one a head
 */

const ROW = 20;
const CANDIDATES = 3;
const LEAST_SCALE = 0.2; // the strongest colour is at least this weight, so that evenly spread attention stays pale

/** @type {import("../views.js").View} */
export const decodingView = {
  id: "decoding",
  row: 15,
  title: "Decoding, time step by time step",
  pickers: ["step"],
  render(context) {
    const {trace, state} = context;
    const frames = trace.target.tokens.length;
    const each = context.option("decoding_heads", "mean") === "each";
    context.controls(
      context.player.controls(context, {
        key: "decoding",
        frame: state.step,
        frames,
        pause: wantsStillness() ? 2600 : 1500,
        show: (step) => context.update({step}, {replace: true}),
      }),
      frames > 1 &&
        slider({
          key: "decoding",
          title: "Step",
          least: 1,
          most: frames,
          value: state.step + 1,
          write: (value) => `${value} of ${frames}`,
          preview: (value) => repaint(context, () => paint(context, value - 1, each)),
          commit: (value) => context.update({step: value - 1}),
        }),
      oneOf({
        key: "decoding-heads",
        title: "Heads",
        choices: [
          {value: "mean", text: "mean"},
          {value: "each", text: "each"},
        ],
        current: each ? "each" : "mean",
        onpick: (value) => context.setOption("decoding_heads", value === "each" ? value : null),
      }),
    );
    paint(context, state.step, each);
  },
};

/**
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each every head on its own
 */
function paint(context, step, each) {
  const {trace} = context;
  const {tokens, input_tokens} = trace.target;
  const layers = trace.layers("decoder");
  const top = layers - 1;
  const seen = meanWeights(context, top, step);
  const strongest = largestPlaces(seen, 1)[0];
  context.say`The encoders read the ${trace.source.tokens.length} source tokens once. The keys and values made from
    their output are available to every decoder at every step. The decoders then write one word at a time, and each word
    is fed back in at the bottom.`;
  context.say`Step ${step + 1}: given ${word(input_tokens[step])}${plain(wordsBefore(step))}, decoder ${top} looks
    mostly at ${wordAt(trace.source.tokens, strongest)} (${percent(seen[strongest])} of its attention, averaged over its
    heads). The output is ${word(tokens[step])}, with probability ${percent(probabilityOf(context, step))}.`;
  if (step === tokens.length - 1 && tokens[step] === "<eos>") {
    context.say`${element("span", {}, "This symbol ends the sentence, so the decoder stops.")}`;
  }
  draw(context, step, each);
}

/** @param {number} step */
function wordsBefore(step) {
  if (step === 0) return "";
  return step === 1 ? " and the word before it" : ` and the ${step} words before it`;
}

/**
 * @param {ViewContext} context
 * @param {number} step
 */
function probabilityOf({trace}, step) {
  return Math.exp(trace.array("log_probs").at(step, trace.target.ids[step]));
}

/**
 * Where a decoder looks in the source, averaged over its heads.
 * @param {ViewContext} context
 * @param {number} layer
 * @param {number} step
 */
function meanWeights({trace}, layer, step) {
  const weights = trace.array(`decoder.${layer}.cross_attention.weights`);
  const [heads, , keys] = weights.shape;
  const mean = new Float64Array(keys);
  for (let head = 0; head < heads; head++) {
    const row = weights.row(head, step);
    for (let key = 0; key < keys; key++) mean[key] += row[key] / heads;
  }
  return mean;
}

/**
 * @param {ViewContext} context
 * @returns {Geometry}
 */
function measure({trace, room}, /** @type {boolean} */ each) {
  const isNarrow = room < 640;
  const left = isNarrow ? 34 : 356;
  const inset = isNarrow ? 14 : 120;
  const keys = trace.source.tokens.length;
  const cell = Math.max(18, Math.min(52, (room - left - inset - 30) / keys));
  const rows = each ? trace.config.heads : 1;
  const width = Math.max(inset + keys * cell + 30, isNarrow ? room - left : 300);
  return {left, width, cellsLeft: left + inset, cell, isNarrow, rows};
}

/**
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each
 */
function draw(context, step, each) {
  const {trace} = context;
  const picture = context.picture("One step of decoding");
  const g = measure(context, each);
  const output = drawOutput(context, step, g);
  const decoders = drawDecoders(context, step, g, output.bottom + 30);
  const middle = g.left + g.width / 2;
  arrow(picture, {
    points: [
      [middle, decoders.y - 2],
      [middle, output.bottom + 4],
    ],
    meaning: "r",
    width: 3,
  });
  const fedTop = decoders.y + decoders.height + 34;
  arrow(picture, {
    points: [
      [middle, fedTop - 4],
      [middle, decoders.y + decoders.height + 4],
    ],
    meaning: "x",
    width: 3,
  });
  const fed = tokenLine(picture, {
    x: g.left,
    y: fedTop,
    width: g.width,
    tokens: trace.target.input_tokens.slice(0, step + 1),
    current: step,
    meaning: "x",
  });
  label(picture, {x: g.left, y: fedTop + fed.height + 22, text: "fed in: all words so far", size: 13, quiet: true});
  if (g.isNarrow) drawEncodersBelow(context, g, decoders, fedTop + fed.height + 50);
  else drawEncodersBeside(context, decoders, fedTop + fed.height);
  const top = trace.layers("decoder") - 1;
  const seen = meanWeights(context, top, step);
  const looks = largestPlaces(seen, 3).map((key) => `${trace.source.tokens[key]} ${percent(seen[key])}`);
  picture.describe(
    `Step ${step + 1} of ${trace.target.tokens.length}. ` +
      `Fed in: ${trace.target.input_tokens.slice(0, step + 1).join(" ")}. ` +
      `Decoder ${top} looks at ${looks.join(", ")}. The output is ${trace.target.tokens[step]}, ` +
      `with probability ${percent(probabilityOf(context, step))}.`,
  );
}

/**
 * The words so far, and the candidates for the next one.
 * @param {ViewContext} context
 * @param {number} step
 * @param {Geometry} g
 */
function drawOutput(context, step, g) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const {ids, tokens} = trace.target;
  // Room for the whole sentence from the start, so that nothing jumps as it grows.
  const whole = layOutTokens(picture, tokens, g.width).height;
  const said = tokenLine(picture, {
    x: g.left,
    y: 22,
    width: g.width,
    tokens: tokens.slice(0, step + 1),
    current: step,
    meaning: "decoder",
  });
  if (said.currentNode) fadeIn(said.currentNode);
  label(picture, {x: g.left, y: 12, text: "the translation so far", size: 13, quiet: true});
  const logProbs = trace.array("log_probs").row(step);
  const best = largestPlaces(logProbs, CANDIDATES);
  if (!best.includes(ids[step])) best[CANDIDATES - 1] = ids[step];
  const top = 22 + whole + 30;
  const height = 40 + best.length * 28;
  frame(picture, {
    x: g.left,
    y: top,
    width: g.width,
    height,
    title: "linear and softmax",
    note: g.isNarrow ? undefined : `${count(trace.vocabulary.length)} words to choose from`,
  });
  bars(picture, {
    x: g.left + 12,
    y: top + 34,
    width: g.width - 26,
    nameWidth: g.isNarrow ? 84 : 92,
    names: best.map((id) => trace.vocabulary[id]),
    values: best.map((id) => Math.exp(logProbs[id])),
    largest: 1,
    write: (value) => percent(value),
    name: `The most probable words at step ${step + 1}`,
    colour: (index) => shades(best[index] === ids[step] ? "decoder" : "neutral", theme).strong,
    current: best.indexOf(ids[step]),
    key: "decoding-output",
  });
  const middle = g.left + g.width / 2;
  arrow(picture, {
    points: [
      [middle, top - 2],
      [middle, 22 + whole + 4],
    ],
    meaning: "decoder",
    width: 3,
  });
  return {bottom: top + height};
}

/**
 * The decoders, the last one on top, each with where it looks.
 * @param {ViewContext} context
 * @param {number} step
 * @param {Geometry} g
 * @param {number} y
 * @returns {Box & {layerMiddle: (layer: number) => number}}
 */
function drawDecoders(context, step, g, y) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const layers = trace.layers("decoder");
  const source = trace.source.tokens;
  const names = columnLabelsHeight(picture, source, g.cell, 13);
  const rowHeight = g.rows > 1 ? 14 : ROW + 6;
  const block = g.rows * rowHeight;
  const foot = g.isNarrow ? 42 : 0;
  const pitch = Math.max(block, g.isNarrow ? 0 : 44) + foot + 18;
  const top = y + 34 + names;
  const height = 34 + names + layers * pitch + 4;
  frame(picture, {
    x: g.left,
    y,
    width: g.width,
    height,
    meaning: "decoder",
    title: g.isNarrow ? "what each decoder looks at" : "what each decoder looks at in the source",
  });
  /** @param {number} layer */
  const layerTop = (layer) => top + (layers - 1 - layer) * pitch;
  const largest = Math.max(LEAST_SCALE, ...everyShare(context, step, g.rows > 1)); // one scale for all decoders
  for (let layer = 0; layer < layers; layer++) {
    const weights = trace.array(`decoder.${layer}.cross_attention.weights`);
    const mean = meanWeights(context, layer, step);
    const cellsTop = layerTop(layer) + (g.isNarrow ? 0 : Math.max(0, (44 - block) / 2));
    box(picture, {
      x: g.left + 12,
      y: g.isNarrow ? layerTop(layer) + block + 8 : layerTop(layer) + (Math.max(block, 44) - 34) / 2,
      width: 98,
      height: g.isNarrow ? 30 : 34,
      text: `decoder ${layer}`,
      meaning: "decoder",
      filled: false,
      size: 14,
      onpick: () => context.go("attention", {stack: "decoder", layer, sublayer: "cross_attention", token: step}),
      spoken: `decoder ${layer}: see its attention`,
      key: `decoding-decoder-${layer}`,
    });
    const heat = matrix(picture, {
      x: g.cellsLeft,
      y: cellsTop,
      rows: g.rows,
      columns: source.length,
      cellWidth: g.cell,
      cellHeight: rowHeight,
      value: (row, column) => (g.rows > 1 ? weights.at(row, step, column) : mean[column]),
      largest,
      colour: shades("decoder", theme).strong,
      name: `Decoder ${layer}, encoder-decoder attention`,
      describe: (row, column) => [
        `decoder ${layer}, ${whichHead(context, row, g.rows > 1)} → “${source[column]}”`,
        percent(g.rows > 1 ? weights.at(row, step, column) : mean[column]),
      ],
      meaning: "decoder",
      key: `decoding-weights-${layer}`,
    });
    if (layer === layers - 1) {
      columnLabels(picture, {box: {...heat, y: top}, names: source, size: 13, gap: g.isNarrow ? 4 : 6});
    }
  }
  return {
    x: g.left,
    y,
    width: g.width,
    height,
    layerMiddle: (layer) => layerTop(layer) + (g.isNarrow ? block + 23 : Math.max(block, 44) / 2),
  };
}

/**
 * All attention weights that a step shows.
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each
 */
function everyShare(context, step, each) {
  const {trace} = context;
  return Array.from({length: trace.layers("decoder")}, (_, layer) => {
    if (!each) return Array.from(meanWeights(context, layer, step));
    const weights = trace.array(`decoder.${layer}.cross_attention.weights`);
    return Array.from({length: trace.config.heads}, (__, head) => Array.from(weights.row(head, step))).flat();
  }).flat();
}

/**
 * @param {ViewContext} context
 * @param {number} head
 * @param {boolean} each
 */
function whichHead({trace}, head, each) {
  if (!each) return "mean of its heads";
  const {heads, kv_heads} = trace.config;
  return kv_heads === heads ? `head ${head}` : `head ${head}, with kv head ${trace.kvHead(head)}`;
}

/**
 * The source tokens; of a long sentence, its beginning and its end.
 * @param {string[]} tokens
 */
function someTokens(tokens) {
  if (tokens.length <= 40) return tokens;
  return [...tokens.slice(0, 16), `… ${tokens.length - 20} more …`, ...tokens.slice(-4)];
}

/**
 * The encoders on the left; their keys and values go to every decoder.
 * @param {ViewContext} context
 * @param {Box & {layerMiddle: (layer: number) => number}} decoders
 * @param {number} bottom
 */
function drawEncodersBeside(context, decoders, bottom) {
  const {trace} = context;
  const picture = context.picture("");
  const width = 176;
  const read = someTokens(trace.source.tokens);
  const tokens = layOutTokens(picture, read, width, 13);
  const layers = trace.layers("encoder");
  const pitch = Math.max(30, Math.min(46, 220 / layers));
  const height = 44 + layers * pitch;
  const y = Math.min(decoders.y, Math.max(0, bottom - tokens.height - 34 - height));
  frame(picture, {x: 0, y, width, height, meaning: "encoder", title: "encoders"});
  for (let layer = 0; layer < layers; layer++) {
    box(picture, {
      x: 14,
      y: y + height - 8 - (layer + 1) * pitch,
      width: width - 28,
      height: pitch - 8,
      text: `encoder ${layer}`,
      meaning: "encoder",
      filled: false,
      size: 14,
    });
  }
  const tokensTop = y + height + 30;
  arrow(picture, {
    points: [
      [width / 2, tokensTop - 4],
      [width / 2, y + height + 4],
    ],
    meaning: "x",
    width: 3,
  });
  tokenLine(picture, {x: 0, y: tokensTop, width, tokens: read, meaning: "x", size: 13});
  const trunk = width + 26;
  for (let layer = 0; layer < trace.layers("decoder"); layer++) {
    const middle = decoders.layerMiddle(layer);
    arrow(picture, {
      points: [
        [width / 2, y],
        [width / 2, y - 20],
        [trunk, y - 20],
        [trunk, middle],
        [trunk + 20, middle],
      ],
      meaning: "encoder",
    });
    drawKeysAndValues(context, layer, trunk + 20, middle);
    arrow(picture, {
      points: [
        [trunk + 116, middle],
        [decoders.x + 11, middle],
      ],
      meaning: "encoder",
    });
  }
  label(picture, {x: trunk + 68, y: decoders.y + 20, text: "keys and values", size: 13, quiet: true, anchor: "middle"});
}

/**
 * On a phone: the encoders below, and the path of their keys and values along the left edge.
 * @param {ViewContext} context
 * @param {Geometry} g
 * @param {Box & {layerMiddle: (layer: number) => number}} decoders
 * @param {number} y
 */
function drawEncodersBelow(context, g, decoders, y) {
  const {trace} = context;
  const picture = context.picture("");
  const layers = trace.layers("encoder");
  const title = `${layers} ${layers === 1 ? "encoder" : "encoders"}`;
  box(picture, {x: g.left, y, width: g.width, height: 44, text: title, meaning: "encoder", size: 15});
  const middle = g.left + g.width / 2;
  arrow(picture, {
    points: [
      [middle, y + 74],
      [middle, y + 48],
    ],
    meaning: "x",
    width: 3,
  });
  tokenLine(picture, {
    x: g.left,
    y: y + 78,
    width: g.width,
    tokens: someTokens(trace.source.tokens),
    meaning: "x",
    size: 13,
  });
  for (let layer = 0; layer < trace.layers("decoder"); layer++) {
    const at = decoders.layerMiddle(layer);
    arrow(picture, {
      points: [
        [g.left, y + 22],
        [12, y + 22],
        [12, at],
        [g.left + 11, at],
      ],
      meaning: "encoder",
    });
    drawKeysAndValues(context, layer, g.left + 124, at);
  }
}

/**
 * @param {ViewContext} context
 * @param {number} layer
 * @param {number} x
 * @param {number} middle
 */
function drawKeysAndValues(context, layer, x, middle) {
  const {trace} = context;
  const picture = context.picture("");
  const {kv_heads, d_k} = trace.config;
  const size = `${kv_heads} × ${trace.source.tokens.length} × ${d_k}`;
  for (const [index, letter] of /** @type {const} */ (["k", "v"]).entries()) {
    box(picture, {
      x: x + index * 50,
      y: middle - 15,
      width: 44,
      height: 30,
      text: letter.toUpperCase(),
      meaning: letter,
      size: 15,
      onpick: () => context.go("query-key-value", {stack: "decoder", layer, sublayer: "cross_attention"}),
      spoken: `${letter === "k" ? "keys" : "values"} of decoder ${layer}: ${size} numbers`,
      key: `decoding-${letter}-${layer}`,
    });
  }
}
