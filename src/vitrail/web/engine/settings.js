// The settings of a search: the model's own, changed by a request, and checked as Python checks them.

import {Problem} from "../problem.js";

/** @type {Readonly<Record<string, {least: number, most: number, isWhole: boolean}>>} what the page can show */
const RANGES = {
  beam_size: {least: 1, most: 64, isWhole: true},
  top_beams: {least: 1, most: 64, isWhole: true},
  alpha: {least: 0, most: 10, isWhole: false},
  max_extra: {least: 0, most: 256, isWhole: true},
  temperature: {least: 0.01, most: 100, isWhole: false},
  top_k: {least: 0, most: 1e9, isWhole: true},
  top_p: {least: Number.MIN_VALUE, most: 1, isWhole: false},
  seed: {least: 0, most: Number.MAX_SAFE_INTEGER, isWhole: true},
};
const PENALTIES = ["length", "gnmt"];
const WHERE = "the search settings";

/**
 * @param {Record<string, any>} own
 * @param {Record<string, number | string | boolean>} changes
 * @returns {Record<string, any>}
 */
export function searchSettingsOf(own, changes) {
  // A trace has the whole vocabulary.
  /** @type {Record<string, any>} */
  const settings = {...own, ...changes, shortlist: false};
  for (const [name, {least, most, isWhole}] of Object.entries(RANGES)) {
    const value = settings[name];
    if (!Object.hasOwn(changes, name)) continue;
    if (typeof value !== "number" || !(value >= least && value <= most) || (isWhole && !Number.isInteger(value))) {
      const kind = isWhole ? "a whole number" : "a number";
      throw new Problem(`${name} = ${value}: this page takes ${kind} from ${least} to ${most}`, {where: WHERE});
    }
  }
  if (!PENALTIES.includes(settings.penalty)) {
    throw new Problem(`there is no penalty '${settings.penalty}'`, {
      where: WHERE,
      fix: `choose one of: ${PENALTIES.join(", ")}`,
    });
  }
  if (!settings.sample && settings.top_beams > settings.beam_size) {
    throw new Problem(`top_beams = ${settings.top_beams} cannot be more than beam_size = ${settings.beam_size}`, {
      where: WHERE,
      fix: `set beam_size to ${settings.top_beams} or more`,
    });
  }
  return settings;
}
