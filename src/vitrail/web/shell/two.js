// Two translations at once: any view drawn for both, side by side, with the differences marked.

import {commonPairs, changesBetween} from "../compare.js";
import {element, shape} from "../dom.js";
import {pictureBox} from "../draw/picture.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("./frame.js").Space} Space
 */

const MOST_WORDS = 1500; // of a picture: comparing more would be slow
const LEAST = 0.2; // of a heat map's strongest colour: cells that differ less look the same
const MOST_CELLS = 12; // to mark in a heat map
const GAP = 20;
const CAPTION = 40;

/**
 * The space for each of two pictures: half the width, or all of it where the page scrolls.
 * @param {Space} space
 * @returns {Space}
 */
export function halfOf(space) {
  if (!Number.isFinite(space.tall)) return space;
  return {...space, room: Math.floor((space.room - GAP) / 2), tall: space.tall - CAPTION};
}

/**
 * The line that says what is compared, above every view.
 * @param {TraceRequest} first
 * @param {TraceRequest} second
 * @param {{stop: () => void, where: () => void}} given
 */
export function twoLine(first, second, {stop, where}) {
  return element(
    "p",
    {class: "what-if two-at-once"},
    element("b", {}, "Two at once: "),
    element(
      "span",
      {class: "two-at-once-change"},
      `as asked, and with ${changesBetween(first, second).join(" · ") || "no change"}`,
    ),
    element(
      "button",
      {type: "button", class: "small", "data-key": "where-they-part", onclick: where},
      "Where they part",
    ),
    element("button", {type: "button", class: "small", "data-key": "stop-comparing", onclick: stop}, "Stop"),
  );
}

/**
 * Both pictures of a view, with their differences marked.
 * @param {{context: ViewContext, missing: HTMLElement | null}[]} sides
 */
export function twoFigures(sides) {
  const [first, second] = sides.map(({context}) => context.drawn);
  if (first && second) markDifferences(first, second);
  return element(
    "div",
    {class: "two"},
    sides.map(({context, missing}, place) => {
      const other = sides[1 - place].context.trace;
      const picture = missing ?? (context.drawn ? pictureBox(context.drawn) : "");
      return element("figure", {class: "figure"}, caption(context.trace, other), picture);
    }),
  );
}

/**
 * A sentence and its translation, with the words that the other one does not have underlined.
 * @param {Trace} trace
 * @param {Trace} other
 */
function caption(trace, other) {
  const model =
    trace.model.name === other.model.name ? null : element("span", {class: "two-model"}, `${trace.model.name}: `);
  return element(
    "figcaption",
    {class: "two-caption"},
    element("span", {}, model, underlined(trace.source.text, other.source.text)),
    element("b", {}, "→ ", underlined(trace.target.text, other.target.text)),
  );
}

/**
 * @param {string} text
 * @param {string} other
 */
function underlined(text, other) {
  const words = text.split(" ");
  const same = new Set(commonPairs(words, other.split(" ")).map(([place]) => place));
  return element(
    "span",
    {},
    words.flatMap((each, place) => [place ? " " : "", same.has(place) ? each : element("u", {class: "differs"}, each)]),
  );
}

/**
 * Mark in both pictures the words and numbers that only one of them has, and the cells of heat maps that differ most.
 * @param {Picture} first
 * @param {Picture} second
 */
export function markDifferences(first, second) {
  const [own, others] = [first, second].map(({node}) => [...node.querySelectorAll("text.label")].slice(0, MOST_WORDS));
  const pairs = commonPairs(textsOf(own), textsOf(others));
  const [kept, keptByOther] = [0, 1].map((side) => new Set(pairs.map((pair) => pair[side])));
  own.forEach((label, place) => label.classList.toggle("differs", !kept.has(place)));
  others.forEach((label, place) => label.classList.toggle("differs", !keptByOther.has(place)));
  const grids = new Map(second.grids.map((grid) => [grid.key ?? grid.name, grid]));
  for (const grid of first.grids) {
    const other = grids.get(grid.key ?? grid.name);
    if (!other || other.rows !== grid.rows || other.columns !== grid.columns) continue;
    for (const {row, column} of differingCells(grid, other)) {
      first.node.append(cellMark(grid, row, column));
      second.node.append(cellMark(other, row, column));
    }
  }
}

/** @param {Element[]} labels */
function textsOf(labels) {
  return labels.map((label) => label.textContent ?? "");
}

/**
 * The cells that differ most, among those that differ visibly.
 * @param {import("../draw/picture.js").Grid} one
 * @param {import("../draw/picture.js").Grid} other
 */
export function differingCells(one, other) {
  const least = LEAST * Math.max(one.largest, other.largest);
  const found = [];
  for (let row = 0; row < one.rows; row++) {
    for (let column = 0; column < one.columns; column++) {
      const by = Math.abs(one.value(row, column) - other.value(row, column));
      if (by > least && by > 0) found.push({row, column, by});
    }
  }
  return found.sort((a, b) => b.by - a.by).slice(0, MOST_CELLS);
}

/**
 * @param {import("../draw/picture.js").Grid} grid
 * @param {number} row
 * @param {number} column
 */
function cellMark({x, y, cellWidth, cellHeight}, row, column) {
  return shape("rect", {
    class: "differs",
    x: x + column * cellWidth,
    y: y + row * cellHeight,
    width: cellWidth,
    height: cellHeight,
  });
}
