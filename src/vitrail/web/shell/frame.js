// The frame that every view fills: heading and lead, one row of controls, the picture, the explanation beside or below.
//
// Its upper part has a fixed height, so that a view knows before it draws how much room its picture has: the rest of
// the first screen. On a narrow screen the page scrolls, and only the width counts.

import {element} from "../dom.js";
import {pictureBox} from "../draw/picture.js";
import {savePng, saveSvg} from "../save.js";
import {choicesOf, pickerRow} from "./pickers.js";
import {symbolMeaning} from "../symbols.js";
import {guideSteps, turnButtons} from "./guide.js";
import {twoFigures} from "./two.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("../views.js").View} View
 * @typedef {{room: number, tall: number, most: number}} Space
 *   in picture units: room and tall are what fits on the first screen; most is how far a picture may be enlarged
 */

const PADDING = 16; // around a picture in its box, in units; style/picture.css has the same
const SHORTEST = 300; // units: on a lower screen the page scrolls
const PROJECTED = 1.8; // how much larger than on the page a picture may become on a projector
const FEWEST_CHIPS = 9; // rem: a row of tokens that would be narrower becomes a menu

export class ViewFrame {
  /**
   * @param {Window} window
   * @param {MediaQueryList} narrow
   * @param {(thrown: unknown) => void} complain
   */
  constructor(window, narrow, complain) {
    this.window = window;
    this.narrow = narrow;
    this.complain = complain;
    this.notice = element("div", {class: "notice", hidden: true});
    this.heading = element("div", {class: "heading"});
    this.lead = element("div", {class: "lead-place"});
    this.controls = element("div", {class: "control-row"});
    this.stage = element("div", {class: "stage"});
    this.explanation = element("div", {class: "explanation"});
    this.node = element(
      "section",
      {class: "view"},
      this.notice,
      this.heading,
      this.lead,
      this.controls,
      this.stage,
      this.explanation,
    );
  }

  /**
   * Write the heading, and what stands above it if the translation is a what-if.
   * @param {readonly View[]} views
   * @param {View} view
   * @param {(view: View) => void} go
   * @param {Node | null} notice
   */
  begin(views, view, go, notice) {
    this.notice.replaceChildren(...(notice ? [notice] : []));
    this.notice.hidden = !notice;
    const [previous, next] = turnButtons(views, view, go);
    this.heading.replaceChildren(
      element("span", {class: "view-number"}, String(view.row)),
      element("h1", {class: "view-title"}, view.title),
      previous,
      next,
    );
    this.steps = guideSteps(views, view, go);
  }

  /**
   * How large a picture may be.
   * @returns {Space}
   */
  space() {
    const root = this.window.document.documentElement;
    const unit = (parseFloat(getComputedStyle(root).fontSize) || 16) / 16;
    const {left, right, top} = this.stage.getBoundingClientRect();
    const room = Math.max(240, Math.floor((right - left - 4) / unit - 2 * PADDING));
    if (this.narrow.matches) return {room, tall: Infinity, most: 1};
    const below = this.window.innerHeight - (top + this.window.scrollY);
    const tall = Math.max(SHORTEST, Math.floor((below - 12) / unit - 2 * PADDING));
    return {room, tall, most: root.dataset.projector ? PROJECTED : 1};
  }

  /**
   * Put a rendered view into the frame.
   * @param {View} view
   * @param {ViewContext} context
   * @param {HTMLElement | null} missing stands in for a picture whose numbers are not here
   * @param {{context: ViewContext, missing: HTMLElement | null} | null} beside the same view of a second translation
   */
  fill(view, context, missing, beside = null) {
    const {trace, state, theme, update} = context;
    const given = {trace, state, theme, update};
    const pickers = view.pickers.map((picker) => pickerRow(picker, given));
    const folded = missing ? null : this.folded(context);
    this.controls.replaceChildren(...pickers, ...(missing ? [] : context.controlBar.childNodes), ...(folded ?? []));
    const chosen = view.pickers.map((picker) => {
      const {title, choices} = choicesOf(picker, trace, state, theme);
      const {text = "", spoken = ""} = choices.find((choice) => choice.current) ?? {};
      return /^\d+$/.test(text)
        ? spoken
        : picker === "token" || picker === "step"
          ? `${title.toLowerCase()} ${text}`
          : text;
    });
    this.lead.replaceChildren(context.leading, element("p", {class: "chosen"}, chosen.join(" · ")));
    if (beside) this.stage.replaceChildren(twoFigures([{context, missing}, beside]));
    else this.stage.replaceChildren(missing ?? (context.drawn ? this.figure(context.drawn) : ""));
    this.explanation.replaceChildren(
      context.prose,
      symbolList(view, trace),
      context.notes,
      ...(this.steps ? [this.steps] : []),
    );
    this.fitControls(view, given);
    for (const row of this.controls.querySelectorAll(".picker")) showCurrent(row);
  }

