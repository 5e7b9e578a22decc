// Controls that change a picture while they move, and the player that steps through its frames.

import {element} from "../dom.js";

/** @typedef {import("../context.js").ViewContext} ViewContext */

/**
 * Write and draw a view again in place, so that a slider being dragged stays where it is.
 * @param {ViewContext} context
 * @param {() => void} paint
 */
export function repaint(context, paint) {
  const picture = context.drawn;
  context.tooltip.hide();
  context.prose.replaceChildren();
  context.notes.replaceChildren();
  if (picture) {
    picture.node.replaceChildren(picture.description);
    picture.right = 0;
    picture.bottom = 0;
    picture.cells = 0;
  }
  paint();
  picture?.finish();
}

/**
 * A slider with its value in words beside it.
 * @param {{
 *   key: string, title: string, least: number, most: number, step?: number, value: number,
 *   write: (value: number) => string, preview: (value: number) => void, commit: (value: number) => void}} given
 *   preview: while it moves; commit: when it is released
 */
export function slider({key, title, least, most, step = 1, value, write, preview, commit}) {
  const shown = element("output", {class: "value"}, write(value));
  const input = element("input", {
    type: "range",
    min: least,
    max: most,
    step,
    value,
    "aria-label": title,
    "aria-valuetext": write(value),
    "data-key": `slider-${key}`,
    oninput: () => {
      const now = Number(input.value);
      shown.replaceChildren(write(now));
      input.setAttribute("aria-valuetext", write(now));
      preview(now);
    },
    onchange: () => commit(Number(input.value)),
  });
  return inRow(element("span", {class: "picker-title"}, title), input, shown);
}

/**
 * Things that belong together, side by side.
 * @param {...(Node | string)} children
 */
export function inRow(...children) {
  return element("div", {class: "in-row"}, ...children);
}

/** Steps through frames until the last one, or until the reader does something else. */
export class Player {
  constructor() {
    this.isPlaying = false;
    this.isStepping = false;
    /** The product whose sum was drawn last: it grows once, not whenever the view is drawn again. */
    this.lastSum = "";
  }

  /**
   * The buttons; while it plays, the next frame follows after a pause.
   * @param {ViewContext} context
   * @param {{key: string, frame: number, frames: number, show: (frame: number) => void, pause: number}} given
   *   show: go to a frame; pause: milliseconds between two
   */
  controls(context, {key, frame, frames, show, pause}) {
    const last = frames - 1;
    if (frame >= last) this.isPlaying = false;
    /** @param {number} to */
    const step = (to) => {
      this.isStepping = true;
      try {
        show(Math.max(0, Math.min(last, to)));
      } finally {
        this.isStepping = false;
      }
    };
    context.onLeave(() => {
      if (!this.isStepping) this.isPlaying = false; // anything else the reader does stops it
    });
    if (this.isPlaying) {
      const timer = setTimeout(() => step(frame + 1), pause);
      context.onLeave(() => clearTimeout(timer));
    }
    const toggle = () => {
      this.isPlaying = !this.isPlaying;
      step(this.isPlaying && frame >= last ? 0 : frame);
    };
    /** @type {(name: string, text: string, spoken: string, press: () => void, disabled: boolean) => HTMLElement} */
    const button = (name, text, spoken, press, disabled) =>
      element(
        "button",
        {type: "button", title: spoken, "aria-label": spoken, "data-key": `${key}-${name}`, disabled, onclick: press},
        text,
      );
    const isLast = frame >= last;
    return inRow(
      button("back", "◀", "one step back", () => show(frame - 1), frame <= 0),
      button("play", this.isPlaying ? "❚❚ Pause" : "▶ Play", this.isPlaying ? "pause" : "play", toggle, last < 1),
      button("on", "▶|", "one step forward", () => show(frame + 1), isLast),
    );
  }
}
