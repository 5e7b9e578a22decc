// Shown instead of a view whose numbers were left out of the trace: what is missing, and how to see it.

import {element} from "../dom.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {"left out" | "on the way" | "not given"} Whereabouts of the numbers
 */

/**
 * The layers whose numbers are here and which a view can turn to.
 * @param {Trace} trace
 * @param {string} part the layer that is missing: "encoder.3"
 * @param {import("../views.js").Picker[]} pickers of the view
 */
export function layersHere(trace, part, pickers) {
  const [stack] = part.split(".");
  const either = pickers.includes("stack") || pickers.includes("attention");
  return trace.everyLayer().filter((layer) => trace.hasInside(layer) && (either || layer.startsWith(`${stack}.`)));
}

/**
 * @param {{
 *   trace: Trace, part: string, pickers: import("../views.js").Picker[], whereabouts: Whereabouts,
 *   update: (changes: import("../state.js").Changes) => void, again: () => void}} given
 */
export function missingCard({trace, part, pickers, whereabouts, update, again}) {
  const [stack, number] = part.split(".");
  const name = `${stack} layer ${number}`;
  if (whereabouts === "on the way") {
    return element("div", {class: "missing", role: "status"}, element("p", {}, `Fetching the numbers inside ${name}…`));
  }
  const here = layersHere(trace, part, pickers);
  const to = trace.to ? ` --to ${trace.to}` : "";
  return element(
    "div",
    {class: "missing", role: "status"},
    whereabouts === "left out"
      ? element("p", {}, `The numbers inside ${name} are not in this file, to keep it small.`)
      : element("p", {}, `The studio did not send the numbers inside ${name}.`),
    element(
      "p",
      {},
      "Its attention weights and its output are here: ",
      element(
        "button",
        {type: "button", class: "small", "data-key": "missing-attention", onclick: () => update({view: "attention"})},
        "see what a word looks at",
      ),
    ),
    here.length > 0 && element("p", {class: "missing-title"}, "Layers with all their numbers:"),
    here.length > 0 && element("p", {class: "missing-layers"}, ...here.map((layer) => layerButton(layer, update))),
    whereabouts === "left out"
      ? element(
          "p",
          {},
          "To make a file that contains them: ",
          element("code", {}, `vitrail explain ${trace.model.name} "…"${to} --layers ${part} --out page.html`),
        )
      : element(
          "p",
          {},
          element("button", {type: "button", class: "small", "data-key": "missing-again", onclick: again}, "Ask again"),
        ),
  );
}

/**
 * @param {string} layer
 * @param {(changes: import("../state.js").Changes) => void} update
 */
function layerButton(layer, update) {
  const [stack, number] = layer.split(".");
  return element(
    "button",
    {
      type: "button",
      class: "small",
      "data-key": `missing-${layer}`,
      onclick: () => update({stack: /** @type {Stack} */ (stack), layer: Number(number)}),
    },
    `${stack} ${number}`,
  );
}