  /**
   * Make the row of controls as narrow as its place: first without the names of keys, then with the sentence's tokens
   * in a menu. On a narrow screen the whole row scrolls instead.
   * @param {View} view
   * @param {Parameters<typeof pickerRow>[1]} given
   */
  fitControls(view, given) {
    const {controls} = this;
    controls.classList.remove("tight");
    if (this.narrow.matches) return;
    const least = FEWEST_CHIPS * (parseFloat(getComputedStyle(this.window.document.documentElement).fontSize) || 16);
    const isCrowded = () =>
      controls.scrollWidth > controls.clientWidth ||
      [...controls.querySelectorAll(".long > .picker")].some(
        ({clientWidth, scrollWidth}) => clientWidth < Math.min(least, scrollWidth),
      );
    if (isCrowded()) controls.classList.add("tight");
    for (const picker of view.pickers.filter((one) => one === "token" || one === "step")) {
      if (!isCrowded()) return;
      controls.querySelector(`.picker-${picker}`)?.parentElement?.replaceWith(pickerRow(picker, given, {menu: true}));
    }
  }

  /**
   * The controls that are needed less often: a button opens them, and they stay open while the view is drawn again.
   * @param {ViewContext} context
   */
  folded(context) {
    if (!context.folded.childNodes.length) return null;
    const wasOpen = this.controls.querySelector("details.more")?.hasAttribute("open") && context.viewId === this.last;
    this.last = context.viewId;
    return [
      element(
        "details",
        {class: "more", open: wasOpen},
        element("summary", {"data-key": "more"}, "More"),
        context.folded,
      ),
    ];
  }

  /** @param {import("../draw/picture.js").Picture} picture */
  figure(picture) {
    const {node, name} = picture;
    return element(
      "figure",
      {class: "figure", tabindex: -1},
      pictureBox(picture),
      element(
        "figcaption",
        {class: "save-bar"},
        element("span", {}, "Save"),
        element("button", {type: "button", class: "small", onclick: () => saveSvg(node, name)}, "SVG"),
        element(
          "button",
          {type: "button", class: "small", onclick: () => savePng(node, name).catch(this.complain)},
          "PNG",
        ),
      ),
    );
  }
}

/**
 * What the special symbols mean that the reader sees in a view: those of the sentence and its translation.
 * @param {View} view
 * @param {import("../trace.js").Trace} trace
 */
function symbolList({pickers, row}, trace) {
  const isAboutTokens = pickers.includes("token") || pickers.includes("step") || row >= 18;
  const tokens = new Set([...trace.source.tokens, ...trace.target.input_tokens, ...trace.target.tokens]);
  const found = isAboutTokens ? [...tokens].filter((token) => symbolMeaning(token)) : [];
  if (!found.length) return element("p", {hidden: true});
  return element(
    "p",
    {class: "symbols"},
    ...found.flatMap((token, index) => [
      index ? "; " : "",
      element("b", {class: "word"}, token),
      ` ${symbolMeaning(token)}`,
    ]),
    ".",
  );
}

/**
 * Scroll a picker with many choices to the pressed one, without scrolling anything else.
 * @param {Element} row
 */
function showCurrent(row) {
  const current = row.querySelector('[aria-checked="true"]');
  if (!(current instanceof HTMLElement)) return;
  row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
}
