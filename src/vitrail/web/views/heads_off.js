// Switching heads off, and the translation before and after.

import {element} from "../dom.js";
import {headColour} from "../colour.js";
import {anyOf} from "./choices.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../trace.js").Trace} Trace
 */

/**
 * The heads that are off once some have been switched.
 * @param {Record<string, number[]>} off
 * @param {string} attention
 * @param {number[]} heads the ones to switch
 * @returns {Record<string, number[]>}
 */
export function switchHeads(off, attention, heads) {
  const now = new Set(off[attention] ?? []);
  for (const head of heads) if (!now.delete(head)) now.add(head);
  const next = {...off, [attention]: [...now].sort((a, b) => a - b)};
  if (!now.size) delete next[attention];
  return next;
}

/**
 * Put the switches of one attention's heads above the picture.
 * @param {ViewContext} context
 */
export function headSwitches(context) {
  const {trace, attention, translate} = context;
  const off = trace.whatIf.heads_off;
  const all = Array.from({length: trace.config.heads}, (_, head) => head);
  if (translate) {
    const ask = (/** @type {Record<string, number[]>} */ heads_off) => void translate({heads_off});
    context.controls(
      anyOf({
        title: "Heads on",
        key: "switch",
        choices: all.map((head) => ({
          value: String(head),
          text: String(head),
          spoken: `head ${head} of ${attention}`,
          colour: headColour(head, context.theme),
        })),
        on: new Set(all.filter((head) => !trace.isOff(attention, head)).map(String)),
        ontoggle: (head) => ask(switchHeads(off, attention, [Number(head)])),
      }),
      element(
        "button",
        {type: "button", "data-key": "switch-all", onclick: () => ask({...off, [attention]: all})},
        "all off in this layer",
      ),
      Object.keys(off).length > 0 &&
        element("button", {type: "button", "data-key": "switch-none", onclick: () => ask({})}, "all on again"),
    );
  } else {
    context.controls(context.needsStudio("switch a head off and translate again"));
  }
  comparison(context);
}

/**
 * The translation before and now.
 * @param {ViewContext} context
 */
function comparison(context) {
  const {trace, before} = context;
  const hasSwitches = Object.keys(trace.whatIf.heads_off).length > 0;
  if (!before) {
    if (hasSwitches) context.controls(element("p", {}, `Switched off: ${switchedOff(trace)}.`));
    return;
  }
  const changed = before.target.text !== trace.target.text;
  context.controls(
    element(
      "table",
      {class: "before-and-now"},
      element("tbody", {}, line("before", before, trace), line("now", trace, before)),
    ),
    element("p", {}, changed ? "Words that differ are underlined." : "The translation did not change."),
  );
}

/**
 * @param {string} title
 * @param {Trace} shown
 * @param {Trace} other
 */
function line(title, shown, other) {
  const words = differences(shown.target.tokens, other.target.tokens);
  const cell = element("td", {});
  words.forEach(({text, differs}, index) => {
    cell.append(index ? " " : "", differs ? element("u", {}, element("b", {}, text)) : text);
  });
  return element(
    "tr",
    {},
    element("th", {scope: "row"}, title),
    cell,
    element("td", {}, `off: ${switchedOff(shown) || "none"}`),
  );
}

/** @param {Trace} trace */
function switchedOff(trace) {
  return Object.entries(trace.whatIf.heads_off)
    .map(([attention, heads]) => `${attention} ${heads.join(", ")}`)
    .join("; ");
}

/**
 * Which tokens differ from the other sentence: those outside the longest common subsequence.
 * @param {string[]} tokens
 * @param {string[]} others
 */
export function differences(tokens, others) {
  const [rows, columns] = [tokens.length, others.length];
  const longest = Array.from({length: rows + 1}, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      longest[i][j] =
        tokens[i] === others[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  let j = 0;
  return tokens.map((text, i) => {
    while (j < columns && tokens[i] !== others[j] && longest[i][j + 1] === longest[i][j]) j++;
    const same = j < columns && tokens[i] === others[j];
    if (same) j++;
    return {text, differs: !same};
  });
}
