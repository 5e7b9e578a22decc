// Every kind of position that the page knows: the same list as the model's (a test holds them equal).

import {Problem} from "../problem.js";
import {alibiPositions} from "./alibi.js";
import {learnedPositions} from "./learned.js";
import {relativePositions} from "./relative.js";
import {rotaryPositions} from "./rotary.js";
import {concatenatedPositions, halvedPositions, interleavedPositions} from "./sinusoidal.js";

/** @type {readonly import("./plain.js").PositionKind[]} */
export const POSITION_KINDS = [
  interleavedPositions,
  concatenatedPositions,
  halvedPositions,
  learnedPositions,
  relativePositions,
  rotaryPositions,
  alibiPositions,
];

/**
 * The kind of positions that a model has.
 * @param {import("../trace.js").Trace} trace
 */
export function positionsOf(trace) {
  const {positions} = trace.config;
  const kind = POSITION_KINDS.find(({name}) => name === positions);
  if (!kind) throw new Problem(`this page does not know the positions '${positions}'`, {fix: "upgrade vitrail"});
  return kind;
}
