// The pickers above a picture: which attention, layer, head, token, step. Arrow keys step within each.

import {element} from "../dom.js";
import {attentionOf} from "../state.js";
import {headColour} from "../colour.js";
import {symbolMeaning} from "../symbols.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Changes} Changes
 * @typedef {import("../colour.js").Theme} Theme
 * @typedef {import("../views.js").Picker} Picker
 * @typedef {{
 *   text: string, spoken?: string, changes: Changes, current: boolean, colour?: string, off?: boolean,
 *   place?: string, symbol?: string}} Choice
 *   place: shown beside a text that appears more than once
 */

const ATTENTIONS = /** @type {const} */ ([
  ["encoder", "self_attention", "encoder self-attention", "source → source"],
  ["decoder", "self_attention", "decoder self-attention", "target → target"],
  ["decoder", "cross_attention", "encoder-decoder attention", "target → source"],
]);
const SUBLAYERS = {
  self_attention: "self-attention",
  cross_attention: "encoder-decoder attention",
  feed_forward: "feed-forward",
};

/**
 * The choices of one picker.
 * @param {Picker} picker
 * @param {Trace} trace
 * @param {State} state
 * @param {Theme} theme
 * @returns {{title: string, choices: Choice[]}}
 */
export function choicesOf(picker, trace, state, theme) {
  const numbers = (/** @type {number} */ length) => Array.from({length}, (_, index) => index);
  switch (picker) {
    case "attention":
      return {
        title: "Attention",
        choices: ATTENTIONS.map(([stack, sublayer, text, spoken]) => ({
          text,
          spoken: `${text}, ${spoken}`,
          changes: {stack, sublayer},
          // A feed-forward network has no attention: its stack's self-attention stands in.
          current: state.stack === stack && attentionOf(state) === sublayer,
        })),
      };
    case "stack":
      return {
        title: "Stack",
        choices: /** @type {const} */ (["encoder", "decoder"]).map((stack) => ({
          text: stack,
          changes: {stack},
          current: state.stack === stack,
        })),
      };
    case "sublayer":
      return {
        title: "Sub-layer",
        choices: trace.sublayers(state.stack).map((sublayer) => ({
          text: SUBLAYERS[sublayer],
          changes: {sublayer},
          current: state.sublayer === sublayer,
        })),
      };
    case "layer":
      return {
        title: "Layer",
        choices: numbers(trace.layers(state.stack)).map((layer) => ({
          text: String(layer),
          spoken: `layer ${layer}`,
          changes: {layer},
          current: state.layer === layer,
        })),
      };
    case "head":
      return {
        title: "Head",
        choices: numbers(trace.config.heads).map((head) => ({
          text: String(head),
          spoken: `head ${head}`,
          changes: {head},
          current: state.head === head,
          colour: headColour(head, theme),
          off: trace.isOff(`${state.stack}.${state.layer}.${attentionOf(state)}`, head),
        })),
      };
    case "token":
      return {
        title: "Token",
        choices: trace.tokens(state.stack).map((text, token, tokens) => ({
          text,
          place: isRepeated(tokens, token) ? String(token) : undefined,
          symbol: text,
          spoken: `${text}, position ${token}`,
          changes: {token},
          current: state.token === token,
        })),
      };
    case "step":
      return {
        title: "Step",
        choices: trace.target.tokens.map((text, step) => ({
          text: `${step + 1} ${text}`,
          symbol: text,
          spoken: `step ${step + 1}: ${text}`,
          changes: {step},
          current: state.step === step,
        })),
      };
  }
}

/** The keys that step through a picker from anywhere, shown beside its name. */
const STEPPED_BY = {token: "← →", step: "← →", layer: "↑ ↓", head: "[ ]"};
const MOST_LETTERS = 10; // of a row of chips; more become a menu, unless the row scrolls

