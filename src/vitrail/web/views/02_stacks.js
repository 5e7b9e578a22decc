// Row 2, encoders and decoders: this model's layers, with their shapes and parameter counts.

import {count, shortCount} from "../numbers.js";
import {arrow, box, frame} from "../draw/frame.js";
import {element} from "../dom.js";
import {label} from "../draw/label.js";
import {travel, zoom} from "../draw/motion.js";
import {rowsThatFit} from "../draw/fit.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Stack} Stack
 */

const LAYER = 58; // the height of a layer, if there is room
const LOWEST = 30;
const GAP = 14;
const ABOVE = 38; // from the upper edge to the decoders, without the lines of the translation
const ENDS = 44 + ABOVE + 60 + 8; // the frame's title, and what stands above and below the stacks
const NARROW = 232; // units: in a narrower stack names and numbers of parameters have their own lines
const MOST_SAID = 3; // lines of the translation above the decoders

/** @type {import("../views.js").View} */
export const stacksView = {
  id: "stacks",
  row: 2,
  title: "Encoders and decoders",
  pickers: [],
  render(context) {
    const {trace} = context;
    const {encoder_layers, decoder_layers, d_model} = trace.config;
    const {total, embeddings} = trace.model.parameters;
    context.lead`${stackOf(encoder_layers, "encoder")} to read your sentence, ${stackOf(decoder_layers, "decoder")} to
      write the translation, word by word.`;
    context.say`The output of the top encoder goes to every decoder. Click a layer to go inside.`;
    const tokens = trace.source.tokens.length;
    context.say`Each token is a vector of ${d_model} numbers. The source has ${tokens} tokens, so each encoder takes in
      and puts out ${tokens} × ${d_model} numbers. The model has ${count(total)} parameters, ${count(embeddings)} of
      them in its embeddings.`;
    context.controls(
      element(
        "button",
        {type: "button", "data-key": "close-box", onclick: () => context.go("black-box")},
        "Close the box",
      ),
    );
    draw(context);
  },
};

/**
 * @param {number} layers
 * @param {Stack} stack
 */
function stackOf(layers, stack) {
  return `${layers} ${stack}${layers === 1 ? "" : "s"}`;
}

/** @param {ViewContext} context */
function draw(context) {
  const {trace} = context;
  const picture = context.picture("The model's encoder and decoder stacks");
  const gap = context.room < 500 ? 36 : 76;
  const width = Math.max(128, Math.min(340, (context.room - gap - 14) / 2));
  const layers = {encoder: trace.layers("encoder"), decoder: trace.layers("decoder")};
  const highest = Math.max(layers.encoder, layers.decoder);
  const said = translationLines(context, width);
  const fed = Math.max(
    ...[trace.source.tokens, trace.target.input_tokens].map(
      (tokens) => picture.ruler.wrap(tokens.join(" "), width).length,
    ),
  );
  const space = context.tall - ENDS - 20 * (said.length + fed);
  const {height: pitch} = rowsThatFit(highest, space, {high: LAYER + GAP, low: LOWEST + GAP});
  const stackHeight = (/** @type {number} */ number) => number * pitch + 44;
  const bottom = ABOVE + 20 * said.length + stackHeight(highest);
  /** @type {Record<Stack, number>} */
  const left = {encoder: 0, decoder: width + gap};

  const inset = width < NARROW ? 8 : 16;
  for (const stack of /** @type {Stack[]} */ (["encoder", "decoder"])) {
    const height = stackHeight(layers[stack]);
    const y = bottom - height;
    const title = stack === "encoder" ? "Encoders" : "Decoders";
    const x = left[stack];
    const total = `${parametersOf(context, stack)} parameters`;
    frame(picture, {x, y, width, height, meaning: stack, title, note: width < NARROW ? undefined : total});
    if (width < NARROW) label(picture, {x: x + 14, y: y + 38, text: total, size: 12, quiet: true});
    for (let layer = 0; layer < layers[stack]; layer++) {
      drawLayer(context, stack, layer, {
        x: x + inset,
        y: bottom - (layer + 1) * pitch,
        width: width - 2 * inset,
        pitch,
      });
    }
  }
  drawMemory(context, left, width, bottom, pitch);
  if (context.cameFrom === "black-box") zoom(picture.node, "inward");
  drawEnds(context, left, width, bottom, stackHeight, said);
  picture.describe(
    `${layers.encoder} encoders (${parametersOf(context, "encoder")} parameters) beside ${layers.decoder} decoders ` +
      `(${parametersOf(context, "decoder")} parameters); an arrow leads from the top encoder to every decoder.`,
  );
}

