// The header: the logo, the sentence and its translation, the theme.

import {shades} from "../colour.js";
import {element, shape} from "../dom.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../theme.js").ThemeKeeper} ThemeKeeper
 * @typedef {import("../colour.js").Meaning} Meaning
 */

const CHOICES = /** @type {const} */ ({auto: "Auto", light: "Light", dark: "Dark"});

/** Five panes of glass: X, Q, K, V and Z, the same in both themes. */
export function markOfVitrail() {
  const panes = /** @type {[string, Meaning][]} */ ([
    ["M2 2h9v9H2z", "encoder"],
    ["M13 2h9v5h-9z", "q"],
    ["M13 9h9v13h-9z", "v"],
    ["M2 13h4v9H2z", "k"],
    ["M8 13h3v9H8z", "z"],
  ]);
  return shape(
    "svg",
    {viewBox: "0 0 24 24", class: "mark", "aria-hidden": "true"},
    ...panes.map(([d, meaning]) => shape("path", {d, fill: shades(meaning, "light").strong})),
  );
}

/**
 * The sentence and its translation.
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
