// Row 1, the black box: a sentence goes in, its translation comes out.

import {percent, quoted, scoreText} from "../numbers.js";
import {plain} from "../context.js";
import {arrow, box} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {zoom} from "../draw/motion.js";
import {sentenceForm} from "../shell/start.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/** @type {import("../views.js").View} */
export const blackBoxView = {
  id: "black-box",
  row: 1,
  title: "The black box",
  pickers: [],
  render(context) {
    const {trace} = context;
    const result = trace.search.results[0];
    context.lead`A sentence goes in and its translation comes out. Click the box to see what happens between.`;
    context.say`You gave ${trace.model.name} the sentence ${quoted(trace.source.text)}, and it answered
      ${quoted(trace.target.text)}.`;
    if (result) {
      const total = result.log_probs.reduce((sum, value) => sum + value, 0);
      const probability = Math.max(Math.exp(total), Number.MIN_VALUE);
      context.say`Among all the sentences it could have written, this one has a probability of ${percent(probability)}
        (log-probability ${scoreText(total)}; with the length penalty, a score of ${scoreText(result.score)}). The
        next views open the box.`;
    }
    if (context.translate && context.request) {
      context.controls(sentenceForm({models: context.models, request: context.request, translate: context.translate}));
    } else {
      context.controls(context.needsStudio("translate a sentence of your own"));
    }
    if (trace.seen) context.say`${plain(SEEN[trace.seen])}`;
    draw(context);
  },
};

const SEEN = {
  training: "This sentence was in the training data.",
  "held out": "The model never saw this sentence in training.",
};

/** @param {ViewContext} context */
function draw(context) {
  const {trace, room} = context;
  const picture = context.picture("The translator as a black box");
  if (context.cameFrom === "stacks") zoom(picture.node, "outward");
  picture.describe(`“${trace.source.text}” goes into the box and “${trace.target.text}” comes out.`);
  const size = 20;
  const boxWidth = 200;
  const sides = [picture.ruler.width(trace.source.text, size), picture.ruler.width(trace.target.text, size, true)];
  const fits = sides[0] + sides[1] + boxWidth + 140 <= room;
  const name = "the Transformer";
  if (fits) {
    const y = 24;
    const left = sides[0] + 70;
    label(picture, {x: 0, y: y + 52, text: trace.source.text, size});
    arrow(picture, {
      points: [
        [sides[0] + 14, y + 45],
        [left, y + 45],
      ],
      meaning: "x",
      width: 3,
    });
    box(picture, {
      x: left,
      y,
      width: boxWidth,
      height: 90,
      text: name,
      note: trace.model.name,
      size: 19,
      ...inside(context),
    });
    arrow(picture, {
      points: [
        [left + boxWidth, y + 45],
        [left + boxWidth + 56, y + 45],
      ],
      meaning: "z",
      width: 3,
    });
    label(picture, {x: left + boxWidth + 70, y: y + 52, text: trace.target.text, size, bold: true});
    return;
  }
  const width = Math.min(room, Math.max(sides[0], sides[1], boxWidth) + 20);
  const middle = width / 2;
  /** @type {(text: string, y: number, bold: boolean) => number} */
  const write = (text, y, bold) => {
    const rows = picture.ruler.wrap(text, width, size, bold);
    rows.forEach((row, index) =>
      label(picture, {x: middle, y: y + index * 28, text: row, size, bold, anchor: "middle"}),
    );
    return y + (rows.length - 1) * 28;
  };
  const y = write(trace.source.text, 24, false);
  arrow(picture, {
    points: [
      [middle, y + 14],
      [middle, y + 58],
    ],
    meaning: "x",
    width: 3,
  });
  const area = {x: middle - boxWidth / 2, y: y + 60, width: boxWidth, height: 90};
  box(picture, {...area, text: name, note: trace.model.name, size: 19, ...inside(context)});
  arrow(picture, {
    points: [
      [middle, y + 150],
      [middle, y + 194],
    ],
    meaning: "z",
    width: 3,
  });
  write(trace.target.text, y + 222, true);
}

/**
 * @param {ViewContext} context
 * @returns {{onpick: () => void, spoken: string}}
 */
function inside(context) {
  return {onpick: () => context.go("stacks"), spoken: "Open the box"};
}
