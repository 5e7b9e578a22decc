// The line that says what was changed, so that nobody mistakes a what-if for the model's own translation.

import {element} from "../dom.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../request.js").TraceRequest} TraceRequest
 */

/**
 * What was changed, in words.
 * @param {Trace} trace
 * @param {TraceRequest | null} request
 * @returns {string[]}
 */
export function changesMade(trace, request) {
  const heads = Object.entries(trace.whatIf.heads_off)
    .filter(([, numbers]) => numbers.length)
    .map(([name, numbers]) => `${numbers.length > 1 ? "heads" : "head"} ${numbers.join(", ")} of ${name} off`);
  const prefix = trace.whatIf.prefix ? [`must begin with “${trace.whatIf.prefix}”`] : [];
  const decode = Object.entries(request?.decode ?? {}).map(([name, value]) => `${name} = ${value}`);
  return [...heads, ...prefix, ...decode];
}

/**
 * @param {Trace} trace
 * @param {TraceRequest | null} request
 * @param {((changes: Partial<TraceRequest>) => Promise<void>) | null} translate
 */
export function whatIfLine(trace, request, translate) {
  const changes = changesMade(trace, request);
  if (!changes.length) return null;
  return element(
    "p",
    {class: "what-if"},
    element("b", {}, "What if: "),
    changes.join(" · "),
    translate &&
      element(
        "button",
        {
          type: "button",
          class: "small",
          "data-key": "undo-what-if",
          onclick: () => translate({heads_off: {}, prefix: "", decode: {}, reference: ""}),
        },
        "Undo all",
      ),
  );
}
