// Sinusoidal positions: to each embedding a row of sines and cosines is added, in one of three layouts.

import {drawAdded} from "./added.js";
import {PLAIN} from "./plain.js";
import {LAYOUTS, sinusoid} from "./sinusoids.js";

/** @typedef {import("./plain.js").PositionKind} PositionKind */

export const interleavedPositions = sinusoidal(LAYOUTS[0]);
export const concatenatedPositions = sinusoidal(LAYOUTS[1]);
export const halvedPositions = sinusoidal(LAYOUTS[2]);

/**
 * @param {import("./sinusoids.js").Layout} own
 * @returns {PositionKind}
 */
function sinusoidal(own) {
  return {
    ...PLAIN,
    name: own.name,
    layout: own,
    say: {
      positions(context) {
        const {d_model} = context.trace.config;
        context.say`To each embedding it adds a vector of ${d_model} numbers that stands for the position: sines and cosines, of
          which the first turn fast from word to word and the last hardly at all. Nothing of this was learned, so the table
          goes on past the longest sentence that the model ever saw.`;
        context.say`This model’s layout is ${own.short}. The layouts hold almost the same waves in
          another order, and a model could learn with any of them.`;
      },
    },
    draw: (context, layout, y) => drawAdded(context, layout === own ? null : layout, y),
    describe({trace, state}) {
      const tokens = trace.tokens(state.stack).length;
      return `Embedding plus position gives the input of ${tokens} tokens, ${trace.config.d_model} numbers each.`;
    },
    check: {...PLAIN.check, added: (trace) => (row) => sinusoid(own, row, trace.config.d_model)},
  };
}
