// Learned positions: a vector that was trained for the position is added to each embedding.

import {count} from "../numbers.js";
import {drawAdded} from "./added.js";
import {PLAIN} from "./plain.js";

/** @type {import("./plain.js").PositionKind} */
export const learnedPositions = {
  ...PLAIN,
  name: "learned",
  say: {
    positions(context) {
      const {max_positions} = context.trace.config;
      context.say`It adds a position vector to each embedding. This model learned ${count(max_positions)} such vectors
        in training. They follow no formula, so it cannot handle longer sentences. The tables below are the paper’s, for
        comparison.`;
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
