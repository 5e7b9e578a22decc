// The pickers above a picture: which attention, layer, head, token, step. Arrow keys step within each.

import {element} from "../dom.js";
import {attentionOf} from "../state.js";
import {headColour} from "../colour.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Changes} Changes
 * @typedef {import("../colour.js").Theme} Theme
 * @typedef {import("../views.js").Picker} Picker
 * @typedef {{text: string, spoken?: string, changes: Changes, current: boolean, colour?: string, off?: boolean}} Choice
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
        choices: trace.tokens(state.stack).map((text, token) => ({
          text,
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
          spoken: `step ${step + 1}: ${text}`,
          changes: {step},
          current: state.step === step,
        })),
      };
  }
}

/**
 * One picker: a row of buttons, one of them pressed.
 * @param {Picker} picker
 * @param {{
 *   trace: Trace, state: State, theme: Theme, update: (changes: Changes, how?: {replace?: boolean}) => void}} given
 */
export function pickerRow(picker, {trace, state, theme, update}) {
  const {title, choices} = choicesOf(picker, trace, state, theme);
  const place = Math.max(
    0,
    choices.findIndex((choice) => choice.current),
  );
  const buttons = choices.map((choice, index) => {
    const button = element(
      "button",
      {
        type: "button",
        role: "radio",
        class: `choice${choice.off ? " off" : ""}`,
        "aria-checked": choice.current ? "true" : "false",
        "aria-label": choice.off ? `${choice.spoken}, switched off` : choice.spoken,
        tabindex: index === place ? 0 : -1,
        "data-key": index === place ? `picker-${picker}` : null,
        onclick: () => update(choice.changes),
      },
      choice.text,
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
  return element("div", {class: "picker-line"}, element("span", {class: "picker-title"}, title), row);
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
