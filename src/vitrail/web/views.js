// The views in guided order, from the black box to beam search, and what a view is.
//
// A view is a module `views/NN_name.js` (NN: its row in the list of pictures) that exports one constant:
//
//     export const scoreView = {
//       id: "score",                                  // in the address: #view=score
//       row: 9,                                       // its number in the guide
//       title: "Score",                               // in the heading and the guide
//       pickers: ["attention", "layer", "head", "token"],   // the pickers that the shell shows above the picture
//       render(context) { … },
//     };
//
// It fills the frame (shell/frame.js): heading and lead, one row of controls, the picture, the explanation. The shell
// puts the pickers into the row of controls; they change the state:
//   "attention"  one of three: encoder self-attention, decoder self-attention, encoder-decoder attention
//   "stack"      encoder or decoder              "sublayer"  the sub-layers of the chosen stack
//   "layer"      the layers of the chosen stack  "head"      the heads
//   "token"      the positions of the chosen stack: the source's tokens, or those fed to the decoder
//   "step"       the decoding steps: step t chooses target token t
// The left and right keys step through tokens (or steps; in a view without them, through the views), up and down
// through layers, [ and ] through heads.
//
// `render(context)` is called whenever anything changes: trace, state, theme, size. It draws everything again and keeps
// nothing. It gets (context.js):
//   context.trace          the trace (trace.js): context.trace.array("encoder.0.self_attention.q").row(head, token)
//   context.state          {view, stack, layer, sublayer, head, token, step, options}; always within what the trace has
//   context.attention      the attention that the state names, by its path in the trace: "encoder.0.self_attention"
//   context.update(changes, {replace: true})   change the state; `replace` for scrubbing and playing
//   context.go("score", {token: 3})            go to another view
//   context.option(key, fallback), context.setOption(key, value)   the view's own settings, kept in the address as
//                                              strings; choose keys that no other view uses, e.g. "bars"
//   context.lead`${word("it")} becomes ${128} numbers.`    the one line above the picture, at most 110 letters or so
//   context.say`The word ${word("it")} scores ${decimal(9.1)}.`    a paragraph of the explanation, one of two or three
//   context.controls(node, …)                  HTML controls in the one row above the picture, which does not wrap
//   context.more(node, …)                      controls that are needed less often, behind the button "More"
//   context.picture("what it shows")           the view's one picture (draw/picture.js), to draw into with draw/*.js;
//                                              call .describe("…") with a sentence that contains the real numbers
//   context.room, context.tall                 picture units that fit side by side and above each other on the first
//                                              screen. A larger picture is scaled down to fit. Rather than let words
//                                              get small, leave out, fold, or split with a control. On a phone `tall`
//                                              is infinite: the page scrolls.
//   context.note(node, …)                      HTML of the explanation: tables, remarks
//   context.theme                              "light" or "dark", for colour.js
//   context.before                             the trace before the last what-if, or null
//   context.translate                          null without a model; else `await translate({heads_off: {…}})` sends
//                                              the request again with this change (request.js) and draws the new trace
//   context.second, context.compare({text: "…"})   the second of two translations shown at once (view 27), or null; the
//                                              shell draws every other view for both, so views need not care
//   context.studio                             only in the studio, for more than translations: `studio.run(model)`
//   context.needsStudio("switch heads off")    the line to show if `translate` is null
//   context.weights("encoder.0")               whether that layer's matrices are here (if not, they are fetched)
//   context.inside("encoder.0")                whether all arrays of that layer are here (likewise). For a long
//                          sentence some layers have only their attention weights and their output. A view that needs
//                          more just asks for it: the shell then says what is missing.
//   context.player                             steps through a view's frames (views/live.js) across renderings
//   context.onLeave(() => …)                   stop timers
// Draw with `strip`, `matrix`, `frame`, `box`, `arrow`, `bars`, `lines`, `numberTable`, `label` and `valueLegend`. Each
// takes the picture and one object, and most return the box they cover. Their numbers can be read by pointer and
// keyboard without further work. Text from a trace goes through these or through dom.js, never innerHTML.
//
// Modules may only use `import {a, b} from "./x.js";` (no renaming, no circles) and `export function/const/class`, one
// name each; a name is exported by one module only. Python joins them into one script (explain/join.py).

import {blackBoxView} from "./views/01_black_box.js";
import {stacksView} from "./views/02_stacks.js";
import {layerView} from "./views/03_layer.js";
import {embeddingsView} from "./views/04_embeddings.js";
import {positionsView} from "./views/05_positions.js";
import {pathsView} from "./views/06_paths.js";
import {attentionLinesView} from "./views/07_attention_lines.js";
import {queryKeyValueView} from "./views/08_query_key_value.js";
import {scoreView} from "./views/09_score.js";
import {softmaxView} from "./views/10_softmax.js";
import {weightedValuesView} from "./views/11_weighted_values.js";
import {matricesView} from "./views/12_matrices.js";
import {headsView} from "./views/13_heads.js";
import {residualsView} from "./views/14_residuals.js";
import {decodingView} from "./views/15_decoding.js";
import {maskedView} from "./views/16_masked.js";
import {outputView} from "./views/17_output.js";
import {vocabularyView} from "./views/18_vocabulary.js";
import {lossView} from "./views/19_loss.js";
import {untrainedView} from "./views/20_untrained.js";
import {searchView} from "./views/21_search.js";
import {trainingRunView} from "./views/22_training_run.js";
import {feedForwardView} from "./views/23_feed_forward.js";
import {allHeadsView} from "./views/24_all_heads.js";
import {layersSayView} from "./views/25_layers_say.js";
import {whatMatteredView} from "./views/26_what_mattered.js";
import {twoAtOnceView} from "./views/27_two_at_once.js";

/**
 * @typedef {import("./context.js").ViewContext} ViewContext
 * @typedef {"attention" | "stack" | "sublayer" | "layer" | "head" | "token" | "step"} Picker
 * @typedef {{id: string, row: number, title: string, pickers: Picker[], render: (context: ViewContext) => void,
 *   place?: (state: import("./state.js").State, trace: import("./trace.js").Trace) =>
 *     ReturnType<typeof import("./shell/map.js").placeOf>,
 *   opensUnsure?: boolean}} View
 *   opensUnsure: without a chosen step it shows the one at which the model was least sure; place: what the map marks,
 *   for a view without the pickers that would say so
 */

/** @type {readonly View[]} */
export const VIEWS = [
  blackBoxView,
  stacksView,
  layerView,
  embeddingsView,
  positionsView,
  pathsView,
  attentionLinesView,
  queryKeyValueView,
  scoreView,
  softmaxView,
  weightedValuesView,
  matricesView,
  headsView,
  residualsView,
  decodingView,
  maskedView,
  outputView,
  vocabularyView,
  lossView,
  untrainedView,
  searchView,
  trainingRunView,
  feedForwardView,
  allHeadsView,
  layersSayView,
  whatMatteredView,
  twoAtOnceView,
];

/**
 * The view with this id, or the first.
 * @param {string} id
 */
export function viewOf(id) {
  return VIEWS.find((view) => view.id === id) ?? VIEWS[0];
}
