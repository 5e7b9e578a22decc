// The page: everything around a view, and what happens when something changes.

import {asProblem, Problem} from "./problem.js";
import {clampState, openAddress, StateKeeper} from "./state.js";
import {element} from "./dom.js";
import {LayerFetcher} from "./fetching.js";
import {MissingNumbers} from "./trace.js";
import {openSource} from "./source.js";
import {pictureBox} from "./draw/picture.js";
import {Player} from "./views/live.js";
import {readRequest, writeRequest} from "./request.js";
import {Ruler} from "./draw/ruler.js";
import {runIdle} from "./idle.js";
import {savePng, saveSvg} from "./save.js";
import {ThemeKeeper} from "./theme.js";
import {verification} from "./verify.js";
import {ViewContext} from "./context.js";
import {viewOf, VIEWS} from "./views.js";
import {changesOfKey, KEYS} from "./shell/keyboard.js";
import {guideList, guideSteps} from "./shell/guide.js";
import {layOutPage} from "./shell/layout.js";
import {missingCard} from "./shell/missing.js";
import {sentenceLine} from "./shell/header.js";
import {modelMap} from "./shell/map.js";
import {pickerRow} from "./shell/pickers.js";
import {startPage} from "./shell/start.js";
import {whatIfLine} from "./shell/what_if.js";

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./request.js").TraceRequest} TraceRequest
 * @typedef {import("./source.js").ModelEntry} ModelEntry
 */

/**
 * Start the page.
 * @param {Window} window
 */
export function startApp(window) {
  new App(window).begin();
}

class App {
  /** @param {Window} window */
  constructor(window) {
    this.window = window;
    this.root = window.document.documentElement;
    this.themes = new ThemeKeeper(window);
    this.keeper = new StateKeeper(openAddress(window));
    this.source = openSource(window.document);
    /** @type {Trace | null} */
    this.trace = null;
    /** @type {Trace | null} */
    this.before = null;
    /** @type {ModelEntry[]} */
    this.models = [];
    this.asked = ""; // the request whose answer is shown or awaited
    /** @type {ViewContext | null} */
    this.context = null;
    this.stopChecking = () => {};
    this.drawnRoom = 0;
    this.ruler = new Ruler();
    this.player = new Player();
    this.fetcher = this.source.canTranslate
      ? new LayerFetcher(this.source, {arrived: () => this.arrived(), failed: (thrown) => this.failed(thrown)})
      : null;
    this.page = layOutPage(window, this.themes);
  }

  begin() {
    this.keeper.clamp = (state) => (this.trace ? clampState(state, this.trace) : state);
    this.keeper.subscribe(() => this.changed());
    this.themes.subscribe(() => this.draw());
    this.window.document.addEventListener("keydown", (event) => this.pressed(event));
    // Draw again when the room changes: a rotated phone, or a style sheet that loads late.
    new ResizeObserver(() => {
      if (this.trace && this.room() !== this.drawnRoom) this.draw();
    }).observe(this.page.main);
    if (this.source.canTranslate) {
      this.open(this.source);
      return;
    }
    try {
      this.show(this.source.read());
    } catch (thrown) {
      this.complain(thrown);
    }
  }

  /** @param {import("./source.js").StudioSource} studio */
  async open(studio) {
    try {
      this.models = await studio.models();
      const {options} = this.keeper.state;
      const model = this.models.find((entry) => entry.name === options.model) ?? this.models[0];
      if (!model) throw new Problem("the studio has no model to show");
      if (!options.text && model.example) {
        const {text, to} = model.example;
        const request = {...readRequest(options), model: model.name, text, to};
        // A run that has not saved a model yet has its curves to show.
        const view = model.trained === false ? {view: "training"} : {};
        this.keeper.update({options: writeRequest(request), ...view}, {replace: true});
      } else this.changed();
    } catch (thrown) {
      this.complain(thrown);
    }
  }

  /** Something in the state changed, perhaps the request itself. */
  changed() {
    if (!this.source.canTranslate) {
      this.draw();
      return;
    }
    const request = this.request();
    const key = JSON.stringify(request);
    if (!request.text) this.draw();
    else if (key === this.asked) this.draw();
    else this.ask(request).catch((thrown) => this.complain(thrown));
  }

  request() {
    const request = readRequest(this.keeper.state.options);
    if (!request.model) request.model = this.models[0]?.name ?? "";
    return request;
  }

  /** @param {TraceRequest} request */
  async ask(request) {
    if (!this.source.canTranslate) return;
    const key = JSON.stringify(request);
    this.asked = key;
    this.root.dataset.busy = "true";
    try {
      if (this.isUntrained()) this.models = await this.source.models(); // it may have been saved in the meantime
      const trace = await this.source.trace(request);
      if (this.asked === key) this.show(trace); // else there is a newer request
    } finally {
      if (this.asked === key) delete this.root.dataset.busy;
    }
  }

