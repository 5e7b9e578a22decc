// Row 21, greedy and beam search: every partial translation that was kept or dropped, and why.

import {shades} from "../colour.js";
import {element, shape} from "../dom.js";
import {decimal, percent, precise, quoted} from "../numbers.js";
import {plain} from "../context.js";
import {label} from "../draw/label.js";
import {pressable, readable} from "../draw/reading.js";
import {inRow} from "./live.js";
import {compareSearches, searchSettings} from "./search_again.js";
import {endOf, isGreedy, searchTree, wayTo} from "./search_tree.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./search_tree.js").TreeNode} TreeNode
 * @typedef {import("../trace.js").Fate} Fate
 */

const COLUMN = 124;
const NODE = 98;
const ROW = 46;
const TOP = 34;
const MOST_STEPS = 40; // side by side; longer searches are shown in parts

/** @type {Record<Fate, string>} */
const FATES = {
  kept: "kept",
  finished: "finished: set aside as a complete translation",
  pruned: "pruned",
  dropped: "not taken",
  stopped: "stopped: the search had ended",
};

/** @type {import("../views.js").View} */
export const searchView = {
  id: "search",
  row: 21,
  title: "Greedy and beam search",
  pickers: [],
  render(context) {
    const {search} = context.trace;
    const columns = searchTree(search);
    const chosen = chosenNode(context, columns);
    speak(context, columns);
    context.controls(searchSettings(context), ...parts(context, columns.length));
    draw(context, columns, chosen);
    compareSearches(context);
  },
};

/**
 * The node the reader picked, or the end of the best translation.
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 */
function chosenNode(context, columns) {
  const [step, row] = context.option("node", "").split(".").map(Number);
  return columns[step]?.[row] ?? endOf(columns, 0);
}

/**
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 */
function speak(context, columns) {
  const {search} = context.trace;
  const [best, second] = search.results;
  if (!best) {
    context.say`The search returned no translation.`;
    return;
  }
  if (search.kind === "sample") {
    context.say`This translation was sampled: each word was drawn at random, according to its probability, in
      ${search.results.length} independent ${plain(search.results.length === 1 ? "draw" : "draws")}. Below each drawn
      word are the most probable ones that were not drawn.`;
    return;
  }
  const way = wayTo(endOf(columns, 0));
  const worst = way.reduce((most, node) => Math.max(most, node.candidate.rank), 0);
  if (search.beam_size === 1) {
    context.say`Greedy search keeps only the most probable word at each step and drops all others at once. It wrote
      ${quoted(best.text)}, with a score of ${decimal(best.score, 3)}.`;
    return;
  }
  context.say`Always taking the best next word can miss the best sentence. So beam search keeps ${search.beam_size}
    partial translations at each step (beam_size) and returns ${search.top_beams} at the end (top_beams). A score is the
    sum of log-probabilities ${plain(penaltyWords(search))}.`;
  context.say`The best is ${quoted(best.text)}, with a score of ${decimal(best.score, 3)}${plain(
    second ? `, ${decimal(best.score - second.score, 3)} ahead of ${quoted(second.text)}` : "",
  )}. ${plain(
    isGreedy(way, search)
      ? "Each of its words was the best continuation, so greedy search would have found it too."
      : `Greedy search would have missed it: not each of its words was the best continuation${
          worst ? `, and at one step it was only number ${worst + 1}` : ""
        }.`,
  )}`;
}

/** @param {import("../trace.js").Search} search */
function penaltyWords({penalty, alpha}) {
  if (alpha === 0) return "without a length penalty (alpha 0)";
  if (penalty === "gnmt") return `divided by ((5 + length) / 6) to the power ${alpha} (GNMT's penalty)`;
  return alpha === 1 ? "divided by the length" : `divided by the length to the power ${alpha}`;
}

/**
 * Which steps are shown, if there are too many.
 * @param {ViewContext} context
 * @param {number} steps
 */
function shownSteps(context, steps) {
  const pages = Math.ceil(steps / MOST_STEPS);
  const asked = Number(context.option("part", "0"));
  const page = Math.max(0, Math.min(pages - 1, Number.isInteger(asked) ? asked : 0));
  return {first: page * MOST_STEPS, last: Math.min(steps, (page + 1) * MOST_STEPS), page, pages};
}

/**
 * @param {ViewContext} context
 * @param {number} steps
 * @returns {HTMLElement[]}
 */
function parts(context, steps) {
  const {first, last, page, pages} = shownSteps(context, steps);
  if (pages < 2) return [];
  /** @type {(text: string, to: number) => HTMLElement} */
  const button = (text, to) =>
    element(
      "button",
      {
        type: "button",
        disabled: to < 0 || to >= pages,
        "data-key": `search-part-${text}`,
        onclick: () => context.setOption("part", String(to)),
      },
      text,
    );
  return [
    inRow(button("◀ earlier", page - 1), `steps ${first + 1} to ${last} of ${steps}`, button("later ▶", page + 1)),
  ];
}

