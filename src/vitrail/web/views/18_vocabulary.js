// Row 18, the vocabulary and one-hot vectors: a word is a place in a list.

import {shades} from "../colour.js";
import {element} from "../dom.js";
import {count} from "../numbers.js";
import {plain, word} from "../context.js";
import {label} from "../draw/label.js";
import {columnLabels, columnLabelsHeight, matrix, rowLabels} from "../draw/matrix.js";
import {chooseWords, chosenWords, findWords, MOST_WORDS} from "./chosen_words.js";
import {foldedVocabulary} from "./folded_vocabulary.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

const MOST_SHOWN = 60;

/** @type {import("../views.js").View} */
export const vocabularyView = {
  id: "vocabulary",
  row: 18,
  title: "The vocabulary and one-hot vectors",
  pickers: [],
  render(context) {
    const {trace} = context;
    const {vocabulary} = trace;
    const ids = chosenWords(context);
    const current = currentId(context, ids);
    context.lead`To the model a word is a place in a list of ${count(vocabulary.length)}:
      ${word(vocabulary[current])} is number ${String(current)}.`;
    context.say`The model was given this list, its vocabulary, before training. It can write no other words. The numbers
      count from 0.`;
    context.say`As a vector, that is ${count(vocabulary.length)} numbers, all ${"0"} except for a single ${"1"}: a
      one-hot vector. Below are those of ${ids.length} ${plain(ids.length === 1 ? "word" : "words")}. Choose your own:
      the next two views use the same columns.`;
    context.controls(...search(context, ids));
    draw(context, ids, current);
  },
};

/**
 * @param {ViewContext} context
 * @param {number[]} ids
 */
function currentId(context, ids) {
  const given = context.option("word", "");
  const id = /^\d+$/.test(given) ? Number(given) : NaN;
  return id < context.trace.vocabulary.length ? id : (ids[0] ?? 0);
}

/**
 * A search through all words, whose results drop down while it has the focus; and the chosen words.
 * @param {ViewContext} context
 * @param {number[]} ids
 */
function search(context, ids) {
  const {vocabulary} = context.trace;
  const chosen = element(
    "div",
    {class: "picker", role: "group", "aria-label": "Chosen words"},
    ...ids.map((id) =>
      element(
        "button",
        {
          type: "button",
          class: "choice",
          "aria-label": `remove ${vocabulary[id]}`,
          "data-key": `vocabulary-chosen-${id}`,
          onclick: () =>
            chooseWords(
              context,
              ids.filter((other) => other !== id),
            ),
        },
        `${vocabulary[id]} ✕`,
      ),
    ),
  );
  const found = element("div", {class: "found", role: "group", "aria-label": "Words found"});
  const told = element("span", {class: "found-count", role: "status"});
  const typed = element("input", {
    type: "search",
    placeholder: "find a word or a number",
    "aria-label": "Find a word in the vocabulary",
    value: context.option("find", ""),
    "data-key": "vocabulary-find",
    // Kept in the address only once a word is picked: drawing again now would move the words under the pointer.
    oninput: () => list(),
  });
  const list = () => {
    const places = findWords(vocabulary, typed.value);
    told.replaceChildren(
      places.length > MOST_SHOWN
        ? `${count(places.length)} words, showing the first ${MOST_SHOWN}`
        : `${places.length} ${places.length === 1 ? "word" : "words"}`,
    );
    found.replaceChildren(told, ...places.slice(0, MOST_SHOWN).map((id) => result(id)));
  };
  /** @param {number} id */
  const result = (id) =>
    element(
      "button",
      {
        type: "button",
        class: "choice",
        role: "checkbox",
        "aria-checked": ids.includes(id) ? "true" : "false",
        "aria-label": `${vocabulary[id]}, number ${id}`,
        "data-key": `vocabulary-found-${id}`,
        onclick: () => pick(context, ids, id, typed.value),
      },
      `${id} ${vocabulary[id]}`,
    );
  list();
  const reset =
    context.option("words", "") &&
    element(
      "button",
      {type: "button", "data-key": "vocabulary-reset", onclick: () => chooseWords(context, [])},
      "reset",
    );
  return [
    element("div", {class: "word-search"}, typed, found),
    element(
      "div",
      {class: "picker-line long"},
      element("span", {class: "picker-title"}, "Columns"),
      chosen,
      reset || "",
    ),
  ];
}

