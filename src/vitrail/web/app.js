// The page: everything around a view, and what happens when something changes.

import {asProblem, Problem} from "./problem.js";
import {clampState, openAddress, StateKeeper, stateShown} from "./state.js";
import {element} from "./dom.js";
import {LayerFetcher} from "./fetching.js";
import {MissingNumbers} from "./trace.js";
import {openSource} from "./source.js";
import {Player} from "./views/live.js";
import {readRequest, writeRequest} from "./request.js";
import {Ruler} from "./draw/ruler.js";
import {ThemeKeeper} from "./theme.js";
import {ViewContext} from "./context.js";
import {viewOf, VIEWS} from "./views.js";
import {changesOfKey, viewOfKey} from "./shell/keyboard.js";
import {focusAgain, focusedKey} from "./shell/focus.js";
import {guideList} from "./shell/guide.js";
import {layOutPage} from "./shell/layout.js";
import {missingCard} from "./shell/missing.js";
import {sentenceLine} from "./shell/header.js";
import {modelMap, placeOf} from "./shell/map.js";
import {problemBox} from "./shell/problem_box.js";
import {startChecking} from "./checking.js";
import {startPage} from "./shell/start.js";
import {ViewFrame} from "./shell/frame.js";
import {halfOf, twoLine} from "./shell/two.js";
import {secondOptions, secondRequest} from "./compare.js";
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
    /** @type {Trace | null} the second of two translations shown at once */
    this.second = null;
    this.askedSecond = ""; // likewise its request
    /** @type {ModelEntry[]} */
    this.models = [];
    this.asked = ""; // the request whose answer is shown or awaited
    /** @type {ViewContext | null} */
    this.context = null;
    this.stopChecking = () => {};
    this.lastView = "";
    this.drawnIn = ""; // the space that the picture was drawn for
    this.ruler = new Ruler();
    this.player = new Player();
    this.fetcher = this.source.canTranslate
      ? new LayerFetcher(this.source, {arrived: () => this.arrived(), failed: (thrown) => this.failed(thrown)})
      : null;
    this.page = layOutPage(window, this.themes, () => this.project());
    this.frame = new ViewFrame(window, this.page.narrow, (thrown) => this.complain(thrown));
  }

  begin() {
    this.keeper.clamp = (state) => (this.trace ? clampState(state, this.trace) : state);
    this.keeper.subscribe(() => this.changed());
    this.themes.subscribe(() => this.draw());
    this.window.document.addEventListener("keydown", (event) => this.pressed(event));
    // Draw again when the space changes: a rotated phone, or a style sheet that loads late.
    const resized = () => {
      if (this.trace && JSON.stringify(this.frame.space()) !== this.drawnIn) this.redraw();
    };
    new ResizeObserver(resized).observe(this.page.main);
    this.window.addEventListener("resize", resized);
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

  /** @param {Exclude<import("./source.js").Source, import("./source.js").FileSource>} source */
  async open(source) {
    try {
      this.models = await source.models();
      if (!this.models.length) throw new Problem("there is no model to show");
      this.changed();
    } catch (thrown) {
      this.complain(thrown);
    }
  }

  /** Ask for the model's example if the address names no sentence; gives whether it did. */
  askExample() {
    const {options} = this.keeper.state;
    const model = this.models.find((entry) => entry.name === options.model) ?? this.models[0];
    if (options.text || !model?.example?.text) return false;
    const request = {...readRequest(options), model: model.name, ...model.example};
    // A run that has not saved a model yet has its curves to show.
    const view = model.trained === false ? {view: "training"} : {};
    this.keeper.update({options: writeRequest(request), ...view}, {replace: true});
    return true;
  }

  /** Something in the state changed, perhaps the request itself. */
  changed() {
    if (!this.source.canTranslate) {
      this.draw();
      return;
    }
    if (this.askExample()) return;
    const request = this.request();
    const key = JSON.stringify(request);
    if (!request.text) this.draw();
    else if (key === this.asked) this.draw();
    else this.ask(request).catch((thrown) => this.complain(thrown));
    this.askSecond(request).catch((thrown) => this.complain(thrown));
  }

  /**
   * Ask for the second of two translations, if the address describes one.
   * @param {TraceRequest} first
   */
  async askSecond(first) {
    if (!this.source.canTranslate) return;
    const request = first.text ? secondRequest(this.keeper.state.options, first) : null;
    const key = request ? JSON.stringify(request) : "";
    if (key === this.askedSecond) return;
    this.askedSecond = key;
    this.second = null;
    if (request) {
      const trace = await this.source.trace(request);
      if (this.askedSecond !== key) return; // there is a newer request
      this.second = trace;
    }
    if (this.trace) this.draw();
  }

  /** @param {Record<string, string> | null} changes of the second request; null: only one translation */
  compare(changes) {
    this.keeper.update({options: secondOptions(this.keeper.state.options, changes)});
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
    this.stopChecking = startChecking(this.source, trace, this.request().model, {
      progress,
      fail: (thrown) => {
        this.root.dataset.verified = "failed";
        this.complain(thrown);
      },
    });
  }

  draw() {
    for (const old of this.page.main.querySelectorAll(":scope > .problem")) old.remove();
    this.redraw();
  }

  /** Draw everything again; a complaint stays. */
  redraw() {
    const {trace} = this;
    this.page.tooltip.hide();
    const focused = focusedKey(this.window.document);
    const view = viewOf(this.keeper.state.view);
    const state = trace ? stateShown(this.keeper.state, trace, view) : this.keeper.state;
    this.context?.leave();
    this.context = null;
    if (!trace) {
      if (this.source.canTranslate && this.models.length) this.page.main.replaceChildren(this.start());
      return;
    }
    if (isProjected(state)) this.root.dataset.projector = "on";
    else delete this.root.dataset.projector;
    const go = (/** @type {import("./views.js").View} */ to) => this.turnTo(to.id);
    this.page.model.replaceChildren(trace.model.name);
    this.page.untrained.hidden = !this.isUntrained();
    this.page.sentence.replaceChildren(sentenceLine(trace, this.before));
    this.page.guide.replaceChildren(guideList(VIEWS, view, go));
    this.page.map.replaceChildren(
      modelMap({
        trace,
        place: placeOf(view, state, trace),
        theme: this.themes.theme,
        tooltip: this.page.tooltip,
        ruler: this.ruler,
        go: (stack, layer, sublayer) => this.jump(stack, layer, sublayer),
      }),
    );
    if (!this.frame.node.isConnected) this.page.main.replaceChildren(this.frame.node);
    this.drawView(view, trace, go);
    focusAgain(this.window.document, focused);
  }

  /**
   * @param {import("./views.js").View} view
   * @param {Trace} trace
   * @param {(view: import("./views.js").View) => void} go
   */
  drawView(view, trace, go) {
    const state = stateShown(this.keeper.state, trace, view);
    const translate = this.source.canTranslate
      ? (/** @type {Partial<TraceRequest>} */ changes) => this.translate(changes)
      : null;
    const request = this.source.canTranslate ? this.request() : null;
    const asked = request ? secondRequest(state.options, request) : null;
    const notices = [
      whatIfLine(trace, request, translate),
      request && asked
        ? twoLine(request, asked, {stop: () => this.compare(null), where: () => this.turnTo("two")})
        : null,
    ].filter((line) => line !== null);
    this.frame.begin(VIEWS, view, go, notices.length ? element("div", {}, ...notices) : null);
    const whole = this.frame.space();
    this.drawnIn = JSON.stringify(whole);
    const second = view.id === "two" ? null : this.second; // which compares them itself
    const parts = {
      trace,
      before: this.before,
      second: this.second,
      isComparing: asked !== null,
      state,
      theme: this.themes.theme,
      space: second ? halfOf(whole) : whole,
      cameFrom: this.lastView === view.id ? null : this.lastView,
      tooltip: this.page.tooltip,
      ruler: this.ruler,
      player: this.player,
      update: this.keeper.update.bind(this.keeper),
      models: this.models,
      studio: "run" in this.source ? this.source : null,
      request,
      translate,
      compare: this.source.canTranslate
        ? (/** @type {Record<string, string> | null} */ changes) => this.compare(changes)
        : null,
      fetcher: this.fetcher,
    };
    const context = new ViewContext(parts, view.id);
    this.context = context;
    this.lastView = view.id;
    const missing = this.render(view, context);
    if (!second) {
      this.frame.fill(view, context, missing);
      return;
    }
    const other = {...parts, trace: second, before: null, state: clampState(state, second), fetcher: null};
    const beside = new ViewContext({...other, translate: null}, `${view.id}-second`);
    context.onLeave(() => beside.leave());
    this.frame.fill(view, context, missing, {context: beside, missing: this.render(view, beside)});
  }

  /**
   * Draw a view. Returns what stands in for its picture if that cannot be drawn.
   * @param {import("./views.js").View} view
   * @param {ViewContext} context
   * @returns {HTMLElement | null}
   */
  render(view, context) {
    try {
      view.render(context);
    } catch (thrown) {
      if (thrown instanceof MissingNumbers) return this.missing(thrown.part, view, context.trace);
      console.error(thrown);
      return problemBox(asProblem(thrown));
    }
    return null;
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
   * Go to another view. The reader stays at the picture: not below it, and not above it either on a phone.
   * @param {string} id
   */
  turnTo(id) {
    if (this.page.narrow.matches) this.page.side.open = false;
    this.keeper.update({view: id});
    const top = this.frame.node.getBoundingClientRect().top + this.window.scrollY - this.page.covered();
    if (this.window.scrollY > top) this.window.scrollTo({top});
  }

  /** Projector mode on or off. */
  project() {
    this.keeper.update({options: {projector: isProjected(this.keeper.state) ? null : "on"}});
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
    const within = shows ? id : "layer";
    const to = sublayer === "feed_forward" && id !== "residuals" ? "feed-forward" : within;
    this.keeper.update({stack, layer, sublayer, view: to});
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const target = /** @type {Element | null} */ (event.target);
    if (!this.trace || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target?.closest("input, textarea, select, [contenteditable]")) return;
    const view = viewOf(this.keeper.state.view);
    const state = stateShown(this.keeper.state, this.trace, view);
    const next = viewOfKey(event.key, VIEWS, view, isProjected(state));
    if (next) this.turnTo(next.id);
    else if (event.key === "f" || (event.key === "Escape" && isProjected(state))) this.project();
    else {
      const changes = changesOfKey(event.key, view.pickers, state, this.trace);
      if (!changes) return;
      this.keeper.update(changes, {replace: event.repeat});
    }
    event.preventDefault();
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

/** @param {import("./state.js").State} state */
function isProjected(state) {
  return state.options.projector === "on";
}