/**
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 * @param {TreeNode | null} chosen
 */
function draw(context, columns, chosen) {
  const {trace} = context;
  const {search} = trace;
  const picture = context.picture("The search as a tree");
  const below = drawResults(context, columns, chosen);
  const {first, last} = shownSteps(context, columns.length);
  const shown = columns.slice(first, last);
  const rows = Math.max(1, ...shown.map((column) => column.length));
  const way = new Set(wayTo(chosen));
  const top = below + TOP + 26;
  /** @param {TreeNode} node */
  const place = (node) => ({x: (node.step - first) * COLUMN, y: top + node.row * ROW});
  label(picture, {x: 0, y: below + 16, text: "the search, step by step", bold: true, size: 15});
  legend(context, below + 16);
  shown.forEach((_, column) => {
    label(picture, {
      x: column * COLUMN + NODE / 2,
      y: top - 10,
      text: `step ${first + column + 1}`,
      size: 13,
      quiet: true,
      anchor: "middle",
    });
  });
  for (const isWay of [false, true]) {
    for (const node of shown.flat()) {
      if (way.has(node) !== isWay || !node.parent || node.parent.step < first) continue;
      drawLink(context, place(node.parent), place(node), isWay, node.candidate.fate);
    }
  }
  for (const node of shown.flat()) drawNode(context, node, place(node), way.has(node));
  readable(picture, {
    x: -(COLUMN - NODE) / 2,
    y: top,
    rows,
    columns: shown.length,
    cellWidth: COLUMN,
    cellHeight: ROW,
    label: `The search: ${columns.length} steps with up to ${rows} candidates each`,
    describe: (row, column) => {
      const node = shown[column][row];
      return node ? describe(context, node) : ["no candidate here"];
    },
    onpick: (row, column) => {
      if (shown[column][row]) context.setOption("node", `${first + column}.${row}`);
    },
    key: "search-tree",
  });
  if (chosen) drawChosen(context, chosen, top + rows * ROW + 26);
  const best = search.results[0];
  picture.describe(
    `${columns.length} steps with beam_size ${search.beam_size}. Returned: ${search.results
      .filter(({returned}) => returned)
      .map(({text, score}) => `“${text}” with score ${decimal(score, 3)}`)
      .join("; ")}.${best ? "" : " Nothing was found."}`,
  );
}

/**
 * The translations, best first. Gives the lower edge.
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 * @param {TreeNode | null} chosen
 */
function drawResults(context, columns, chosen) {
  const {trace, room} = context;
  const {search} = trace;
  const picture = context.picture("");
  const width = Math.min(room, 860);
  const {strong, soft} = shades("decoder", picture.theme);
  label(picture, {
    x: 0,
    y: 16,
    text: search.kind === "sample" ? "the draws" : "complete translations, best first",
    bold: true,
    size: 15,
  });
  label(picture, {x: width, y: 16, text: "score", size: 13, quiet: true, anchor: "end"});
  search.results.forEach((result, index) => {
    const y = 28 + index * 38;
    const end = endOf(columns, index);
    const fate = result.returned ? "returned" : "not returned";
    const group = picture.group({}, () => {
      picture.add(
        shape("rect", {
          x: 0,
          y,
          width,
          height: 34,
          rx: 8,
          class: result.returned ? "" : "paper",
          fill: result.returned ? soft : null,
          stroke: end && end === chosen ? strong : shades("neutral", picture.theme).soft,
          "stroke-width": end && end === chosen ? 3 : 1.5,
        }),
        {x: 0, y, width, height: 34},
      );
      const note = `${fate}${result.finished ? "" : ", not finished"}`;
      const isWide = width > 560;
      label(picture, {
        x: 12,
        y: y + 22,
        text: picture.ruler.fit(result.text, width - (isWide ? 250 : 90), 15, result.returned),
        size: 15,
        bold: result.returned,
      });
      if (isWide) label(picture, {x: width - 84, y: y + 22, text: note, size: 13, quiet: true, anchor: "end"});
      label(picture, {
        x: width - 12,
        y: y + 22,
        text: decimal(result.score, 3),
        size: 15,
        anchor: "end",
        numeric: true,
        bold: result.returned,
      });
    });
    if (end) {
      pressable(picture, group, {
        label: `${result.text}, score ${decimal(result.score, 3)}, ${fate}: show its path`,
        onpick: () => context.setOption("node", `${end.step}.${end.row}`),
        key: `search-result-${index}`,
        current: end === chosen,
      });
    }
  });
  return 28 + search.results.length * 38 + 20;
}

/**
 * @param {ViewContext} context
 * @param {number} y
 */
