// The bar that shows how much of a model is here.

import {element} from "../dom.js";
import {decimal} from "../numbers.js";

/** A bar at the top of the page, while a model is on its way. */
export class LoadingBar {
  /** @param {Document} page */
  constructor(page) {
    this.bar = element("progress", {max: 1, value: 0, "aria-label": "loading the model"});
    this.words = element("span", {});
    this.node = element("div", {class: "loading", role: "status", hidden: true}, this.words, this.bar);
    page.body.append(this.node);
  }

  /**
   * @param {string} name
   * @param {number} done bytes
   * @param {number} total bytes
   */
  show(name, done, total) {
    this.node.hidden = false;
    this.bar.value = Math.min(1, done / total);
    this.words.textContent = `${name}: ${decimal(done / 1e6, 1)} of ${decimal(total / 1e6, 1)} MB`;
  }

  hide() {
    this.node.hidden = true;
  }
}
