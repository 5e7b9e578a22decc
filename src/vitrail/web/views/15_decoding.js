// Row 15, decoding, time step by time step: what is fed in, what each decoder looks at in the source, the output.

import {element} from "../dom.js";
import {percent} from "../numbers.js";
import {plain, word, wordAt} from "../context.js";
import {oneOf} from "./choices.js";
import {drawDecoding, probabilityOf} from "./decoding_picture.js";
import {largestPlaces} from "./distribution.js";
import {repaint, slider} from "./live.js";
import {wantsStillness} from "../draw/motion.js";
import {meanWeights} from "./mean_attention.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/** @type {import("../views.js").View} */
export const decodingView = {
  id: "decoding",
  row: 15,
  title: "Decoding, time step by time step",
  pickers: ["step"],
  render(context) {
    const {trace, state} = context;
    const frames = trace.target.tokens.length;
    const each = context.option("decoding_heads", "mean") === "each";
    context.controls(
      context.player.controls(context, {
        key: "decoding",
        frame: state.step,
        frames,
        pause: wantsStillness() ? 2600 : 1500,
        show: (step) => context.update({step}, {replace: true}),
      }),
      frames > 1 &&
        slider({
          key: "decoding",
          title: "Step",
          least: 1,
          most: frames,
          value: state.step + 1,
          write: (value) => `${value} of ${frames}`,
          preview: (value) => repaint(context, () => paint(context, value - 1, each)),
          commit: (value) => context.update({step: value - 1}),
        }),
      oneOf({
        key: "decoding-heads",
        title: "Heads",
        choices: [
          {value: "mean", text: "mean"},
          {value: "each", text: "each"},
        ],
        current: each ? "each" : "mean",
        onpick: (value) => context.setOption("decoding_heads", value === "each" ? value : null),
      }),
    );
    paint(context, state.step, each);
  },
};

/**
 * @param {ViewContext} context
 * @param {number} step
 * @param {boolean} each every head on its own
 */
function paint(context, step, each) {
  const {trace} = context;
  const {tokens, input_tokens} = trace.target;
  const layers = trace.layers("decoder");
  const top = layers - 1;
  const seen = meanWeights(trace, `decoder.${top}.cross_attention`, step);
  const strongest = largestPlaces(seen, 1)[0];
  context.lead`Given ${word(input_tokens[step])}${plain(wordsBefore(step))}, the decoders write ${word(tokens[step])},
    with a probability of ${percent(probabilityOf(context, step))}.`;
  context.say`The encoders read the ${trace.source.tokens.length} source tokens once. The keys and values made from
    their output are available to every decoder at every step. The decoders then write one word at a time, and each word
    is fed back in at the bottom.`;
  context.say`Step ${step + 1}: given ${word(input_tokens[step])}${plain(wordsBefore(step))}, decoder ${top} looks
    mostly at ${wordAt(trace.source.tokens, strongest)} (${percent(seen[strongest])} of its attention, averaged over its
    heads). The output is ${word(tokens[step])}, with probability ${percent(probabilityOf(context, step))}.`;
  if (step === tokens.length - 1 && tokens[step] === "<eos>") {
    context.say`${element("span", {}, "This symbol ends the sentence, so the decoder stops.")}`;
  }
  drawDecoding(context, step, each);
}

/** @param {number} step */
function wordsBefore(step) {
  if (step === 0) return "";
  return step === 1 ? " and the word before it" : ` and the ${step} words before it`;
}