/**
 * @param {ViewContext} context
 * @param {Stack} stack
 * @param {number} layer
 * @param {{x: number, y: number, width: number, pitch: number}} given
 */
function drawLayer(context, stack, layer, {x, y, width, pitch}) {
  const {trace} = context;
  const tokens = trace.tokens(stack).length;
  const parameters = trace.model.parameters.parts[`${stack}.${layer}`] ?? 0;
  const shape = `${tokens} × ${trace.config.d_model}${width > 260 && pitch >= LAYER ? " in and out" : ""}`;
  const note = `${shape} · ${shortCount(parameters)} parameters`;
  const short = width < 200 ? `${shape} · ${shortCount(parameters)}` : note;
  box(context.picture(""), {
    x,
    y,
    width,
    height: pitch - GAP,
    text: `${stack} ${layer}`,
    note: short,
    meaning: stack,
    filled: false,
    size: width < 200 ? 14 : 16,
    onpick: () => context.go("layer", {stack, layer}),
    spoken: `${stack} ${layer}, ${note}: go inside`,
    key: `stack-${stack}-${layer}`,
  });
}

/**
 * The path from the top encoder to every decoder.
 * @param {ViewContext} context
 * @param {Record<Stack, number>} left
 * @param {number} width
 * @param {number} bottom
 * @param {number} pitch
 */
function drawMemory(context, left, width, bottom, pitch) {
  const {trace} = context;
  const picture = context.picture("");
  const top = bottom - trace.layers("encoder") * pitch - 44;
  const way = left.decoder - (context.room < 500 ? 18 : 38);
  const start = left.encoder + width / 2;
  for (let layer = 0; layer < trace.layers("decoder"); layer++) {
    const y = bottom - (layer + 1) * pitch + (pitch - GAP) / 2;
    /** @type {import("../draw/frame.js").Point[]} */
    const points = [
      [start, top],
      [start, top - 22],
      [way, top - 22],
      [way, y],
      [left.decoder + 15, y],
    ];
    arrow(picture, {points, meaning: "encoder", width: 2});
    // Once, when the reader arrives: vectors rise through the encoders, and the top one's go to every decoder.
    if (context.cameFrom !== null) {
      /** @type {import("../draw/frame.js").Point[]} */
      const rise = [[start, bottom + 40], ...points];
      travel(picture, {points: rise, meaning: "encoder", delay: 600 + 120 * layer, duration: 2400});
    }
  }
}

/**
 * What goes in below and comes out above.
 * @param {ViewContext} context
 * @param {Record<Stack, number>} left
 * @param {number} width
 * @param {number} bottom
 * @param {(number: number) => number} stackHeight
 * @param {string[]} said
 */
function drawEnds(context, left, width, bottom, stackHeight, said) {
  const {trace} = context;
  const picture = context.picture("");
  const fed = {encoder: trace.source.tokens, decoder: trace.target.input_tokens};
  for (const stack of /** @type {Stack[]} */ (["encoder", "decoder"])) {
    const middle = left[stack] + width / 2;
    arrow(picture, {
      points: [
        [middle, bottom + 40],
        [middle, bottom + 4],
      ],
      meaning: "x",
      width: 3,
    });
    picture.ruler.wrap(fed[stack].join(" "), width).forEach((text, row) => {
      label(picture, {x: middle, y: bottom + 60 + row * 20, text, anchor: "middle"});
    });
  }
  const middle = left.decoder + width / 2;
  const top = bottom - stackHeight(trace.layers("decoder"));
  arrow(picture, {
    points: [
      [middle, top - 4],
      [middle, top - 34],
    ],
    meaning: "z",
    width: 3,
  });
  said.forEach((text, row) => {
    label(picture, {x: middle, y: top - 44 - (said.length - 1 - row) * 20, text, bold: true, anchor: "middle"});
  });
}

/**
 * The translation, in lines as wide as a stack; a long one is cut off.
 * @param {ViewContext} context
 * @param {number} width
 */
function translationLines(context, width) {
  const {ruler} = context.picture("");
  const {text} = context.trace.target;
  const lines = ruler.wrap(text, width, 14, true).map((line) => ruler.fit(line, width, 14, true));
  return lines.length > MOST_SAID ? [...lines.slice(0, MOST_SAID - 1), `${lines[MOST_SAID - 1]} …`] : lines;
}

/**
 * @param {ViewContext} context
 * @param {Stack} stack
 */
function parametersOf({trace}, stack) {
  let total = 0;
  for (let layer = 0; layer < trace.layers(stack); layer++) {
    total += trace.model.parameters.parts[`${stack}.${layer}`] ?? 0;
  }
  return shortCount(total);
}