  /** @param {Trace} trace */
  show(trace) {
    const same =
      this.trace && this.trace.source.text === trace.source.text && this.trace.model.name === trace.model.name;
    this.before = same ? this.trace : null;
    this.trace = trace;
    this.keeper.state = this.keeper.clamp(this.keeper.state);
    this.fetcher?.begin(trace, this.request().model);
    this.window.document.title = `${trace.source.text} → ${trace.target.text} · Vitrail`;
    this.draw();
    this.check(trace);
  }

  /** @param {Trace} trace */
  check(trace) {
    this.stopChecking();
    this.root.dataset.verified = "checking";
    /** @param {import("./verify.js").Report} report */
    const progress = (report) => {
      this.page.badge.show(report);
      if (report.failures.length) this.root.dataset.verified = "failed";
      else if (report.finished) this.root.dataset.verified = "ok";
    };
    this.stopChecking = runIdle(verification(trace), {
      progress,
      done: progress,
      fail: (thrown) => {
        this.root.dataset.verified = "failed";
        this.complain(thrown);
      },
    });
  }

  draw() {
    const {trace} = this;
    this.page.tooltip.hide();
    const focused = this.focusedKey();
    const state = this.keeper.state;
    const view = viewOf(state.view);
    this.context?.leave();
    this.context = null;
    if (!trace) {
      if (this.source.canTranslate && this.models.length) this.page.main.replaceChildren(this.start());
      return;
    }
    const go = (/** @type {import("./views.js").View} */ to) => this.turnTo(to.id);
    this.page.model.replaceChildren(trace.model.name);
    this.page.untrained.hidden = !this.isUntrained();
    this.page.sentence.replaceChildren(sentenceLine(trace, this.before));
    this.page.guide.replaceChildren(guideList(VIEWS, view, go));
    this.page.map.replaceChildren(
      modelMap({
        trace,
        state,
        theme: this.themes.theme,
        tooltip: this.page.tooltip,
        ruler: this.ruler,
        go: (stack, layer, sublayer) => this.jump(stack, layer, sublayer),
      }),
    );
    this.page.main.replaceChildren(...this.drawView(view, trace), guideSteps(VIEWS, view, go), keyHelp());
    for (const row of this.page.main.querySelectorAll(".picker")) showCurrent(row);
    this.focusAgain(focused);
  }

  /**
   * @param {import("./views.js").View} view
   * @param {Trace} trace
   * @returns {Node[]}
   */
  drawView(view, trace) {
    const state = this.keeper.state;
    const update = this.keeper.update.bind(this.keeper);
    const theme = this.themes.theme;
    this.drawnRoom = this.room();
    const context = new ViewContext(
      {
        trace,
        before: this.before,
        state,
        theme,
        room: this.drawnRoom,
        tooltip: this.page.tooltip,
        ruler: this.ruler,
        player: this.player,
        update,
        models: this.models,
        studio: this.source.canTranslate ? this.source : null,
        request: this.source.canTranslate ? this.request() : null,
        translate: this.source.canTranslate ? (changes) => this.translate(changes) : null,
        fetcher: this.fetcher,
      },
      view.id,
    );
    this.context = context;
    /** @type {HTMLElement | null} */
    let missing = null;
    try {
      view.render(context);
    } catch (thrown) {
      if (thrown instanceof MissingNumbers) missing = this.missing(thrown.part, view, trace);
      else {
        context.note(problemBox(asProblem(thrown)));
        console.error(thrown);
      }
    }
    const pickers = view.pickers.map((picker) => pickerRow(picker, {trace, state, theme, update}));
    const picked = pickers.length ? element("div", {class: "pickers"}, ...pickers) : "";
    return [
      whatIfLine(trace, context.request, context.translate),
      element("p", {class: "view-number"}, String(view.row)),
      element("h1", {class: "view-title"}, view.title),
      ...(missing
        ? [picked, missing]
        : [
            context.prose,
            picked,
            context.controlBar.childNodes.length ? context.controlBar : "",
            context.drawn ? this.figure(context.drawn) : "",
            context.notes,
          ]),
    ].filter((part) => part instanceof Node);
  }

  /**
   * What to show instead of a view whose numbers are not here; the studio is asked for them.
   * @param {string} part
   * @param {import("./views.js").View} view
   * @param {Trace} trace
   */
  missing(part, view, trace) {
    const fetcher = trace.id === null ? null : this.fetcher;
    fetcher?.inside(part);
    return missingCard({
      trace,
      part,
      pickers: view.pickers,
      whereabouts: !fetcher ? "left out" : fetcher.refused(part) ? "not given" : "on the way",
      update: (changes) => this.keeper.update(changes),
      again: () => {
        fetcher?.again(part);
        this.draw();
      },
    });
  }

  /** @param {import("./draw/picture.js").Picture} picture */
  figure(picture) {
    const {node, name} = picture;
    return element(
      "figure",
      {class: "figure", tabindex: -1},
      pictureBox(picture),
      element(
        "figcaption",
        {class: "save-bar"},
        "Save this picture",
        element("button", {type: "button", class: "small", onclick: () => saveSvg(node, name)}, "SVG"),
        element(
          "button",
          {type: "button", class: "small", onclick: () => savePng(node, name).catch((thrown) => this.complain(thrown))},
          "PNG",
        ),
      ),
    );
  }

