// Where the reader is: view, layer, head, token, step. Kept in the address if there is one, else in memory.

/**
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./trace.js").Stack} Stack
 * @typedef {import("./trace.js").Sublayer} Sublayer
 * @typedef {{
 *   view: string, stack: Stack, layer: number, sublayer: Sublayer, head: number, token: number, step: number,
 *   options: Record<string, string>}} State
 * @typedef {{
 *   read: () => string, write: (hash: string, isNew: boolean) => void, listen: (heard: () => void) => void}} Address
 * @typedef {Partial<Omit<State, "options">> & {options?: Record<string, string | null>}} Changes
 */

const NUMBERS = /** @type {const} */ (["layer", "head", "token", "step"]);
const SUBLAYERS = ["self_attention", "cross_attention", "feed_forward"];

/** @type {Readonly<State>} where everyone starts */
export const BEGINNING = {
  view: "",
  stack: "encoder",
  layer: 0,
  sublayer: "self_attention",
  head: 0,
  token: -1, // not chosen yet: the trace says which one to show first
  step: -1, // likewise
  options: {},
};

/**
 * The state in a hash: `#view=score&layer=1&token=8`. Other keys are options of a view.
 * @param {string} hash
 * @returns {State}
 */
export function parseHash(hash) {
  /** @type {State} */
  const state = {...BEGINNING, options: {}};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key === "view") state.view = value;
    else if (key === "stack") state.stack = value === "decoder" ? "decoder" : "encoder";
    else if (key === "sublayer") {
      if (SUBLAYERS.includes(value)) state.sublayer = /** @type {Sublayer} */ (value);
    } else if (NUMBERS.some((name) => name === key)) {
      const number = /^\d{1,6}$/.test(value) ? Number(value) : 0;
      state[/** @type {typeof NUMBERS[number]} */ (key)] = number;
    } else state.options[key] = value;
  }
  return state;
}

/**
 * The hash of a state, without defaults.
 * @param {State} state
 */
export function formatHash(state) {
  const pairs = new URLSearchParams();
  if (state.view) pairs.set("view", state.view);
  if (state.stack !== BEGINNING.stack) pairs.set("stack", state.stack);
  if (state.sublayer !== BEGINNING.sublayer) pairs.set("sublayer", state.sublayer);
  for (const name of NUMBERS) if (state[name] !== BEGINNING[name]) pairs.set(name, String(state[name]));
  for (const key of Object.keys(state.options).sort()) pairs.set(key, state.options[key]);
  return `#${pairs}`;
}

/**
 * The nearest state that this trace has: an existing layer, a token of the sentence.
 * @param {State} state
 * @param {Trace} trace
 * @returns {State}
 */
export function clampState(state, trace) {
  /** @type {(value: number, count: number) => number} */
  const within = (value, count) => Math.max(0, Math.min(value, count - 1));
  const sublayer = trace.sublayers(state.stack).includes(state.sublayer) ? state.sublayer : "self_attention";
  return {
    ...state,
    sublayer,
    layer: within(state.layer, trace.layers(state.stack)),
    head: within(state.head, trace.config.heads),
    token: within(state.token < 0 ? trace.firstToken(state.stack) : state.token, trace.tokens(state.stack).length),
    step: state.step < 0 ? -1 : within(state.step, trace.target.ids.length),
  };
}

/**
 * The state as a view shows it. A reader who has not chosen a step sees the first; in a view about how sure the model
 * is, the step at which it was least sure.
 * @param {State} state
 * @param {Trace} trace
 * @param {{opensUnsure?: boolean}} view
 * @returns {State}
 */
export function stateShown(state, trace, {opensUnsure = false}) {
  return state.step < 0 ? {...state, step: opensUnsure ? trace.leastSureStep() : 0} : state;
}

/**
 * The attention that a state names: its sub-layer, unless that is the feed-forward network, which has none.
 * @param {State} state
 * @returns {import("./trace.js").Attention}
 */
export function attentionOf(state) {
  return state.sublayer === "feed_forward" ? "self_attention" : state.sublayer;
}

/** Holds the state, notifies subscribers, and keeps the address in sync. */
export class StateKeeper {
  /** @param {Address} address */
  constructor(address) {
    this.address = address;
    this.state = parseHash(address.read());
    /** @type {((state: State) => void)[]} */
    this.subscribers = [];
    /** @type {(state: State) => State} */
    this.clamp = (state) => state;
    address.listen(() => {
      this.state = this.clamp(parseHash(address.read()));
      this.tell();
    });
  }

  /**
   * Change some of it. An option set to null is removed.
   * @param {Changes} changes
   * @param {{replace?: boolean}} [how] replace: without a new entry in the browser's history
   */
  update(changes, how = {}) {
    const {options, ...rest} = changes;
    /** @type {Record<string, string>} */
    const merged = {...this.state.options};
    for (const [key, value] of Object.entries(options ?? {})) {
      if (value === null) delete merged[key];
      else merged[key] = value;
    }
    // The other stack has other words: its own first token, unless one was chosen too.
    const isOther = rest.stack !== undefined && rest.stack !== this.state.stack && rest.token === undefined;
    const next = this.clamp({...this.state, ...rest, ...(isOther && {token: -1}), options: merged});
    const hash = formatHash(next);
    const isNew = hash !== formatHash(this.state);
    this.state = next;
    if (isNew) this.address.write(hash, !how.replace);
    this.tell();
  }

  /** @param {(state: State) => void} subscriber */
  subscribe(subscriber) {
    this.subscribers.push(subscriber);
  }

  tell() {
    for (const subscriber of this.subscribers) subscriber(this.state);
  }
}

/**
 * The browser's address, or a substitute in memory if there is none (in a notebook's frame).
 * @param {Window} window
 * @returns {Address}
 */
export function openAddress(window) {
  if (!keepsAddress(window)) {
    let hash = hashOf(window);
    return {
      read: () => hash,
      write: (next) => {
        hash = next;
      },
      listen: () => {},
    };
  }
  return {
    read: () => window.location.hash,
    write: (next, isNew) => {
      if (isNew) window.history.pushState(null, "", next);
      else window.history.replaceState(null, "", next);
    },
    listen: (heard) => {
      window.addEventListener("popstate", heard);
      window.addEventListener("hashchange", heard);
    },
  };
}

/**
 * Whether the state can be kept in the address: a frame without an origin may refuse history.
 * @param {Window} window
 */
function keepsAddress(window) {
  try {
    const {protocol, hash, pathname, search} = window.location;
    if (!/^(https?|file):$/.test(protocol)) return false;
    window.history.replaceState(null, "", hash || pathname + search);
    return true;
  } catch {
    return false;
  }
}

/** @param {Window} window */
function hashOf(window) {
  try {
    return window.location.hash;
  } catch {
    return "";
  }
}
