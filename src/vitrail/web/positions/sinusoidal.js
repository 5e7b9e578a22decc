// Sinusoidal positions: a row of sines and cosines is added to each embedding, in one of three layouts.

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
        context.say`It adds a position vector of ${d_model} numbers to each embedding: sines and cosines, of which the
          first change fast from word to word and the last hardly at all. They are not learned, so the table continues
          past the longest sentence that the model has seen.`;
        context.say`This model’s layout is ${own.short}. The layouts contain almost the same waves in a different order;
          a model can learn with any of them.`;
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
