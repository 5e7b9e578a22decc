// Switching heads off, and the translation before and after.

import {element} from "../dom.js";
import {commonPairs} from "../compare.js";
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
      Object.keys(off).length > 0 &&
        element("button", {type: "button", "data-key": "switch-none", onclick: () => ask({})}, "all on again"),
    );
    context.more(
      element(
        "button",
        {type: "button", "data-key": "switch-all", onclick: () => ask({...off, [attention]: all})},
        "all off in this layer",
      ),
    );
  } else {
    context.note(context.needsStudio("switch a head off and translate again"));
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
    if (hasSwitches) context.note(element("p", {}, `Switched off: ${switchedOff(trace)}.`));
    return;
  }
  const changed = before.target.text !== trace.target.text;
  context.note(
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
  const same = new Set(commonPairs(tokens, others).map(([place]) => place));
  return tokens.map((text, place) => ({text, differs: !same.has(place)}));
}
