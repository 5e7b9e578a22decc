// The layout of the page: header, guide and map on the side, the view in the middle.

import {Badge} from "./badge.js";
import {element} from "../dom.js";
import {keyHelp} from "./keyboard.js";
import {markOfVitrail, themePicker} from "./header.js";
import {Tooltip} from "../draw/tooltip.js";

/**
 * Build the page's frame and return its parts.
 * @param {Window} window
 * @param {import("../theme.js").ThemeKeeper} themes
 * @param {() => void} project switch projector mode on or off
 */
export function layOutPage(window, themes, project) {
  const home = window.document.getElementById("vitrail") ?? window.document.body;
  const badge = new Badge();
  const model = element("div", {class: "model-name"});
  const untrained = element("p", {class: "untrained", hidden: true}, "not trained yet: these are its initial weights");
  const sentence = element("div", {class: "sentence-place"});
  const guide = element("nav", {class: "guide-place", "aria-label": "Guide"});
  const map = element("div", {class: "map-place"});
  const main = element("main", {class: "main", tabindex: -1});
  const narrow = window.matchMedia("(max-width: 56rem)");
  const side = element("details", {class: "side"}, element("summary", {}, "Guide and map"), guide, map);
  const fold = () => {
    side.open = !narrow.matches;
  };
  fold();
  narrow.addEventListener("change", fold);

  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.focus();
  };
  const projector = element(
    "button",
    {type: "button", class: "small projector", "data-key": "projector", title: "Projector mode (f)", onclick: project},
    "Projector ",
    element("kbd", {}, "f"),
  );
  const header = element(
    "header",
    {class: "header"},
    element("div", {class: "brand"}, markOfVitrail(), element("span", {class: "brand-name"}, "Vitrail"), model),
    untrained,
    sentence,
    element("div", {class: "tools"}, badge.node, keyHelp(), projector, themePicker(themes)),
  );
  home.replaceChildren(
    element("a", {class: "skip", href: "#", onclick: skip}, "Skip to the view"),
    header,
    element("div", {class: "body"}, side, main),
  );
  /** How much of the top of the window the header covers while the page scrolls. */
  const covered = () => (narrow.matches ? 0 : header.getBoundingClientRect().height);
  return {badge, model, untrained, sentence, guide, map, main, side, narrow, covered, tooltip: new Tooltip(home)};
}
