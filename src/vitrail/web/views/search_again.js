// Searching again with other settings, and what that changed.

import {element} from "../dom.js";
import {decimal} from "../numbers.js";
import {word} from "../context.js";
import {inRow} from "./live.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/**
 * beam_size, top_beams and alpha, to search again with.
 * @param {ViewContext} context
 */
export function searchSettings(context) {
  const {translate, request, trace} = context;
  if (!translate || !request) return context.needsStudio("search again with another beam_size or top_beams");
  const {search} = trace;
  /** @type {(name: string, value: number, least: number, most: number, step: number) => HTMLInputElement} */
  const field = (name, value, least, most, step) => {
    const input = element("input", {type: "number", name, value, min: least, max: most, step, "aria-label": name, "data-key": `search-${name}`});
    input.style.width = "5.2rem";
    return input;
  };
  const beamSize = field("beam_size", search.beam_size, 1, 32, 1);
  const topBeams = field("top_beams", search.top_beams, 1, 32, 1);
  const alpha = field("alpha", search.alpha, 0, 5, 0.1);
  /** @type {Record<string, boolean>} */
  const drawn = search.kind === "sample" ? {sample: false} : {};
  /** @param {number} size @param {number} top */
  const again = (size, top) =>
    translate({
      decode: {...request.decode, ...drawn, beam_size: size, top_beams: Math.min(top, size), alpha: Number(alpha.value)},
    });
  const form = element(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        again(Number(beamSize.value), Number(topBeams.value));
      },
    },
    inRow(
      element("label", {}, "beam_size ", beamSize),
      element("label", {}, "top_beams ", topBeams),
      element("label", {}, "alpha ", alpha),
      element("button", {type: "submit", "data-key": "search-again"}, "Search again"),
      element("button", {type: "button", "data-key": "search-greedy", onclick: () => again(1, 1)}, "Greedy"),
    ),
  );
  return form;
}

/**
 * What the search found before it was asked again.
 * @param {ViewContext} context
 */
export function compareSearches(context) {
  const {before, trace} = context;
  if (!before) return;
  const [was, is] = [before.search, trace.search];
  const changed = before.target.text !== trace.target.text;
  context.note(
    element(
      "p",
      {},
      `Before, with beam_size ${was.beam_size}, top_beams ${was.top_beams} and alpha ${was.alpha}: `,
      word(before.target.text),
      ` (${decimal(was.results[0]?.score ?? NaN, 3)}). Now, with ${is.beam_size}, ${is.top_beams} and ${is.alpha}: `,
      word(trace.target.text),
      ` (${decimal(is.results[0]?.score ?? NaN, 3)}). ${changed ? "The translation changed." : "It is the same translation."}`,
    ),
  );
}
