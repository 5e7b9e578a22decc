// Motion that explains: what travels, what appears, what opens. Still for readers who want less of it.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {roundedPath} from "./frame.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./frame.js").Point} Point
 */

/** Whether the reader asked for less motion. */
export function wantsStillness() {
  return typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * @param {Element} node
 * @param {Keyframe[]} frames
 * @param {{duration: number, delay?: number}} timing milliseconds
 */
function move(node, frames, {duration, delay = 0}) {
  if (wantsStillness() || typeof node.animate !== "function") return false;
  node.animate(frames, {duration, delay, easing: "ease-in-out", fill: "backwards"});
  return true;
}

/**
 * Let something appear.
 * @param {Element} node
 * @param {number} [delay]
 */
export function fadeIn(node, delay = 0) {
  move(node, [{opacity: 0}, {opacity: 1}], {duration: 350, delay});
}

/**
 * Let a picture open from a point in its middle, or close towards it.
 * @param {Element} node
 * @param {"inward" | "outward"} way inward: one goes into something small; outward: one steps back
 */
export function zoom(node, way) {
  const from = way === "inward" ? "scale(0.3)" : "scale(2)";
  const start = {transform: from, transformOrigin: "center", opacity: 0};
  move(node, [start, {transform: "none", transformOrigin: "center", opacity: 1}], {duration: 450});
}

/**
 * A dot that travels along a path and is gone.
 * @param {Picture} picture
 * @param {{points: Point[], meaning: import("../colour.js").Meaning, delay?: number, duration?: number}} given
 */
export function travel(picture, {points, meaning, delay = 0, duration = 1200}) {
  if (wantsStillness()) return;
  const {strong} = shades(meaning, picture.theme);
  const dot = shape("circle", {r: 6, fill: strong, opacity: 0, "data-transient": "", "pointer-events": "none"});
  dot.style.offsetPath = `path("${roundedPath(points, 10)}")`;
  dot.style.offsetRotate = "0deg";
  picture.add(dot);
  const [start, end] = [
    {offsetDistance: "0%", opacity: 1},
    {offsetDistance: "100%", opacity: 1},
  ];
  move(dot, [start, end], {duration, delay});
}
