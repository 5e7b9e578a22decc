// Row 21, greedy and beam search: every partial translation that was kept or dropped, and why.

import {shades} from "../colour.js";
import {element, shape} from "../dom.js";
import {decimal, percent, precise, quoted, scoreText, significant} from "../numbers.js";
import {plain} from "../context.js";
import {label} from "../draw/label.js";
import {fadeIn, wantsStillness} from "../draw/motion.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {readable} from "../draw/reading.js";
import {menuOf} from "../shell/pickers.js";
import {compareSearches, searchSettings} from "./search_again.js";
import {endOf, isGreedy, searchTree, wayTo} from "./search_tree.js";
import {followReference} from "./reference_way.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./search_tree.js").TreeNode} TreeNode
 * @typedef {import("../trace.js").Fate} Fate
 */

const MOST_STEPS = 18; // above each other; longer searches are shown in parts
const TITLES = 30; // the legend above the tree
const STEP = 54; // the names of the steps at the left
const HIGHEST = 46; // of a step, if there is room; the node takes most of it
const LOWEST = 24;
const WIDEST = 150; // of a candidate
const SMALLEST_WORD = 0.8; // of its letters: so small a word becomes, before it is cut to make room for its score
const LEAST_WORD = 2.5; // heights of a letter: so much of a word is shown beside a score

/** @typedef {{x: number, y: number, width: number, height: number}} Place of a node */

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
    searchSettings(context);
    const grown = grownSteps(context, columns.length);
    context.controls(
      context.player.controls(context, {
        key: "search-grow",
        frame: grown - 1,
        frames: columns.length,
        pause: wantsStillness() ? 1400 : 700,
        show: (step) => {
          const grows = step + 1 < columns.length ? String(step + 1) : null;
          const page = Math.floor(step / MOST_STEPS);
          context.update({options: {grown: grows, part: page ? String(page) : null}}, {replace: true});
        },
      }),
      ...parts(context, columns.length),
    );
    draw(context, columns, chosen);
    listResults(context, columns, chosen);
    compareSearches(context);
    followReference(context);
  },
};

/**
 * How many steps the tree has grown: all of them, unless the reader lets it grow.
 * @param {ViewContext} context
 * @param {number} steps
 */
