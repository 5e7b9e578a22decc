// Row 14, residuals and layer norm: x, z, x + z and the normalized result; and the dotted lines through whole stacks.

import {arrow} from "../draw/frame.js";
import {coloured, plain, word} from "../context.js";
import {decimal, extent, precise} from "../numbers.js";
import {addsUp} from "./adding_up.js";
import {drawLayer, layerHeight, SUBLAYER_NAMES} from "../draw/layer.js";
import {label} from "../draw/label.js";
import {moments} from "../arithmetic.js";
import {oneOf} from "./choices.js";
import {strip} from "../draw/matrix.js";
import {valueLegend} from "../draw/legend.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {{name: string, sign: string, title: string, note: string, meaning: Meaning}} Line
 */

const FIRST = 6; // numbers that are written out
const DIGITS = 3;
const NUMBER = 60;
const SMALL_ENOUGH = 0.7; // stacked layers may be scaled down so far before only one is shown

/** @type {import("../views.js").View} */
export const residualsView = {
  id: "residuals",
  row: 14,
  title: "Residuals and layer norm",
  pickers: ["stack", "layer", "sublayer", "token"],
  render(context) {
    const {trace, state} = context;
    const {stack, layer, sublayer} = state;
    const token = trace.tokens(stack)[state.token];
    const isPost = trace.config.norm === "post";
    const number = trace.sublayers(stack).indexOf(sublayer) + 1;
    const addNorm = `${stack}.${layer}.add_norm_${number}`;
    const before = trace.array(isPost ? `${addNorm}.sum` : trace.residual(stack, layer, number)).row(state.token);
    const {mean, variance} = moments(before);
    const letter = sublayer === "feed_forward" ? "r" : "z";
    context.lead`What ${plain(SUBLAYER_NAMES[sublayer])} finds for ${word(token)} is added to it:
      ${coloured("x", "x")} + ${coloured(letter, letter)}.`;
    context.say`It does not replace the word. So the word itself, and what earlier layers found, always gets through.`;
    const deviation = Math.sqrt(variance);
    const shift = trace.config.bias ? " and adds a learned bias" : "";
    const norm = `Layer norm brings them to 0 and 1, then multiplies each number by a learned gain${shift}.`;
    if (isPost) {
      context.say`Then the sum is normalized. Its ${trace.config.d_model} numbers have mean ${decimal(mean, 3)} and
        standard deviation ${decimal(deviation, 3)}. ${plain(norm)}`;
    } else {
      context.say`This model normalizes x before ${SUBLAYER_NAMES[sublayer]} (pre-norm). Its ${trace.config.d_model}
        numbers have mean ${decimal(mean, 3)} and standard deviation ${decimal(deviation, 3)}. ${plain(norm)} The sum
        itself is passed on unchanged.`;
    }
    const shows = context.option("residuals-of", "vectors");
    context.controls(
      oneOf({
        title: "Show",
        key: "choice-residuals-of",
        choices: [
          {value: "vectors", text: "this token"},
          {value: "stacks", text: "the dotted lines"},
        ],
        current: shows,
        onpick: (value) => context.setOption("residuals-of", value === "vectors" ? null : value),
      }),
    );
    if (shows === "stacks") drawStacks(context);
    else drawStrips(context, linesOf(context, number));
  },
};

/**
 * What is shown, in the order of this model's computation.
 * @param {ViewContext} context
 * @param {number} number of the sub-layer
 * @returns {Line[]}
 */
function linesOf({trace, state}, number) {
  const {stack, layer, sublayer} = state;
  const addNorm = `${stack}.${layer}.add_norm_${number}`;
  const found = `${stack}.${layer}.${sublayer}.output`;
  const isThought = sublayer === "feed_forward";
  const z = isThought ? "r" : "z";
  /** @type {Line} */
  const x = {
    name: trace.residual(stack, layer, number),
    sign: "",
    title: "x",
    note: "bypasses the sub-layer on the dotted line",
    meaning: "x",
  };
  /** @type {(sign: string) => Line} */
  const result = (sign) => ({
    name: found,
    sign,
    title: z,
    note: `the output of ${SUBLAYER_NAMES[sublayer]}`,
    meaning: isThought ? "r" : "z",
  });
  /** @type {Line} */
  const sum = {
    name: `${addNorm}.sum`,
    sign: "=",
    title: `x + ${z}`,
    note: "added, number by number",
    meaning: "neutral",
  };
  if (trace.config.norm === "post") {
    return [
      x,
      result("+"),
      sum,
      {name: `${addNorm}.output`, sign: "→", title: "LayerNorm", note: "normalized, then passed on", meaning: "x"},
    ];
  }
  return [
    {...x, note: "bypasses the sub-layer on the dotted line, and is normalized"},
    {
      name: `${addNorm}.normed`,
      sign: "→",
      title: "LayerNorm",
      note: `normalized: the input of ${SUBLAYER_NAMES[sublayer]}`,
      meaning: "neutral",
    },
    result("→"),
    {...sum, note: "added to the x above, then passed on", meaning: "x"},
  ];
}

/**
 * @param {ViewContext} context
 * @param {Line[]} lines
 */
