// Row 3, inside a layer: its sub-layers, and add & normalize around each, in this model's order.

import {arrow} from "../draw/frame.js";
import {dot} from "../arithmetic.js";
import {decimal, percent, shortCount} from "../numbers.js";
import {plain} from "../context.js";
import {drawLayer, layerHeight} from "../draw/layer.js";
import {element} from "../dom.js";
import {label} from "../draw/label.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../trace.js").Sublayer} Sublayer
 * @typedef {import("../trace.js").Tensor} Tensor
 */

/** @type {import("../views.js").View} */
export const layerView = {
  id: "layer",
  row: 3,
  title: "Inside a layer",
  pickers: ["stack", "layer"],
  render(context) {
    const {trace} = context;
    const {stack, layer} = context.state;
    const order =
      trace.config.norm === "post"
        ? "This model adds first and then normalizes, as in the paper (post-norm)."
        : "Unlike the paper, this model normalizes before each sub-layer (pre-norm) and once more after each stack.";
    context.lead`In self-attention words look at each other; the feed-forward network works on each word alone.`;
    context.say`A decoder has a third sub-layer between these two, which looks at the source. Click a sub-layer to open
      it.`;
    const input = trace.array(trace.layerInput(stack, layer));
    context.say`The dotted lines carry each word around a sub-layer, whose result is then added to it. ${plain(order)}`;
    if (context.inside(`${stack}.${layer}`)) {
      const change = trace.array(`${stack}.${layer}.self_attention.output`);
      context.say`In ${`${stack} ${layer}`}, the vector that self-attention adds is on average
        ${percent(typicalLength(change) / typicalLength(input))} as long as the word's own.`;
    }
    draw(context);
  },
};

/** @param {ViewContext} context */
function draw(context) {
  const {trace, state} = context;
  const picture = context.picture("The parts of an encoder and a decoder layer");
  const both = context.room >= 640;
  const width = both ? Math.min(400, (context.room - 70) / 2) : Math.min(400, Math.max(300, context.room));
  /** @type {Stack[]} */
  const shown = both ? ["encoder", "decoder"] : [state.stack];
  const heightOf = (/** @type {boolean} */ isCompact) =>
    20 + Math.max(...shown.map((stack) => layerHeight(trace, stack, isCompact)));
  const compact = heightOf(false) + 30 > context.tall;
  const bottom = heightOf(compact);
  shown.forEach((stack, index) => {
    const x = index * (width + 70);
    const layer = Math.min(state.layer, trace.layers(stack) - 1);
    const {memory, box} = drawLayer(picture, {
      trace,
      stack,
      layer,
      x,
      bottom,
      width,
      compact,
      current: stack === state.stack ? state.sublayer : undefined,
      note: (part) => noteOf(context, stack, layer, part),
      beside: (part) => lengthAfter(context, stack, layer, part),
      onpick: (sublayer) => open(context, stack, layer, sublayer),
    });
    if (memory) {
      const start = both ? box.x - 70 : box.x - 6;
      arrow(picture, {points: [[start + (both ? 12 : 0), memory[1]], memory], meaning: "encoder"});
      if (both) label(picture, {x: start + 6, y: memory[1] - 8, text: "from the", size: 12, quiet: true});
      if (both) label(picture, {x: start + 6, y: memory[1] + 18, text: "encoders", size: 12, quiet: true});
    }
    label(picture, {
      x: x + width / 2 + 10,
      y: bottom + 18,
      text: `x, length ${decimal(typicalLength(trace.array(trace.layerInput(stack, layer))), 1)}`,
      size: 12,
      quiet: true,
    });
    arrow(picture, {
      points: [
        [x + width / 2, bottom + 24],
        [x + width / 2, bottom],
      ],
      meaning: "x",
      head: false,
    });
  });
  picture.describe(
    shown
      .map((stack) => `${stack}: ${trace.sublayers(stack).join(", then ").replaceAll("_", " ")}`)
      .join("; ")
      .concat(trace.config.norm === "post" ? "; add and normalize after each." : "; normalize before each, add after."),
  );
  context.note(lengthRemark());
}

function lengthRemark() {
  return element(
    "p",
    {class: "remark"},
    "“Length” is the length of a word's vector at that point, averaged over your sentence. ",
    "Click a sub-layer to open it.",
  );
}

/**
 * @param {ViewContext} context
 * @param {Stack} stack
 * @param {number} layer
 * @param {import("../draw/layer.js").Part} part
 */
function noteOf({trace}, stack, layer, {kind}) {
  const parameters = trace.model.parameters.parts[`${stack}.${layer}.${kind}`];
  const {heads, d_k, d_model, d_ff} = trace.config;
  const shape = kind === "feed_forward" ? `${d_model} → ${d_ff} → ${d_model}` : `${heads} heads × ${d_k}`;
  return parameters ? `${shape} · ${shortCount(parameters)} parameters` : shape;
}

/**
 * @param {ViewContext} context
 * @param {Stack} stack
 * @param {number} layer
 * @param {import("../draw/layer.js").Part} part
 */
function lengthAfter({trace}, stack, layer, {kind, number}) {
  const ends = {norm: "normed", add: "sum", "add-norm": "output"};
  const name =
    kind === "norm" || kind === "add" || kind === "add-norm"
      ? `${stack}.${layer}.add_norm_${number}.${ends[kind]}`
      : `${stack}.${layer}.${kind}.output`;
  return trace.has(name) ? `length ${decimal(typicalLength(trace.array(name)), 1)}` : "";
}

/**
 * The mean length of the vectors in the rows.
 * @param {Tensor} tensor
 */
function typicalLength(tensor) {
  const [rows] = tensor.shape;
  let sum = 0;
  for (let row = 0; row < rows; row++) {
    const vector = tensor.row(row);
    sum += Math.sqrt(dot(vector, vector));
  }
  return sum / rows;
}

/**
 * @param {ViewContext} context
 * @param {Stack} stack
 * @param {number} layer
 * @param {Sublayer} sublayer
 */
function open(context, stack, layer, sublayer) {
  context.go(sublayer === "feed_forward" ? "feed-forward" : "attention", {stack, layer, sublayer});
}
