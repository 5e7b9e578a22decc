// Light or dark: as the reader chose, else as the system says.

/** @typedef {"auto" | "light" | "dark"} ThemeChoice */

const KEY = "vitrail-theme";

/** Knows the theme, keeps the choice where it can, and marks the document with it. */
export class ThemeKeeper {
  /** @param {Window} window */
  constructor(window) {
    this.window = window;
    this.system = window.matchMedia("(prefers-color-scheme: dark)");
    /** @type {ThemeChoice} */
    this.choice = this.remembered();
    /** @type {(() => void)[]} */
    this.subscribers = [];
    this.system.addEventListener("change", () => this.mark());
    this.mark();
  }

  /** @returns {import("./colour.js").Theme} */
  get theme() {
    if (this.choice !== "auto") return this.choice;
    return this.system.matches ? "dark" : "light";
  }

  /** @param {ThemeChoice} choice */
  choose(choice) {
    this.choice = choice;
    try {
      this.window.localStorage.setItem(KEY, choice);
    } catch {
      // Inside a notebook's frame there is no storage: the choice lasts as long as the page.
    }
    this.mark();
  }

  /** @param {() => void} subscriber */
  subscribe(subscriber) {
    this.subscribers.push(subscriber);
  }

  mark() {
    this.window.document.documentElement.dataset.theme = this.theme;
    for (const subscriber of this.subscribers) subscriber();
  }

  /** @returns {ThemeChoice} */
  remembered() {
    try {
      const found = this.window.localStorage.getItem(KEY);
      return found === "light" || found === "dark" ? found : "auto";
    } catch {
      return "auto";
    }
  }
}
