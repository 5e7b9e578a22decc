// Learned positions: to each embedding a vector is added that was trained for its position.

import {count} from "../numbers.js";
import {drawAdded} from "./added.js";
import {PLAIN} from "./plain.js";

/** @type {import("./plain.js").PositionKind} */
export const learnedPositions = {
  ...PLAIN,
  name: "learned",
  say: {
    positions(context) {
      context.say`To each embedding it adds a vector that stands for the position. In this model these vectors were learned,
        ${count(context.trace.config.max_positions)} of them, and there is no formula: past the last one it cannot go. The tables
        further down are the paper’s, for comparison.`;
    },
  },
  draw: (context, _layout, y) => drawAdded(context, null, y),
  describe({trace, state}) {
    const tokens = trace.tokens(state.stack).length;
    return `Embedding plus position gives the input of ${tokens} tokens, ${trace.config.d_model} numbers each.`;
  },
  check: {
    ...PLAIN.check,
    added(trace, side) {
      const table = trace.weight(`${side}_positions.table`);
      return table && ((row) => table.row(row));
    },
  },
};
