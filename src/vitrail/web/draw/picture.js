// A picture: an SVG that grows with what is drawn into it, has a description for screen readers, and can be saved.

import {element, shape} from "../dom.js";

/**
 * @typedef {import("../colour.js").Theme} Theme
 * @typedef {import("./tooltip.js").Tooltip} Tooltip
 * @typedef {import("./ruler.js").Ruler} Ruler
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 * @typedef {{
 *   x: number, y: number, rows: number, columns: number, cellWidth: number, cellHeight: number, largest: number,
 *   value: (row: number, column: number) => number, name: string, key?: string}} Grid a heat map in the picture
 */

const SMALLEST = 0.55; // on a phone; below that a picture scrolls sideways

/** Drawing functions add their shapes and say how far they reach. One unit is a sixteenth of a rem. */
export class Picture {
  /**
   * @param {{
   *   name: string, label: string, theme: Theme, tooltip: Tooltip, ruler: Ruler, room: number, tall?: number,
   *   most?: number}} given
   *   name: of the file it is saved as, unique on the page; label: what it shows, in a few words; room, tall: units
   *   that fit without scrolling, to which a larger picture is scaled down; most: how far a smaller one is enlarged
   */
  constructor({name, label, theme, tooltip, ruler, room, tall = Infinity, most = 1}) {
    this.name = name;
    this.label = label;
    this.theme = theme;
    this.tooltip = tooltip;
    this.ruler = ruler;
    this.room = room;
    this.tall = tall;
    this.most = most;
    this.right = 0;
    this.bottom = 0;
    /** Cells drawn as shapes so far: a browser can handle a few thousand. */
    this.cells = 0;
    /** @type {Grid[]} the heat maps drawn so far, to compare them with those of another picture */
    this.grids = [];
    /** @type {CanvasRenderingContext2D | null} where small images are painted, once there is one */
    this.easel = null;
    const id = `${name}-description`;
    this.description = shape("desc", {id});
    // No <title> on the page: browsers would show it over our tooltips. Saved pictures get one.
    this.node = shape("svg", {class: "picture", role: "img", "aria-label": label, "aria-describedby": id});
    this.node.append(this.description);
    this.current = /** @type {SVGElement} */ (this.node);
  }

  /**
   * Describe in words, with the real numbers, what the picture shows.
   * @param {string} text
   */
  describe(text) {
    this.description.textContent = text;
  }

  /**
   * @template {SVGElement} Shape
   * @param {Shape} drawn
   * @param {Box} [reach] what it covers, to make the picture large enough
   * @returns {Shape}
   */
  add(drawn, reach) {
    this.current.append(drawn);
    if (reach) this.reach(reach.x + reach.width, reach.y + reach.height);
    return drawn;
  }

  /**
   * Draw several things into one group.
   * @param {import("../dom.js").Attributes} attributes
   * @param {() => void} draw
   */
  group(attributes, draw) {
    const group = shape("g", attributes);
    this.current.append(group);
    this.into(group, draw);
    return group;
  }

  /**
   * Draw into a group that is there already, such as one that is drawn again by itself.
   * @param {SVGElement} group
   * @param {() => void} draw
   */
  into(group, draw) {
    const outer = this.current;
    this.current = group;
    try {
      draw();
    } finally {
      this.current = outer;
    }
  }

  /**
   * @param {number} right
   * @param {number} bottom
   */
  reach(right, bottom) {
    this.right = Math.max(this.right, right);
    this.bottom = Math.max(this.bottom, bottom);
  }

  /** The keyboard can reach something in it, so to a screen reader it is a group and not one image. */
  makeInteractive() {
    this.node.setAttribute("role", "group");
  }

  /** Set the picture's size: its own, or the size at which it fits. */
  finish() {
    const width = Math.ceil(this.right + 4);
    const height = Math.ceil(this.bottom + 4);
    const scale = fittingScale({width, height}, this);
    this.node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.node.setAttribute("data-width", String(width));
    this.node.setAttribute("data-height", String(height));
    this.node.setAttribute("data-scale", scale.toFixed(3));
    this.node.style.width = `${(width * scale) / 16}rem`;
    this.node.style.height = `${(height * scale) / 16}rem`;
    return this.node;
  }
}

/**
 * The scale at which a picture fits: in height always, in width unless its words would become too small to read.
 * @param {{width: number, height: number}} size
 * @param {{room: number, tall: number, most: number}} space
 */
export function fittingScale({width, height}, {room, tall, most}) {
  const across = room / width >= SMALLEST ? room / width : 1;
  return Math.min(most, across, tall / height);
}

/**
 * A box for a picture, in which it scrolls if it is wider than the page.
 * @param {Picture} picture
 */
export function pictureBox(picture) {
  const node = picture.finish();
  const scroller = element("div", {class: "picture-scroller", role: "region", "aria-label": picture.label}, node);
  const box = element("div", {class: "picture-box"}, scroller);
  const update = () => {
    const hidden = scroller.scrollWidth - scroller.clientWidth;
    box.classList.toggle("more-left", scroller.scrollLeft > 2);
    box.classList.toggle("more-right", scroller.scrollLeft < hidden - 2);
    // The keyboard must reach a box that scrolls; for one that does not, a stop would be useless.
    if (hidden > 2) scroller.setAttribute("tabindex", "0");
    else scroller.removeAttribute("tabindex");
  };
  scroller.addEventListener("scroll", update, {passive: true});
  if (typeof ResizeObserver === "function") new ResizeObserver(update).observe(scroller);
  return box;
}
