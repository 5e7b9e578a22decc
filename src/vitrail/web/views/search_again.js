// Searching again with other settings, and what changed.

import {element} from "../dom.js";
import {decimal} from "../numbers.js";
import {word} from "../context.js";
import {inRow} from "./live.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/**
 * Settings to search again: beam_size and the first words; under "More", the others, and sampling.
 * @param {ViewContext} context
 */
export function searchSettings(context) {
  const {translate, request, trace} = context;
  if (!translate || !request) {
    context.note(context.needsStudio("search again with another beam_size, or other first words"));
    return;
  }
  const {search, settings} = trace;
  /** @type {(name: string, value: number, least: number, most: number, step: number) => HTMLInputElement} */
  const field = (name, value, least, most, step) => {
    const input = element("input", {
      type: "number",
      name,
      value,
      min: least,
      max: most,
      step,
      "aria-label": name,
      "data-key": `search-${name}`,
    });
    input.style.width = `${Math.max(4, 2.2 + String(most).length / 2)}rem`;
    return input;
  };
  const beamSize = field("beam_size", search.beam_size, 1, 32, 1);
  const topBeams = field("top_beams", search.top_beams, 1, 32, 1);
  const alpha = field("alpha", search.alpha, 0, 5, 0.1);
  const temperature = field("temperature", Number(settings.temperature ?? 1), 0.01, 10, 0.01);
  const seed = field("seed", Number(settings.seed ?? 1) + (search.kind === "sample" ? 1 : 0), 0, 1e9, 1);
  const begins = element("input", {
    type: "text",
    name: "prefix",
    value: trace.whatIf.prefix,
    maxlength: 2000,
    placeholder: "begins with …",
    "aria-label": "first words of the translation",
    "data-key": "search-prefix",
  });
  /** @type {Record<string, boolean>} */
  const drawn = search.kind === "sample" ? {sample: false} : {};
  /** @param {number} size @param {number} top */
  const again = (size, top) =>
    translate({
      prefix: begins.value.trim(),
      decode: {
        ...request.decode,
        ...drawn,
        beam_size: size,
        top_beams: Math.min(top, size),
        alpha: Number(alpha.value),
      },
    });
  const draw = () =>
    translate({
      prefix: begins.value.trim(),
      decode: {
        ...request.decode,
        sample: true,
        top_beams: Number(topBeams.value),
        temperature: Number(temperature.value),
        seed: Number(seed.value),
      },
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
      begins,
      element("button", {type: "submit", "data-key": "search-again"}, "Search again"),
      element("button", {type: "button", "data-key": "search-greedy", onclick: () => again(1, 1)}, "Greedy"),
    ),
  );
  context.controls(form);
  context.more(
    inRow(element("label", {}, "top_beams ", topBeams), element("label", {}, "alpha ", alpha)),
    inRow(
      element("label", {}, "or sample, with temperature ", temperature),
      element("label", {}, "seed ", seed),
      element("button", {type: "button", "data-key": "search-draw", onclick: draw}, "Sample"),
    ),
  );
}

/**
 * What the search found before, beside what it found now.
 * @param {ViewContext} context
 */
export function compareSearches(context) {
  const {before, trace} = context;
  if (!before) return;
  const [was, is] = [before.search, trace.search];
  /** @param {import("../trace.js").Trace} one */
  const manner = ({search, settings, whatIf}) => {
    const how =
      search.kind === "sample"
        ? `sampled with temperature ${settings.temperature} and seed ${settings.seed}`
        : `with beam_size ${search.beam_size}, top_beams ${search.top_beams} and alpha ${search.alpha}`;
    return whatIf.prefix ? `${how}, beginning with “${whatIf.prefix}”` : how;
  };
  const changed = before.target.text !== trace.target.text;
  context.note(
    element(
      "p",
      {},
      `Before, ${manner(before)}: `,
      word(before.target.text),
      ` (${decimal(was.results[0]?.score ?? NaN, 3)}). Now, ${manner(trace)}: `,
      word(trace.target.text),
      ` (${decimal(is.results[0]?.score ?? NaN, 3)}). `,
      changed ? "The translation changed." : "The translation did not change.",
    ),
  );
}
