// A problem, in words: what, where, and how to fix it.

import {element} from "../dom.js";

/** @param {import("../problem.js").Problem} problem */
export function problemBox(problem) {
  return element(
    "div",
    {class: "problem", role: "alert", tabindex: -1},
    element("p", {class: "problem-what"}, problem.what),
    problem.where && element("p", {}, `at ${problem.where}`),
    problem.fix && element("p", {}, `fix: ${problem.fix}`),
  );
}
