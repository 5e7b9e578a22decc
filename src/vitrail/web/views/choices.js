// A view's own controls above its picture: choose one of several, or switch several on and off.

import {element} from "../dom.js";
import {isWordy, menuOf, stepped} from "../shell/pickers.js";

/**
 * @typedef {{value: string, text: string, spoken?: string, colour?: string}} ViewChoice
 */

/**
 * A row of choices, one of them chosen; arrow keys step through it. Wordy ones become a menu.
 * @param {{title: string, choices: ViewChoice[], current: string, onpick: (value: string, repeated: boolean) => void,
 *   key: string}} given
 */
export function oneOf({title, choices, current, onpick, key}) {
  const place = Math.max(
    0,
    choices.findIndex((choice) => choice.value === current),
  );
  if (isWordy(choices)) {
    const menu = menuOf({
      title,
      key,
      texts: choices.map(({text}) => text),
      place,
      onpick: (index) => onpick(choices[index].value, false),
    });
    return element("label", {class: "picker-line picker-menu"}, element("span", {class: "picker-title"}, title), menu);
  }
  const buttons = choices.map((choice, index) =>
    choiceButton(choice, {
      role: "radio",
      isOn: index === place,
      tabindex: index === place ? 0 : -1,
      key: index === place ? key : null,
      onclick: () => onpick(choice.value, false),
    }),
  );
  return line(title, buttons, {
    role: "radiogroup",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const to = stepped(event.key, place, choices.length);
      if (to === null) return;
      event.preventDefault();
      event.stopPropagation();
      onpick(choices[to].value, event.repeat);
    },
  });
}

/**
 * A row of switches.
 * @param {{
 *   title: string, choices: ViewChoice[], on: Set<string>, ontoggle: (value: string) => void, key: string}} given
 */
export function anyOf({title, choices, on, ontoggle, key}) {
  const buttons = choices.map((choice) =>
    choiceButton(choice, {
      role: "checkbox",
      isOn: on.has(choice.value),
      tabindex: 0,
      key: `${key}-${choice.value}`,
      onclick: () => ontoggle(choice.value),
    }),
  );
  return line(title, buttons, {role: "group"});
}

/**
 * @param {ViewChoice} choice
 * @param {{role: string, isOn: boolean, tabindex: number, key: string | null, onclick: () => void}} given
 */
function choiceButton(choice, {role, isOn, tabindex, key, onclick}) {
  const button = element(
    "button",
    {
      type: "button",
      role,
      class: "choice",
      "aria-checked": String(isOn),
      "aria-label": choice.spoken,
      tabindex,
      "data-key": key,
      onclick,
    },
    choice.text,
  );
  if (choice.colour) {
    // On: filled with its colour. Off: only its border.
    button.style.borderColor = choice.colour;
    button.style.borderWidth = "2px";
    if (isOn) button.style.background = choice.colour;
  }
  return button;
}

/**
 * @param {string} title
 * @param {HTMLElement[]} buttons
 * @param {import("../dom.js").Attributes} attributes
 */
function line(title, buttons, attributes) {
  return element(
    "div",
    {class: "picker-line"},
    element("span", {class: "picker-title"}, title),
    element("div", {class: "picker", "aria-label": title, ...attributes}, ...buttons),
  );
}

/**
 * Sentences short enough for a menu, none like another: each keeps its beginning and its end.
 * @param {string[]} texts
 * @param {number} [most]
 */
export function toldApart(texts, most = 40) {
  const short = texts.map((text) => {
    if (text.length <= most) return text;
    const half = Math.floor((most - 3) / 2);
    return `${text.slice(0, half).trimEnd()} … ${text.slice(-half).trimStart()}`;
  });
  return short.map((text, index) => (short.indexOf(text) === short.lastIndexOf(text) ? text : `${index + 1}. ${text}`));
}

/**
 * In prose, a letter with another above it: W^Q.
 * @param {string} base
 * @param {string} above
 */
export function raised(base, above) {
  return element("b", {class: "value"}, base, element("sup", {}, above));
}
