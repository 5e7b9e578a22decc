// Light or dark: as the reader chose, else as the system says.

import {customProperties} from "./palette.js";

/**
 * @typedef {import("./palette.js").Theme} Theme
 * @typedef {"auto" | Theme} ThemeChoice
 */

const KEY = "vitrail-theme";
const SYSTEM_IS_DARK = "(prefers-color-scheme: dark)";

/** Knows the theme, remembers the choice if it can, and gives the document its colours. */
export class ThemeKeeper {
  /** @param {Window} window */
  constructor(window) {
    this.window = window;
    this.choice = rememberedChoice(window);
    /** @type {(() => void)[]} */
    this.subscribers = [];
    window.matchMedia(SYSTEM_IS_DARK).addEventListener("change", () => this.apply());
    this.apply();
  }

  get theme() {
    return themeOf(this.window, this.choice);
  }

  /** @param {ThemeChoice} choice */
  choose(choice) {
    this.choice = choice;
    try {
      this.window.localStorage.setItem(KEY, choice);
    } catch {
      // A notebook's frame has no storage: the choice lasts as long as the page.
    }
    this.apply();
  }

  /** @param {() => void} subscriber */
  subscribe(subscriber) {
    this.subscribers.push(subscriber);
  }

  apply() {
    applyTheme(this.window.document.documentElement, this.theme);
    for (const subscriber of this.subscribers) subscriber();
  }
}

/**
 * The theme that a choice means.
 * @param {Window} window
 * @param {ThemeChoice} choice
 * @returns {Theme}
 */
export function themeOf(window, choice) {
  if (choice !== "auto") return choice;
  return window.matchMedia(SYSTEM_IS_DARK).matches ? "dark" : "light";
}

/**
 * What the reader chose last time.
 * @param {Window} window
 * @returns {ThemeChoice}
 */
export function rememberedChoice(window) {
  try {
    const found = window.localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "auto";
  } catch {
    return "auto";
  }
}

/**
 * Mark a document with its theme, and hand the theme's colours to its style sheets.
 * @param {HTMLElement} root
 * @param {Theme} theme
 */
export function applyTheme(root, theme) {
  root.dataset.theme = theme;
  for (const [name, colour] of customProperties(theme)) root.style.setProperty(name, colour);
}
