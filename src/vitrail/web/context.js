// What a view gets: the trace, where the reader is, and a place to write and draw. The contract is in views.js.

import {attentionOf} from "./state.js";
import {element} from "./dom.js";
import {Picture} from "./draw/picture.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Changes} Changes
 * @typedef {import("./request.js").TraceRequest} TraceRequest
 * @typedef {import("./dom.js").Child} Child
 * @typedef {{
 *   trace: Trace, before: Trace | null, second: Trace | null, isComparing: boolean, state: State,
 *   theme: import("./colour.js").Theme,
 *   space: import("./shell/frame.js").Space,
 *   tooltip: import("./draw/tooltip.js").Tooltip, ruler: import("./draw/ruler.js").Ruler,
 *   player: import("./views/live.js").Player, request: TraceRequest | null,
 *   cameFrom: string | null,
 *   update: (changes: Changes, how?: {replace?: boolean}) => void,
 *   translate: ((changes: Partial<TraceRequest>) => Promise<void>) | null,
 *   compare: ((changes: Record<string, string> | null) => void) | null,
 *   models: import("./source.js").ModelEntry[], studio: import("./source.js").StudioSource | null,
 *   fetcher: import("./fetching.js").LayerFetcher | null}} ContextParts
 */

/** One rendering of one view. */
export class ViewContext {
  /**
   * @param {ContextParts} parts
   * @param {string} viewId
   */
  constructor(parts, viewId) {
    this.viewId = viewId;
    this.trace = parts.trace;
    /** The trace before the last what-if, of the same sentence and model, to show what changed. */
    this.before = parts.before;
    /** The view that was shown before this one; null if this one is only drawn again. */
    this.cameFrom = parts.cameFrom;
    /** The second of two translations that are shown at once (compare.js); null if there is one. */
    this.second = parts.second;
    /** Whether a second translation was asked for; it may still be on its way. */
    this.isComparing = parts.isComparing;
    this.state = parts.state;
    this.theme = parts.theme;
    this.space = parts.space;
    /** Units of a picture that fit side by side. */
    this.room = parts.space.room;
    /** Units that fit above each other on the first screen; infinite where the page scrolls anyway (on a phone). */
    this.tall = parts.space.tall;
    this.tooltip = parts.tooltip;
    this.ruler = parts.ruler;
    /** Steps through the frames of a view; it goes on playing while the view is drawn again. */
    this.player = parts.player;
    /** The request for this trace; null in a file without the model. */
    this.request = parts.request;
    this.update = parts.update;
    /** Send the request again with some changes; null in a file without the model. */
    this.translate = parts.translate;
    /** Show a second translation: the request with some options of the address changed. Null in a file. */
    this.compare = parts.compare;
    this.fetcher = parts.fetcher;
    /** The studio, for more than translations (source.js); else null. */
    this.studio = parts.studio;
    /** The models to choose from; none in a file without the model. */
    this.models = parts.models;
    const {stack, layer} = parts.state;
    /** The attention that the state names, by its path in the trace: "encoder.0.self_attention". */
    this.attention = `${stack}.${layer}.${attentionOf(parts.state)}`;
    this.leading = element("p", {class: "lead"});
    this.prose = element("div", {class: "prose"});
    this.controlBar = element("div", {class: "controls"});
    this.folded = element("div", {class: "folded"});
    this.notes = element("div", {class: "notes"});
    /** @type {Picture | null} */
    this.drawn = null;
    /** @type {(() => void)[]} */
    this.leaving = [];
  }

  /**
   * Write the line above the picture: one sentence, of at most 110 letters or so. The rest is for `say`.
   * @param {TemplateStringsArray} strings
   * @param {...(string | number | Node)} values
   */
  lead(strings, ...values) {
    this.leading.replaceChildren();
    write(this.leading, strings, values);
    this.leading.title = this.leading.textContent ?? ""; // in case it is cut off
  }

  /**
   * Write a paragraph of the explanation. Values are text, never markup; numbers and strings are set in bold.
   * @param {TemplateStringsArray} strings
   * @param {...(string | number | Node)} values
   */
  say(strings, ...values) {
    const paragraph = element("p");
    write(paragraph, strings, values);
    this.prose.append(paragraph);
    return paragraph;
  }

