// The guide: a numbered list of the views, and buttons for the previous and the next one.

import {element} from "../dom.js";

/** @typedef {import("../views.js").View} View */

/**
 * @param {readonly View[]} views
 * @param {View} current
 * @param {(view: View) => void} go
 */
export function guideList(views, current, go) {
  return element(
    "ol",
    {class: "guide"},
    ...views.map((view) =>
      element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            class: "guide-entry",
            "aria-current": view === current ? "step" : null,
            "data-key": `guide-${view.id}`,
            onclick: () => go(view),
          },
          element("span", {class: "guide-number"}, String(view.row)),
          element("span", {class: "guide-title"}, view.title),
        ),
      ),
    ),
  );
}

/**
 * The two small buttons beside the heading, with their keys.
 * @param {readonly View[]} views
 * @param {View} current
 * @param {(view: View) => void} go
 */
export function turnButtons(views, current, go) {
  const place = views.indexOf(current);
  /** @type {(view: View | undefined, name: string, sign: string, key: string) => HTMLElement} */
  const button = (view, name, sign, key) =>
    element(
      "button",
      {
        type: "button",
        class: `turn turn-${name}`,
        "data-key": `turn-${name}`,
        "aria-label": view ? `${name} view: ${view.title}` : `${name} view`,
        title: view ? `${view.row} ${view.title}` : null,
        disabled: !view,
        onclick: view && (() => go(view)),
      },
      sign,
      element("kbd", {}, key),
    );
  return [button(views[place - 1], "previous", "←", "p"), button(views[place + 1], "next", "→", "n")];
}

/**
 * The larger ones below the explanation.
 * @param {readonly View[]} views
 * @param {View} current
 * @param {(view: View) => void} go
 */
export function guideSteps(views, current, go) {
  const place = views.indexOf(current);
  /** @type {(view: View | undefined, text: string, side: string) => HTMLElement} */
  const button = (view, text, side) => {
    if (!view) return element("span", {});
    return element(
      "button",
      {type: "button", class: `guide-step ${side}`, "data-key": `guide-${side}`, onclick: () => go(view)},
      element("span", {class: "guide-direction"}, text),
      element("span", {class: "guide-title"}, view.title),
    );
  };
  return element(
    "nav",
    {class: "guide-steps", "aria-label": "Previous and next view"},
    button(views[place - 1], "← Previous", "previous"),
    button(views[place + 1], "Next →", "next"),
  );
}