  start() {
    return startPage({
      models: this.models,
      request: this.request(),
      translate: (changes) => this.translate(changes),
    });
  }

  /** @param {Partial<TraceRequest>} changes */
  async translate(changes) {
    const request = {...this.request(), ...changes};
    this.keeper.update({options: writeRequest(request)});
  }

  /** More of the trace is here. */
  arrived() {
    if (!this.trace) return;
    this.draw();
    this.check(this.trace);
  }

  /** @param {unknown} thrown */
  failed(thrown) {
    this.draw();
    this.complain(thrown);
  }

  /** Whether the model shown is untrained, because its run has not saved one yet. */
  isUntrained() {
    const {model} = this.request();
    return this.models.find((entry) => entry.name === model)?.trained === false;
  }

  /**
   * Go to the top of another view.
   * @param {string} id
   */
  turnTo(id) {
    this.keeper.update({view: id});
    if (this.page.narrow.matches) this.page.side.open = false;
    this.window.scrollTo({top: 0});
  }

  /**
   * Go to a sub-layer: in the open view if it shows sub-layers, else in the view of a layer.
   * @param {import("./trace.js").Stack} stack
   * @param {number} layer
   * @param {import("./trace.js").Sublayer} sublayer
   */
  jump(stack, layer, sublayer) {
    const {pickers, id} = viewOf(this.keeper.state.view);
    const shows =
      pickers.includes("sublayer") ||
      (pickers.includes("attention") && sublayer !== "feed_forward") ||
      (pickers.includes("stack") && pickers.includes("layer"));
    this.keeper.update({stack, layer, sublayer, view: shows ? id : "layer"});
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const target = /** @type {Element | null} */ (event.target);
    if (!this.trace || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target?.closest("input, textarea, select, [contenteditable]")) return;
    const {state} = this.keeper;
    const view = viewOf(state.view);
    const place = VIEWS.indexOf(view);
    if (event.key === "n" && VIEWS[place + 1]) this.turnTo(VIEWS[place + 1].id);
    else if (event.key === "p" && VIEWS[place - 1]) this.turnTo(VIEWS[place - 1].id);
    else {
      const inPicture = Boolean(target?.closest(".figure"));
      const changes = changesOfKey(event.key, inPicture, view.pickers, state, this.trace);
      if (!changes) return;
      event.preventDefault();
      this.keeper.update(changes, {replace: event.repeat});
    }
  }

  /** How many picture units fit: one is a sixteenth of a rem. */
  room() {
    const rem = parseFloat(getComputedStyle(this.root).fontSize) || 16;
    const width = this.page.main.clientWidth;
    const style = getComputedStyle(this.page.main);
    const inner = width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const room = ((inner - 2) / rem) * 16 - 2 * 20 - 12; // less the figure's own padding, and a little air
    return Math.max(240, Math.floor(room));
  }

  focusedKey() {
    const {activeElement} = this.window.document;
    const key = activeElement?.getAttribute("data-key");
    return key ?? (activeElement?.closest(".figure") ? "figure" : null);
  }

  /** @param {string | null} key */
  focusAgain(key) {
    if (!key) return;
    const found =
      key === "figure"
        ? this.page.main.querySelector(".figure")
        : [...this.window.document.querySelectorAll("[data-key]")].find(
            (node) => node.getAttribute("data-key") === key,
          );
    if (found instanceof HTMLElement || found instanceof SVGElement) found.focus({preventScroll: true});
  }

  /** @param {unknown} thrown */
  complain(thrown) {
    const problem = asProblem(thrown);
    if (!(thrown instanceof Problem)) console.error(thrown);
    const box = problemBox(problem);
    if (!this.trace && this.source.canTranslate && this.models.length) {
      this.page.main.replaceChildren(this.start(), box);
    } else if (!this.trace) {
      this.root.dataset.verified = "failed";
      this.page.main.replaceChildren(box);
    } else {
      for (const old of this.page.main.querySelectorAll(".problem")) old.remove();
      this.page.main.prepend(box);
    }
    box.focus();
  }
}

/**
 * Scroll a picker with many choices to the pressed one, without scrolling anything else.
 * @param {Element} row
 */
function showCurrent(row) {
  const current = row.querySelector('[aria-checked="true"]');
  if (!(current instanceof HTMLElement)) return;
  row.scrollTop = current.offsetTop - (row.clientHeight - current.offsetHeight) / 2;
}

/** @param {Problem} problem */
function problemBox(problem) {
  return element(
    "div",
    {class: "problem", role: "alert", tabindex: -1},
    element("p", {class: "problem-what"}, problem.what),
    problem.where && element("p", {}, `at ${problem.where}`),
    problem.fix && element("p", {}, `fix: ${problem.fix}`),
  );
}

function keyHelp() {
  return element(
    "details",
    {class: "key-help"},
    element("summary", {}, "Keys"),
    element(
      "dl",
      {},
      ...KEYS.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)]),
    ),
  );
}