/**
 * One picker: a menu, or a row of chips if they are short. The sentence's tokens are chips in a row that scrolls,
 * unless a menu is asked for.
 * @param {Picker} picker
 * @param {{
 *   trace: Trace, state: State, theme: Theme, update: (changes: Changes, how?: {replace?: boolean}) => void}} given
 * @param {{menu?: boolean}} [how]
 */
export function pickerRow(picker, {trace, state, theme, update}, {menu: asMenu = false} = {}) {
  const {title, choices} = choicesOf(picker, trace, state, theme);
  const place = Math.max(
    0,
    choices.findIndex((choice) => choice.current),
  );
  const isLong = picker === "token" || picker === "step";
  const name = element(
    "span",
    {class: `picker-title${picker === "attention" ? " spoken" : ""}`}, // its choices say what they are
    title,
    picker in STEPPED_BY && element("kbd", {}, STEPPED_BY[/** @type {keyof typeof STEPPED_BY} */ (picker)]),
  );
  if (asMenu || (!isLong && isWordy(choices))) {
    const menu = menuOf({
      title,
      key: `picker-${picker}`,
      texts: choices.map(({text, off, place: at}) => `${text}${at ? ` · ${at}` : ""}${off ? " (off)" : ""}`),
      place,
      onpick: (index) => update(choices[index].changes),
    });
    if (choices[place].colour) menu.style.setProperty("--choice", choices[place].colour);
    return element("label", {class: `picker-line picker-menu picker-${picker}`}, name, menu);
  }
  const buttons = choices.map((choice, index) => {
    const button = element(
      "button",
      {
        type: "button",
        role: "radio",
        class: `choice${choice.off ? " off" : ""}`,
        "aria-checked": choice.current ? "true" : "false",
        title: symbolMeaning(choice.symbol ?? ""),
        "aria-label": choice.off ? `${choice.spoken}, switched off` : choice.spoken,
        tabindex: index === place ? 0 : -1,
        "data-key": index === place ? `picker-${picker}` : null,
        onclick: () => update(choice.changes),
      },
      choice.text,
      choice.place && element("sub", {class: "place"}, choice.place),
    );
    if (choice.colour) button.style.setProperty("--choice", choice.colour);
    return button;
  });
  const row = element(
    "div",
    {
      class: `picker picker-${picker}`,
      role: "radiogroup",
      "aria-label": title,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const to = stepped(event.key, place, choices.length);
        if (to === null) return;
        event.preventDefault();
        event.stopPropagation();
        update(choices[to].changes, {replace: event.repeat});
      },
    },
    ...buttons,
  );
  return element("div", {class: `picker-line${isLong ? " long" : ""}`}, name, row);
}

/**
 * Whether choices need too much room to stand side by side.
 * @param {readonly {text: string}[]} choices
 */
export function isWordy(choices) {
  return choices.reduce((letters, {text}) => letters + text.length + 1, 0) > MOST_LETTERS;
}

/**
 * A menu of choices, one of them chosen.
 * @param {{
 *   title: string, key: string | null, texts: string[], place: number, onpick: (index: number) => void}} given
 */
export function menuOf({title, key, texts, place, onpick}) {
  const menu = element(
    "select",
    {class: "menu", "aria-label": title, "data-key": key, onchange: () => onpick(menu.selectedIndex)},
    ...texts.map((text, index) => element("option", {value: index, selected: index === place}, text)),
  );
  return menu;
}

/**
 * Whether another token of a sentence looks the same.
 * @param {readonly string[]} tokens
 * @param {number} index
 */
export function isRepeated(tokens, index) {
  return tokens.indexOf(tokens[index]) !== tokens.lastIndexOf(tokens[index]);
}

/**
 * The choice that a key leads to, or null.
 * @param {string} key
 * @param {number} place
 * @param {number} length
 */
export function stepped(key, place, length) {
  const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -place, End: length - 1 - place}[key];
  return by === undefined ? null : Math.max(0, Math.min(length - 1, place + by));
}