function legend(context, y) {
  if (context.room < 640) return;
  const picture = context.picture("");
  let x = 224;
  for (const fate of /** @type {Fate[]} */ (["kept", "finished", "pruned"])) {
    const look = lookOf(context, fate);
    picture.add(shape("rect", {x, y: y - 13, width: 26, height: 17, rx: 5, ...look}));
    label(picture, {
      x: x + 34,
      y,
      text: context.trace.search.kind === "sample" && fate === "pruned" ? "not drawn" : fate,
      size: 13,
      quiet: true,
    });
    x += 104;
  }
  if (context.trace.search.kind === "beam") {
    label(picture, {x, y, text: "(−…) behind the last one kept", size: 13, quiet: true});
  }
}

/**
 * @param {ViewContext} context
 * @param {Fate} fate
 */
function lookOf({theme}, fate) {
  const [decoder, encoder, neutral] = [shades("decoder", theme), shades("encoder", theme), shades("neutral", theme)];
  if (fate === "finished") return {fill: encoder.soft, stroke: encoder.strong, "stroke-width": 2};
  if (fate === "kept" || fate === "stopped") return {fill: decoder.soft, stroke: decoder.strong, "stroke-width": 1.5};
  return {fill: neutral.soft, stroke: neutral.strong, "stroke-width": 1, "stroke-dasharray": "4 3"};
}

/**
 * @param {ViewContext} context
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 * @param {boolean} isWay
 * @param {Fate} fate
 */
function drawLink(context, from, to, isWay, fate) {
  const picture = context.picture("");
  const [x0, y0] = [from.x + NODE, from.y + 19];
  const [x1, y1] = [to.x, to.y + 19];
  const bend = (x1 - x0) / 2;
  const isAlive = fate !== "pruned" && fate !== "dropped";
  picture.add(
    shape("path", {
      d: `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`,
      fill: "none",
      stroke: shades(isWay || isAlive ? "decoder" : "neutral", context.theme).strong,
      "stroke-width": isWay ? 4 : isAlive ? 2 : 1,
      opacity: isWay || isAlive ? 1 : 0.45,
    }),
  );
}

/**
 * @param {ViewContext} context
 * @param {TreeNode} node
 * @param {{x: number, y: number}} place
 * @param {boolean} isWay
 */
function drawNode(context, node, {x, y}, isWay) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const {candidate} = node;
  const isAlive = candidate.fate !== "pruned" && candidate.fate !== "dropped";
  const look = lookOf(context, candidate.fate);
  const area = {x, y, width: NODE, height: 38};
  picture.add(shape("rect", {...area, rx: 8, ...look, ...(isWay ? {"stroke-width": 3.5} : {})}), area);
  const text = `${candidate.fate === "finished" ? "✓ " : ""}${trace.vocabulary[candidate.id]}`;
  label(picture, {
    x: x + NODE / 2,
    y: y + 17,
    text: picture.ruler.fit(text, NODE - 10, 14, isAlive),
    size: 14,
    bold: isAlive,
    quiet: !isAlive,
    anchor: "middle",
  });
  const number = candidate.chance !== undefined ? percent(candidate.chance) : decimal(candidate.score, 2);
  const margin =
    candidate.margin !== null && candidate.margin !== undefined ? ` (−${decimal(candidate.margin, 2)})` : "";
  label(picture, {
    x: x + NODE / 2,
    y: y + 32,
    text: `${number}${margin}`,
    size: 12,
    quiet: true,
    anchor: "middle",
    numeric: true,
    colour: isWay ? shades("decoder", theme).ink : undefined,
  });
}

/**
 * @param {ViewContext} context
 * @param {TreeNode} node
 */
function describe({trace}, node) {
  const {candidate} = node;
  const text = wayTo(node)
    .map((one) => trace.vocabulary[one.candidate.id])
    .join(" ");
  const lines = [
    `“${text}”`,
    `log-probability of “${trace.vocabulary[candidate.id]}” ${precise(candidate.log_prob)}`,
    `total ${precise(candidate.total)}, score ${precise(candidate.score)}`,
    `rank ${candidate.rank + 1}: ${FATES[candidate.fate]}`,
  ];
  if (candidate.margin !== null && candidate.margin !== undefined) {
    lines.push(`${precise(candidate.margin)} behind the last one kept`);
  }
  if (candidate.chance !== undefined) lines.push(`probability of being drawn ${precise(candidate.chance)}`);
  return lines;
}

/**
 * The chosen hypothesis in words and numbers, below the tree.
 * @param {ViewContext} context
 * @param {TreeNode} node
 * @param {number} y
 */
function drawChosen(context, node, y) {
  const picture = context.picture("");
  const [text, ...numbers] = describe(context, node);
  const width = Math.max(280, Math.min(context.room, 860));
  label(picture, {x: 0, y, text: picture.ruler.fit(text, width, 16, true), size: 16, bold: true});
  numbers.forEach((line, index) => {
    label(picture, {x: 0, y: y + 24 + index * 20, text: line, size: 14, quiet: true, numeric: true});
  });
}