  /**
   * The view's one picture. `finish` is called for you.
   * @param {string} label what it shows, in a few words
   */
  picture(label) {
    if (!this.drawn) {
      this.drawn = new Picture({
        name: `vitrail-${this.viewId}`,
        label,
        theme: this.theme,
        tooltip: this.tooltip,
        ruler: this.ruler,
        ...this.space,
      });
    }
    return this.drawn;
  }

  /**
   * Buttons, sliders and the like, in the one row above the picture.
   * @param {...Child} children
   */
  controls(...children) {
    append(this.controlBar, children);
  }

  /**
   * Controls that are needed less often: the button "More" at the end of the row opens them.
   * @param {...Child} children
   */
  more(...children) {
    append(this.folded, children);
  }

  /**
   * HTML that belongs to the explanation: tables, remarks.
   * @param {...Child} children
   */
  note(...children) {
    append(this.notes, children);
  }

  /**
   * A setting of this view alone, kept in the address.
   * @param {string} key
   * @param {string} fallback
   */
  option(key, fallback) {
    return this.state.options[key] ?? fallback;
  }

  /**
   * @param {string} key
   * @param {string | null} value null: the default
   * @param {{replace?: boolean}} [how]
   */
  setOption(key, value, how) {
    this.update({options: {[key]: value}}, how);
  }

  /**
   * Go to another view.
   * @param {string} view
   * @param {Changes} [changes]
   */
  go(view, changes = {}) {
    this.update({...changes, view});
  }

  /**
   * Whether a layer's matrices are here. If not, the studio fetches them and the view is drawn again.
   * @param {string} layer "encoder.0"
   */
  weights(layer) {
    if (this.trace.hasWeights(layer)) return true;
    this.fetcher?.weights(layer);
    return false;
  }

  /**
   * Whether everything a layer computed is here, for views that can do without it. If not, the studio fetches it and
   * the view is drawn again.
   * @param {string} layer "encoder.0"
   */
  inside(layer) {
    if (this.trace.hasInside(layer)) return true;
    if (this.trace.id !== null) this.fetcher?.inside(layer);
    return false;
  }

  /** Whether it is being computed what happens without each word; the view is drawn again when it is there. */
  leftOut() {
    return this.trace.facts.left_out === undefined && this.fetcher !== null && this.fetcher.leftOut();
  }

  /**
   * What to show instead of a control that needs a model, in a file that has none.
   * @param {string} what "switch heads off"
   */
  needsStudio(what) {
    return element(
      "p",
      {class: "needs-studio"},
      `To ${what}, open this model with `,
      element("code", {}, "vitrail studio"),
      ".",
    );
  }

  /**
   * Clean up (timers, listeners) when the view is left or drawn again.
   * @param {() => void} tidy
   */
  onLeave(tidy) {
    this.leaving.push(tidy);
  }

  leave() {
    for (const tidy of this.leaving) tidy();
    this.leaving = [];
  }
}

/**
 * @param {HTMLElement} parent
 * @param {TemplateStringsArray} strings
 * @param {(string | number | Node)[]} values
 */
function write(parent, strings, values) {
  strings.forEach((text, index) => {
    parent.append(text.replace(/\s+/g, " "));
    if (index >= values.length) return;
    const value = values[index];
    parent.append(value instanceof Node ? value : element("b", {class: "value"}, String(value)));
  });
}

/**
 * @param {HTMLElement} parent
 * @param {Child[]} children
 */
function append(parent, children) {
  for (const child of children) if (child) parent.append(child instanceof Node ? child : String(child));
}

/**
 * A token of the sentence, in prose.
 * @param {string} text
 */
export function word(text) {
  return element("span", {class: "word"}, text);
}

/**
 * One of several tokens, in prose; with its position if another looks the same.
 * @param {readonly string[]} tokens
 * @param {number} index
 */
export function wordAt(tokens, index) {
  const name = element("span", {}, word(tokens[index]));
  if (tokens.indexOf(tokens[index]) !== tokens.lastIndexOf(tokens[index])) name.append(` (at ${index})`);
  return name;
}

/**
 * A text in prose that is not set in bold.
 * @param {string} text
 */
export function plain(text) {
  return document.createTextNode(text);
}

/**
 * A letter with a meaning, in its colour: `coloured("q", "q")`.
 * @param {import("./colour.js").Meaning} meaning
 * @param {string} text
 */
export function coloured(meaning, text) {
  return element("b", {class: `meaning-${meaning}`}, text);
}
