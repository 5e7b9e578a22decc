// The head of the page: the mark, the sentence and its translation, the badge, the theme.

import {element, shape} from "../dom.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../theme.js").ThemeKeeper} ThemeKeeper
 */

const CHOICES = /** @type {const} */ ({auto: "Auto", light: "Light", dark: "Dark"});

/** Five panes of glass: X, Q, K, V and Z. */
export function markOfVitrail() {
  const panes = [
    ["M2 2h9v9H2z", "#5aa25d"],
    ["M13 2h9v5h-9z", "#8250c4"],
    ["M13 9h9v13h-9z", "#2f6fd0"],
    ["M2 13h4v9H2z", "#d9730d"],
    ["M8 13h3v9H8z", "#d0448c"],
  ];
  return shape(
    "svg",
    {viewBox: "0 0 24 24", class: "mark", "aria-hidden": "true"},
    ...panes.map(([d, fill]) => shape("path", {d, fill})),
  );
}

/**
 * The sentence and what became of it.
 * @param {Trace} trace
 * @param {Trace | null} before
 */
export function sentenceLine(trace, before) {
  const changed = before && before.target.text !== trace.target.text;
  return element(
    "p",
    {class: "sentence"},
    element("span", {class: "sentence-source"}, trace.source.text),
    element(
      "span",
      {class: "sentence-target"},
      element("span", {class: "sentence-arrow", "aria-label": "becomes"}, "→ "),
      trace.target.text || "(nothing)",
      changed && element("span", {class: "sentence-before"}, "before: ", element("s", {}, before.target.text)),
    ),
  );
}

/** @param {ThemeKeeper} themes */
export function themePicker(themes) {
  const select = element(
    "select",
    {
      class: "theme",
      "aria-label": "Theme",
      onchange: () => themes.choose(/** @type {import("../theme.js").ThemeChoice} */ (select.value)),
    },
    ...Object.entries(CHOICES).map(([value, text]) =>
      element("option", {value, selected: value === themes.choice}, text),
    ),
  );
  return select;
}