function drawStrips(context, lines) {
  const {trace, state, room} = context;
  const picture = context.picture("x, z, x + z and the layer norm, as strips");
  const narrow = room < 560;
  const left = narrow ? 0 : 146;
  const besideWidth = FIRST * NUMBER;
  const beside = room >= left + 240 + besideWidth;
  const width = Math.max(240, beside ? room - left - besideWidth - 24 : room - left);
  const vectors = lines.map(({name}) => trace.array(name).row(state.token));
  const largest = Math.max(...vectors.map((vector) => extent(vector).size));
  if (beside) {
    const x = left + width + 24;
    label(picture, {x, y: 16, text: `the first ${FIRST} of ${trace.config.d_model} numbers`, size: 13, quiet: true});
  }
  const written = addingUp(lines, vectors);
  let y = narrow ? 26 : 30;
  lines.forEach(({sign, title, note, meaning}, index) => {
    const vector = vectors[index];
    if (narrow) label(picture, {x: 0, y: y - 8, text: `${sign} ${title}`.trim(), size: 16, bold: true, meaning});
    else {
      label(picture, {x: 0, y: y + 27, text: sign, size: 22, quiet: true});
      label(picture, {x: left - 14, y: y + 26, text: title, size: 17, bold: true, anchor: "end", meaning});
    }
    const cells = {values: vector, largest, meaning, name: title, cellHeight: 38};
    strip(picture, {...cells, x: left, y, width, key: `residual-${index}`});
    const exact = vector.subarray(0, FIRST);
    const first = {...cells, values: written[index] ?? exact, cellWidth: NUMBER, digits: DIGITS};
    const describe = (/** @type {number} */ at) => [`${title}, number ${at}`, precise(exact[at])];
    if (beside) strip(picture, {...first, describe, x: left + width + 24, y, key: `residual-first-${index}`});
    const {mean, variance} = moments(vector);
    const numbers = `mean ${decimal(mean, 2)}, standard deviation ${decimal(Math.sqrt(variance), 2)}`;
    const remarks = narrow ? [note, numbers] : [`${note} · ${numbers}`];
    remarks.forEach((text, row) => label(picture, {x: left, y: y + 57 + row * 18, text, size: 13, quiet: true}));
    y += narrow ? 112 : 84;
  });
  valueLegend(picture, {x: left, y: narrow ? y - 16 : y, largest});
  picture.describe(
    lines
      .map(({title}, index) => {
        const {mean, variance} = moments(vectors[index]);
        return `${title}: mean ${decimal(mean, 3)}, standard deviation ${decimal(Math.sqrt(variance), 3)}`;
      })
      .join("; "),
  );
}

/**
 * The first numbers of x, what is added to it and the sum, rounded so that they add up as they are shown.
 * @param {Line[]} lines
 * @param {ArrayLike<number>[]} vectors
 * @returns {Record<number, number[]>} by line
 */
export function addingUp(lines, vectors) {
  const sum = lines.findIndex(({sign}) => sign === "=");
  const added = lines.findIndex(({name}) => name.endsWith(".output") && !name.includes("add_norm"));
  /** @type {Record<number, number[]>} */
  const written = {0: [], [added]: [], [sum]: []};
  for (let at = 0; at < FIRST; at++) {
    const total = Number(vectors[sum][at].toFixed(DIGITS));
    const [x, found] = addsUp([vectors[0][at], vectors[added][at]], total, DIGITS);
    written[0].push(x);
    written[added].push(found);
    written[sum].push(total);
  }
  return written;
}

/**
 * Two stacked encoders and decoders (or as many as fit) with their dotted residual lines.
 * @param {ViewContext} context
 */
function drawStacks(context) {
  const {trace, state} = context;
  const picture = context.picture("The dotted residual lines through stacked layers");
  const both = context.room >= 500;
  const between = 60;
  const width = both ? Math.min(320, (context.room - between) / 2) : Math.min(320, context.room);
  /** @type {Stack[]} */
  const stacks = both ? ["encoder", "decoder"] : [state.stack];
  const space = 20;
  const pitch = Math.max(...stacks.map((stack) => layerHeight(trace, stack, true) + space));
  const number = Math.max(1, Math.min(2, Math.floor(context.tall / SMALL_ENOUGH / pitch)));
  const bottom = 24 + Math.max(...stacks.map((stack) => layersShown(context, stack, number).length)) * pitch;
  picture.describe(
    `${number === 1 ? "One layer" : "Two layers"} of ${stacks.join(" and ")}; a dotted line carries x around every ` +
      `sub-layer, whose result is added to it.`,
  );
  let memoryStart = 0;
  stacks.forEach((stack, index) => {
    const x = index * (width + between);
    let y = bottom;
    for (const layer of layersShown(context, stack, number)) {
      const {box, memory} = drawLayer(picture, {
        trace,
        stack,
        layer,
        x,
        bottom: y,
        width,
        compact: true,
        current: state.stack === stack && state.layer === layer ? state.sublayer : undefined,
        onpick: (sublayer) => context.update({stack, layer, sublayer}),
      });
      y = box.y - space;
      if (stack === "encoder") memoryStart = box.y;
      if (memory && both) {
        const way = x - between / 2;
        const start = width / 2;
        arrow(picture, {
          points: [
            [start, memoryStart - 8],
            [start, memoryStart - 16],
            [way, memoryStart - 16],
            [way, memory[1]],
            memory,
          ],
          meaning: "encoder",
        });
      }
    }
    const fed = stack === "encoder" ? "the embedded source" : "the embedded target";
    arrow(picture, {
      points: [
        [x + width / 2, bottom + 24],
        [x + width / 2, bottom + 2],
      ],
      meaning: "x",
      width: 3,
    });
    label(picture, {x: x + width / 2, y: bottom + 42, text: fed, size: 13, quiet: true, anchor: "middle"});
  });
}

/**
 * The chosen layer and, if two fit, a neighbour, from the bottom up.
 * @param {ViewContext} context
 * @param {Stack} stack
 * @param {number} number
 */
function layersShown({trace, state}, stack, number) {
  const count = trace.layers(stack);
  if (Math.min(number, count) === 1) return [Math.min(state.layer, count - 1)];
  const first = Math.min(state.layer, count - 2);
  return [first, first + 1];
}