/**
 * Show a word, and make it a column.
 * @param {ViewContext} context
 * @param {number[]} ids
 * @param {number} id
 * @param {string} typed
 */
function pick(context, ids, id, typed) {
  const next = ids.includes(id) ? ids : [...ids.slice(0, MOST_WORDS - 1), id];
  context.update({options: {words: next.join(","), word: String(id), find: typed || null}});
}

/**
 * @param {ViewContext} context
 * @param {number[]} ids
 * @param {number} current
 */
function draw(context, ids, current) {
  const {trace, room, theme} = context;
  const {vocabulary} = trace;
  const picture = context.picture("One-hot vectors");
  const names = ids.map((id) => vocabulary[id]);
  const nameWidth = Math.min(150, Math.max(60, ...names.map((name) => picture.ruler.width(name, 15, true)))) + 12;
  const cell = Math.max(34, Math.min(84, (room - nameWidth - 80) / Math.max(1, ids.length)));
  const numbers = 22;
  const top = 30 + columnLabelsHeight(picture, names, cell, 15) + numbers;
  label(picture, {x: 0, y: 18, text: "one row per word", bold: true, size: 15});
  const box = matrix(picture, {
    x: nameWidth,
    y: top,
    rows: ids.length,
    columns: ids.length,
    cellWidth: cell,
    cellHeight: 34,
    value: (row, column) => (row === column ? 1 : 0),
    digits: 0,
    largest: 1,
    colour: shades("decoder", theme).strong,
    name: "One-hot vectors of the chosen words",
    describe: (row, column) => [
      `the row of “${names[row]}”, column ${ids[column]} “${names[column]}”`,
      row === column ? "1" : "0",
    ],
    onpick: (row) => context.setOption("word", String(ids[row])),
    current: ids.includes(current) ? {row: ids.indexOf(current)} : undefined,
    key: "vocabulary-one-hot",
  });
  rowLabels(picture, {box, names, size: 15, width: 150, current: ids.indexOf(current)});
  columnLabels(picture, {box: {...box, y: top - numbers}, names, size: 15, current: ids.indexOf(current)});
  ids.forEach((id, column) => {
    label(picture, {
      x: box.x + (column + 0.5) * cell,
      y: top - 7,
      text: String(id),
      size: 13,
      quiet: true,
      anchor: "middle",
      numeric: true,
    });
  });
  label(picture, {x: box.x + box.width + 10, y: top + 22, text: "… 0", size: 15, quiet: true});
  const below = box.y + box.height + 44;
  const title = picture.ruler.fit(`the whole row of “${vocabulary[current]}”: 1 at ${current}`, room, 15, true);
  label(picture, {x: 0, y: below, text: title, bold: true, size: 15});
  const oneHot = new Float32Array(vocabulary.length);
  oneHot[current] = 1;
  foldedVocabulary(picture, {
    x: 0,
    y: below + 14,
    width: Math.min(room, 900),
    vocabulary,
    values: oneHot,
    largest: 1,
    colour: shades("decoder", theme).strong,
    name: `The one-hot vector of ${vocabulary[current]}`,
    write: (value) => String(value),
    current,
    onpick: (id) => context.setOption("word", String(id)),
    key: "vocabulary-row",
  });
  const others = count(vocabulary.length - 1);
  picture.describe(
    `${names.map((name, index) => `“${name}” is number ${ids[index]}`).join(", ")}. ` +
      `The row of “${vocabulary[current]}” is 1 at place ${current} and 0 at the other ${others}.`,
  );
}
