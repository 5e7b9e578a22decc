// The small box with the number under the pointer or the keyboard's focus.

import {element} from "../dom.js";

/** One for the whole page. */
export class Tooltip {
  /** @param {HTMLElement} home */
  constructor(home) {
    this.node = element("div", {class: "tooltip", hidden: true, "aria-hidden": "true"});
    home.append(this.node);
  }

  /**
   * @param {string[]} lines the first is what, the others its numbers
   * @param {DOMRect | {left: number, top: number, width: number, height: number}} near what it is about, on the screen
   */
  show(lines, near) {
    this.node.replaceChildren(...lines.map((line, index) => element("div", {class: index ? "" : "first"}, line)));
    this.node.hidden = false;
    const {innerWidth, innerHeight} = window;
    const own = this.node.getBoundingClientRect();
    const left = Math.max(8, Math.min(near.left + near.width / 2 - own.width / 2, innerWidth - own.width - 8));
    const above = near.top - own.height - 10;
    const top = above > 8 ? above : Math.min(near.top + near.height + 10, innerHeight - own.height - 8);
    this.node.style.left = `${left}px`;
    this.node.style.top = `${top}px`;
  }

  hide() {
    this.node.hidden = true;
  }
}
