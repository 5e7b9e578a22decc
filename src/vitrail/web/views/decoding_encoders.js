// The encoders in the picture of row 15, and the way of their keys and values to every decoder.

import {arrow, box, frame} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {travel} from "../draw/motion.js";
import {layOutTokens, tokenLine} from "./token_line.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {Box & {layerMiddle: (layer: number) => number, pitch: number}} Decoders
 */

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
 * @param {Decoders} decoders
 * @param {number} bottom
 */
export function drawEncodersBeside(context, decoders, bottom) {
  const {trace} = context;
  const picture = context.picture("");
  const width = 176;
  const read = someTokens(trace.source.tokens);
  const tokens = layOutTokens(picture, read, width, 13);
  const layers = trace.layers("encoder");
  const pitch = Math.max(24, Math.min(46, 220 / layers, (context.tall - tokens.height - 150) / layers));
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
    /** @type {import("../draw/frame.js").Point[]} */
    const points = [
      [width / 2, y],
      [width / 2, y - 20],
      [trunk, y - 20],
      [trunk, middle],
      [trunk + 20, middle],
    ];
    arrow(picture, {points, meaning: "encoder"});
    // Once, at the beginning: the source rises through the encoders and is handed to every decoder as keys and values.
    if (context.cameFrom !== null || (context.player.isPlaying && context.state.step === 0)) {
      const rise = /** @type {import("../draw/frame.js").Point[]} */ ([[width / 2, tokensTop], ...points]);
      travel(picture, {points: rise, meaning: "k", delay: 100 + 150 * layer, duration: 1400});
      travel(picture, {points: rise, meaning: "v", delay: 220 + 150 * layer, duration: 1400});
    }
    drawKeysAndValues(context, layer, trunk + 20, middle, Math.min(30, decoders.pitch - 6));
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
 * @param {{left: number, width: number}} g
 * @param {Decoders} decoders
 * @param {number} y
 */
export function drawEncodersBelow(context, g, decoders, y) {
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
    drawKeysAndValues(context, layer, g.left + 124, at, 30);
  }
}

/**
 * @param {ViewContext} context
 * @param {number} layer
 * @param {number} x
 * @param {number} middle
 * @param {number} height
 */
function drawKeysAndValues(context, layer, x, middle, height) {
  const {trace} = context;
  const picture = context.picture("");
  const {kv_heads, d_k} = trace.config;
  const size = `${kv_heads} × ${trace.source.tokens.length} × ${d_k}`;
  for (const [index, letter] of /** @type {const} */ (["k", "v"]).entries()) {
    box(picture, {
      x: x + index * 50,
      y: middle - height / 2,
      width: 44,
      height,
      text: letter.toUpperCase(),
      meaning: letter,
      size: 15,
      onpick: () => context.go("query-key-value", {stack: "decoder", layer, sublayer: "cross_attention"}),
      spoken: `${letter === "k" ? "keys" : "values"} of decoder ${layer}: ${size} numbers`,
      key: `decoding-${letter}-${layer}`,
    });
  }
}