function grownSteps(context, steps) {
  const asked = Number(context.option("grown", String(steps)));
  return Number.isInteger(asked) ? Math.max(1, Math.min(steps, asked)) : steps;
}

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
    context.lead`This translation was sampled: each word was drawn at random, according to its probability.`;
    const draws = search.results.length;
    const made = draws === 1 ? "was one draw" : `were ${draws} independent draws`;
    context.say`There ${plain(made)}. Below each drawn word are the most probable ones that were not drawn.`;
    return;
  }
  const way = wayTo(endOf(columns, 0));
  const worst = way.reduce((most, node) => Math.max(most, node.candidate.rank), 0);
  if (search.beam_size === 1) {
    context.lead`Greedy search keeps only the most probable word at each step and drops all others at once.`;
    context.say`It wrote ${quoted(best.text)}, with a score of ${scoreText(best.score)}.`;
    return;
  }
  context.lead`The best next word can miss the best sentence, so beam search keeps ${search.beam_size} partial
    translations at each step.`;
  context.say`It keeps beam_size of them and returns ${search.top_beams} at the end (top_beams). A score is the sum of
    log-probabilities ${plain(penaltyWords(search))}.`;
  context.say`The best is ${quoted(best.text)}, with a score of ${scoreText(best.score)}${plain(
    second ? `, ${scoreText(best.score - second.score)} ahead of ${quoted(second.text)}` : "",
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
  const {page, pages} = shownSteps(context, steps);
  if (pages < 2) return [];
  const place = (/** @type {number} */ part) =>
    `steps ${part * MOST_STEPS + 1}–${Math.min(steps, (part + 1) * MOST_STEPS)}`;
  return [
    element(
      "label",
      {class: "picker-line picker-menu"},
      menuOf({
        title: "Which steps are shown",
        key: "search-part",
        texts: Array.from({length: pages}, (_, part) => place(part)),
        place: page,
        onpick: (part) => context.setOption("part", part ? String(part) : null),
      }),
    ),
  ];
}

/**
 * The tree, which grows from top to bottom: a line for each step, its candidates side by side.
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 * @param {TreeNode | null} chosen
 */
function draw(context, columns, chosen) {
  const {search} = context.trace;
  const picture = context.picture("The search as a tree");
  const {first, last} = shownSteps(context, columns.length);
  const steps = columns.slice(first, last).map((column) => shownOf(context, column));
  const most = Math.max(1, ...steps.map((column) => column.length));
  const way = new Set(wayTo(chosen));
  const {height: pitch} = rowsThatFit(steps.length, context.tall - TITLES - 6, {high: HIGHEST, low: LOWEST});
  const left = context.room < 600 ? 26 : STEP;
  const width = Math.min(WIDEST, (context.room - left) / most);
  const inner = width - Math.min(8, width * 0.08);
  /** @type {Map<TreeNode, Place>} */
  const places = new Map();
  const grown = grownSteps(context, columns.length);
  steps.forEach((column, step) => {
    if (first + step >= grown) return;
    column.forEach((node, row) => {
      const y = TITLES + step * pitch;
      places.set(node, {x: left + row * width, y, width: inner, height: pitch * 0.72});
    });
  });
  legend(context, 16);
  steps.forEach((_, step) => {
    const text = context.room < 600 ? String(first + step + 1) : `step ${first + step + 1}`;
    label(picture, {x: 0, y: TITLES + (step + 0.36) * pitch + 4, text, size: 12, quiet: true});
  });
  for (const isWay of [false, true]) {
    for (const [node, place] of places) {
      const from = node.parent && places.get(node.parent);
      if (way.has(node) === isWay && from) drawLink(context, from, place, isWay, node.candidate.fate);
    }
  }
  for (const [node, place] of places) {
    const drawn = picture.group({}, () => drawNode(context, node, place, way.has(node)));
    if (grown < columns.length && node.step === grown - 1) fadeIn(drawn);
  }
  picture.reach(left + most * width, TITLES + steps.length * pitch); // nothing jumps while it grows
  readable(picture, {
    x: left,
    y: TITLES,
    rows: steps.length,
    columns: most,
    cellWidth: width,
    cellHeight: pitch,
    label: `The search: ${columns.length} steps with up to ${most} candidates each`,
    describe: (step, place) => {
      const node = steps[step][place];
      return node ? describe(context, node) : ["no candidate here"];
    },
    onpick: (step, place) => {
      const node = steps[step][place];
      if (node) context.setOption("node", `${node.step}.${node.row}`);
    },
    key: "search-tree",
  });
  const best = search.results[0];
  picture.describe(
    `${columns.length} steps with beam_size ${search.beam_size}. Returned: ${search.results
      .filter(({returned}) => returned)
      .map(({text, score}) => `“${text}” with score ${scoreText(score)}`)
      .join("; ")}.${best ? "" : " Nothing was found."}`,
  );
}

/**
 * The candidates of a step that are drawn: on a phone only those that the search kept, and the next one.
 * @param {ViewContext} context
 * @param {TreeNode[]} column
 */
function shownOf(context, column) {
  if (context.room >= 600) return column;
  const alive = column.filter(({candidate}) => candidate.fate === "kept" || candidate.fate === "finished");
  return alive.length ? alive : column.slice(0, 2);
}

/**
 * The translations, best first, and the chosen path in words and numbers: below the explanation.
 * @param {ViewContext} context
 * @param {TreeNode[][]} columns
 * @param {TreeNode | null} chosen
 */
function listResults(context, columns, chosen) {
  const {search} = context.trace;
  const items = search.results.map((result, index) => {
    const end = endOf(columns, index);
    const fate = `${result.returned ? "returned" : "not returned"}${result.finished ? "" : ", not finished"}`;
    return element(
      "li",
      {},
      element(
        "button",
        {
          type: "button",
          class: `search-result${result.returned ? " returned" : ""}`,
          "aria-label": `${result.text}, score ${scoreText(result.score)}, ${fate}: show its path`,
          "aria-current": end && end === chosen ? "true" : null,
          "data-key": `search-result-${index}`,
          disabled: !end,
          onclick: () => end && context.setOption("node", `${end.step}.${end.row}`),
        },
        element("span", {}, result.text),
        element("span", {class: "search-fate"}, fate),
        element("b", {class: "value"}, scoreText(result.score)),
      ),
    );
  });
  const title = search.kind === "sample" ? "The draws" : "Complete translations, best first, with their scores";
  if (items.length) context.note(element("h2", {}, title), element("ol", {class: "search-results"}, ...items));
  if (!chosen) return;
  const [text, ...numbers] = describe(context, chosen);
  context.note(element("p", {}, "The path shown: ", element("b", {}, text), `; ${numbers.join("; ")}.`));
}

/**
 * @param {ViewContext} context
 * @param {number} y
 */
function legend(context, y) {
  if (context.room < 640) return;
  const picture = context.picture("");
  let x = STEP;
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
 * @param {Place} from
 * @param {Place} to
 * @param {boolean} isWay
 * @param {Fate} fate
 */
function drawLink(context, from, to, isWay, fate) {
  const picture = context.picture("");
  const [x0, y0] = [from.x + from.width / 2, from.y + from.height];
  const [x1, y1] = [to.x + to.width / 2, to.y];
  const bend = (y1 - y0) / 2;
  const isAlive = fate !== "pruned" && fate !== "dropped";
  picture.add(
    shape("path", {
      d: `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`,
      fill: "none",
      stroke: shades(isWay || isAlive ? "decoder" : "neutral", context.theme).strong,
      "stroke-width": isWay ? 4 : isAlive ? 2 : 1,
      opacity: isWay || isAlive ? 1 : 0.45,
    }),
  );
}

/**
 * A candidate: its word and its score, side by side. A long word is cut; if the node is narrow, there is no score.
 * @param {ViewContext} context
 * @param {TreeNode} node
 * @param {Place} place
 * @param {boolean} isWay
 */
function drawNode(context, node, place, isWay) {
  const {trace, theme} = context;
  const picture = context.picture("");
  const {candidate} = node;
  const isAlive = candidate.fate !== "pruned" && candidate.fate !== "dropped";
  const look = lookOf(context, candidate.fate);
  picture.add(shape("rect", {...place, rx: 6, ...look, ...(isWay ? {"stroke-width": 3.5} : {})}), place);
  const size = letterSize(place.height, 14);
  const number = candidate.chance !== undefined ? percent(candidate.chance) : shortScore(candidate.score);
  const digits = size * 0.85;
  const numberWidth = picture.ruler.width(number, digits) + 4;
  const baseline = place.y + place.height / 2 + size * 0.35;
  const text = `${candidate.fate === "finished" ? "✓ " : ""}${trace.vocabulary[candidate.id]}`;
  const forBoth = place.width - 9;
  const whole = picture.ruler.width(text, size, isAlive);
  const hasNumber = Math.min(LEAST_WORD * size, whole) + numberWidth <= forBoth;
  const forWord = hasNumber ? forBoth - numberWidth : forBoth;
  const written = size * Math.max(SMALLEST_WORD, Math.min(1, forWord / whole));
  label(picture, {
    x: place.x + 5,
    y: baseline,
    text: picture.ruler.fit(text, forWord + 0.5, written, isAlive),
    size: written,
    bold: isAlive,
    quiet: !isAlive,
  });
  if (!hasNumber) return;
  label(picture, {
    x: place.x + place.width - 4,
    y: baseline,
    text: number,
    size: digits,
    quiet: true,
    anchor: "end",
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
 * A score in a node: −1.23, or −0.00023 where more digits are the point.
 * @param {number} score
 */
function shortScore(score) {
  return Math.abs(score) < 0.1 ? significant(score, 2) : decimal(score, 2);
}
