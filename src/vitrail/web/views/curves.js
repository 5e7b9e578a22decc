// Curves over training steps: axes, a line for each series, and numbers to read off.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {count, extent} from "../numbers.js";
import {label} from "../draw/label.js";
import {readable} from "../draw/reading.js";

/**
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {{step: number, value: number}} CurvePoint
 * @typedef {{name: string, points: CurvePoint[], meaning: import("../colour.js").Meaning, dots?: boolean}} Curve
 */

/**
 * @param {Picture} picture
 * @param {{
 *   x: number, y: number, width: number, height: number, title: string, curves: Curve[], last: number,
 *   write: (value: number) => string, fromZero?: boolean}} given
 *   last: the step at the right end; fromZero: whether the axis starts at zero
 */
export function curveChart(picture, {x, y, width, height, title, curves, last, write, fromZero = false}) {
  const {least, most} = extent(curves.flatMap((curve) => curve.points.map((point) => point.value)));
  const low = fromZero ? Math.min(0, least) : least;
  const high = most > low ? most : low + 1;
  const ticks = [low, (low + high) / 2, high];
  const margin = Math.max(...ticks.map((tick) => picture.ruler.width(write(tick), 13))) + 10;
  const area = {x: x + margin, y: y + 34, width: width - margin - 8, height: height - 34 - 26};
  const acrossOf = (/** @type {number} */ step) => area.x + (last > 0 ? step / last : 0) * area.width;
  const downOf = (/** @type {number} */ value) => area.y + (1 - (value - low) / (high - low)) * area.height;
  const line = shades("neutral", picture.theme);

  label(picture, {x, y: y + 16, text: title, size: 16, bold: true});
  let right = x + width - 8;
  for (const curve of curves.length > 1 ? [...curves].reverse() : []) {
    label(picture, {x: right, y: y + 16, text: curve.name, size: 13, anchor: "end", meaning: curve.meaning});
    right -= picture.ruler.width(curve.name, 13) + 14;
  }
  for (const tick of ticks) {
    const at = downOf(tick);
    picture.add(
      shape("line", {
        x1: area.x,
        x2: area.x + area.width,
        y1: at,
        y2: at,
        stroke: line.strong,
        "stroke-width": 0.75,
        opacity: 0.4,
      }),
    );
    label(picture, {x: area.x - 6, y: at + 4, text: write(tick), size: 13, anchor: "end", quiet: true, numeric: true});
  }
  label(picture, {x: area.x, y: area.y + area.height + 18, text: "step 0", size: 13, quiet: true});
  label(picture, {
    x: area.x + area.width,
    y: area.y + area.height + 18,
    text: count(last),
    size: 13,
    anchor: "end",
    quiet: true,
  });
  for (const {points, meaning, dots, name} of curves) {
    const {strong} = shades(meaning, picture.theme);
    const path = points.map(
      ({step, value}, index) => `${index ? "L" : "M"}${acrossOf(step).toFixed(2)} ${downOf(value).toFixed(2)}`,
    );
    if (points.length > 1) {
      picture.add(
        shape("path", {
          d: path.join(" "),
          fill: "none",
          stroke: strong,
          "stroke-width": 2.5,
          "stroke-linejoin": "round",
          "data-curve": name,
        }),
      );
    }
    if (!dots && points.length > 1) continue;
    for (const {step, value} of points) {
      picture.add(shape("circle", {cx: acrossOf(step), cy: downOf(value), r: 4, fill: strong}));
    }
  }
  readCurves(picture, {area, curves, last, write, title});
  picture.reach(x + width, y + height);
}

/**
 * Numbers by pointer and keyboard: the chart in columns, each with the points nearest to its middle.
 * @param {Picture} picture
 * @param {{
 *   area: import("../draw/picture.js").Box, curves: Curve[], last: number, write: (value: number) => string,
 *   title: string}} given
 */
function readCurves(picture, {area, curves, last, write, title}) {
  const longest = Math.max(0, ...curves.map((curve) => curve.points.length));
  if (!longest) return;
  const columns = Math.max(2, Math.min(100, longest));
  readable(picture, {
    x: area.x,
    y: area.y,
    rows: 1,
    columns,
    cellWidth: area.width / columns,
    cellHeight: area.height,
    label: title,
    key: `curve-${title}`,
    describe: (_, column) => {
      const step = ((column + 0.5) / columns) * last;
      return curves
        .filter((curve) => curve.points.length)
        .map((curve) => {
          const point = nearest(curve.points, step);
          return `${curve.name} at step ${count(point.step)}: ${write(point.value)}`;
        });
    },
  });
}

/**
 * The point whose step is nearest.
 * @param {CurvePoint[]} points at least one
 * @param {number} step
 */
export function nearest(points, step) {
  return points.reduce((best, point) => (Math.abs(point.step - step) < Math.abs(best.step - step) ? point : best));
}
