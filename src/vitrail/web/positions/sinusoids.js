// Tables of sines and cosines: the paper's, and the same waves in the order of two other toolkits.

import {angle} from "../arithmetic.js";
import {precise} from "../numbers.js";

/**
 * @typedef {{
 *   name: string, title: string, short: string, isInterleaved: boolean, steps: (half: number) => number,
 *   isRare: boolean}} Layout
 *   name: of the kind of positions that adds it; steps: over how many steps frequencies fall to 1/10000; isRare: shown
 *   only for a model that adds it
 */

/** @type {readonly Layout[]} the paper's first */
export const LAYOUTS = [
  {
    name: "sinusoidal",
    title: "interleaved: sin, cos, sin, cos (the paper)",
    short: "interleaved",
    isInterleaved: true,
    steps: (half) => half,
    isRare: false,
  },
  {
    name: "sinusoidal-concat",
    title: "concatenated: all sin, all cos (Tensor2Tensor)",
    short: "concatenated",
    isInterleaved: false,
    steps: (half) => half - 1,
    isRare: false,
  },
  {
    name: "sinusoidal-halves",
    title: "halves with the paper’s frequencies (Marian)",
    short: "halves",
    isInterleaved: false,
    steps: (half) => half,
    isRare: true,
  },
];

/**
 * One row of a table.
 * @param {Layout} layout
 * @param {number} position
 * @param {number} width
 */
export function sinusoid({isInterleaved, steps}, position, width) {
  const half = width / 2;
  const row = new Float64Array(width);
  for (let i = 0; i < half; i++) {
    const turn = angle(position, i, steps(half));
    row[isInterleaved ? 2 * i : i] = Math.sin(turn);
    row[isInterleaved ? 2 * i + 1 : half + i] = Math.cos(turn);
  }
  return row;
}

/**
 * The formula of one column.
 * @param {Layout} layout
 * @param {number} column
 * @param {number} width
 */
export function wave({isInterleaved, steps}, column, width) {
  const half = width / 2;
  const index = isInterleaved ? Math.floor(column / 2) : column % half;
  const isSine = isInterleaved ? column % 2 === 0 : column < half;
  const divisor = 10000 ** (index / steps(half));
  return `${isSine ? "sin" : "cos"}(position / ${precise(Number(divisor.toPrecision(4)))})`;
}
