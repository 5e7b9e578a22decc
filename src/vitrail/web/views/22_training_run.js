// Row 22, beyond the post: the training run. Its curves and the sentences that it watched; in the studio they keep
// growing while the run goes on.

import {asProblem} from "../problem.js";
import {element} from "../dom.js";
import {count, decimal, percent} from "../numbers.js";
import {label} from "../draw/label.js";
import {plain} from "../context.js";
import {curveChart} from "./curves.js";
import {repaint} from "./live.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./curves.js").CurvePoint} CurvePoint
 * @typedef {{event: string, step?: number, loss?: number, rate?: number, bleu?: number | null,
 *   samples?: {source: string, reference: string, translation: string}[],
 *   clock?: {tokens_per_second?: number}}} RunEvent
 * @typedef {{events: RunEvent[], probes: any, maxSteps: number | null, quiet: number | null}} RunSoFar
 * @typedef {{
 *   train: CurvePoint[], held: CurvePoint[], rate: CurvePoint[], pace: CurvePoint[], bleu: CurvePoint[],
 *   last: number}} RunCurves
 */

const SECONDS_BETWEEN = 2;
const STILL_GOING = 90; // seconds without news after which a run seems to have stopped
const ROWS = 8; // for each probe sentence

/** @type {import("../views.js").View} */
export const trainingRunView = {
  id: "training",
  row: 22,
  title: "The training run",
  pickers: [],
  render(context) {
    const {trace} = context;
    /** @type {RunSoFar} */
    const held = {events: readEvents(trace.facts), probes: trace.probes, maxSteps: null, quiet: null};
    // In the studio there may be curves later: they are drawn into this picture.
    if (context.translate || held.events.length) context.picture("The curves of the training run");
    paint(context, held);
    if (context.studio && context.request) follow(context, context.studio, context.request.model, held);
  },
};

/**
 * Keep asking the studio; draw in place whenever something is new.
 * @param {ViewContext} context
 * @param {import("../source.js").StudioSource} studio
 * @param {string} model
 * @param {RunSoFar} held
 */
function follow(context, studio, model, held) {
  let stamp = "";
  let left = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const look = async () => {
    try {
      const answer = await studio.run(model, stamp);
      if (left) return;
      held.quiet = answer.seconds_quiet;
      if (answer.changed) {
        stamp = String(answer.stamp);
        held.events = readEvents(answer);
        held.probes = answer.probes;
        held.maxSteps = answer.max_steps ?? null;
        repaint(context, () => paint(context, held));
      }
      timer = setTimeout(look, 1000 * SECONDS_BETWEEN);
    } catch (thrown) {
      if (!left) {
        context.note(element("p", {class: "quiet"}, `No longer following the run: ${asProblem(thrown).what}.`));
      }
    }
  };
  context.onLeave(() => {
    left = true;
    clearTimeout(timer);
  });
  look();
}

/**
 * The events of a run, if there are any.
 * @param {any} facts
 * @returns {RunEvent[]}
 */
function readEvents(facts) {
  const events = facts?.run?.events;
  return Array.isArray(events) ? events.filter((event) => event && typeof event === "object") : [];
}

/**
 * @param {RunEvent[]} events
 * @returns {RunCurves}
 */
export function runCurves(events) {
  /** @type {(kind: string, read: (event: RunEvent) => unknown) => CurvePoint[]} */
  const points = (kind, read) =>
    events
      .filter((event) => event.event === kind)
      .map((event) => ({step: Number(event.step), value: Number(read(event) ?? NaN)}))
      .filter(({step, value}) => Number.isFinite(step) && Number.isFinite(value));
  const curves = {
    train: points("step", (event) => event.loss),
    held: points("validation", (event) => event.loss),
    rate: points("step", (event) => event.rate),
    pace: points("step", (event) => event.clock?.tokens_per_second),
    bleu: points("validation", (event) => event.bleu),
  };
  return {...curves, last: Math.max(0, ...Object.values(curves).flatMap((curve) => curve.map(({step}) => step)))};
}

/**
 * @param {ViewContext} context
 * @param {RunSoFar} held
 */
function paint(context, held) {
  const curves = runCurves(held.events);
  const {train, held: validation, bleu} = curves;
  if (!curves.last) {
    context.lead`There is no record of how ${context.trace.model.name} was trained.`;
    context.say`Its folder has no log, or the run has only just started.`;
    if (context.drawn) {
      context.drawn.describe("There are no curves yet.");
      label(context.drawn, {x: 0, y: 20, text: "no curves yet", size: 15, quiet: true});
    }
    context.note(...probeTables(context, held));
    return;
  }
  const of = plain(held.maxSteps ? ` of ${count(held.maxSteps)}` : "");
  if (train.length) {
    context.lead`In ${`${count(curves.last)} steps`}${of} the loss went from ${decimal(train[0].value, 2)} to
      ${decimal(train[train.length - 1].value, 2)}.`;
    context.say`This is the loss per target token, including label smoothing, first measured at step
      ${count(train[0].step)}.`;
  }
  if (validation.length) {
    const now = validation[validation.length - 1];
    context.say`On the validation data the loss is ${decimal(now.value, 3)}: a correct word gets a probability of
      ${percent(Math.exp(-now.value))} on (geometric) average.`;
    if (bleu.length) {
      context.say`On a sample of that data it reaches a BLEU score of ${decimal(bleu[bleu.length - 1].value, 1)}.`;
    }
  }
  if (held.quiet !== null) {
    const going = held.quiet < STILL_GOING && !(held.maxSteps && curves.last >= held.maxSteps);
    if (going) context.say`The run is in progress, and this page follows it.`;
    else context.say`The run is not in progress.`;
  }
  draw(context, curves);
  context.note(...probeTables(context, held));
}

/**
 * @param {ViewContext} context
 * @param {RunCurves} curves
 */
function draw(context, curves) {
  const picture = context.picture("The curves of the training run");
  const {train, held, rate, pace, bleu, last} = curves;
  const end = (/** @type {CurvePoint[]} */ points) => points[points.length - 1]?.value;
  picture.describe(
    `Curves over ${count(last)} steps. ${
      train.length ? `Loss from ${decimal(train[0].value)} to ${decimal(end(train))}. ` : ""
    }${held.length ? `Validation loss at the end ${decimal(end(held), 3)}. ` : ""}${
      bleu.length ? `BLEU at the end ${decimal(end(bleu), 1)}. ` : ""
    }${pace.length ? `${count(end(pace))} tokens per second.` : ""}`,
  );
  const columns = context.room >= 760 ? 2 : 1;
  const gap = 36;
  const width = Math.min(560, Math.max(280, (context.room - gap * (columns - 1)) / columns));
  const height = 230;
  /** @type {Parameters<typeof curveChart>[1][]} */
  const charts = [];
  const place = () => ({
    x: (charts.length % columns) * (width + gap),
    y: Math.floor(charts.length / columns) * (height + 24),
    width,
    height,
    last,
  });
  if (train.length || held.length) {
    charts.push({
      ...place(),
      title: "Loss",
      write: (value) => decimal(value, 2),
      curves: [
        {name: "training", points: train, meaning: "q"},
        {name: "validation", points: held, meaning: "k", dots: true},
      ],
    });
  }
  if (bleu.length) {
    const curve = {name: "BLEU", points: bleu, meaning: /** @type {const} */ ("x"), dots: true};
    charts.push({
      ...place(),
      title: "Validation BLEU",
      write: (value) => decimal(value, 1),
      curves: [curve],
      fromZero: true,
    });
  }
  if (rate.length) {
    const curve = {name: "learning rate", points: rate, meaning: /** @type {const} */ ("v")};
    charts.push({...place(), title: "Learning rate", write: small, curves: [curve], fromZero: true});
  }
  if (pace.length) {
    const curve = {name: "tokens per second", points: pace, meaning: /** @type {const} */ ("z")};
    charts.push({...place(), title: "Target tokens per second", write: count, curves: [curve], fromZero: true});
  }
  for (const chart of charts) curveChart(picture, chart);
}

/**
 * A learning rate: "1.5e-3".
 * @param {number} value
 */
function small(value) {
  return value === 0 ? "0" : value.toExponential(1);
}

/**
 * The watched sentences from untrained to trained; without them, the samples in the log.
 * @param {ViewContext} context
 * @param {RunSoFar} held
 * @returns {Node[]}
 */
function probeTables(context, held) {
  const sentences = Array.isArray(held.probes?.sentences) ? held.probes.sentences : [];
  const records = Array.isArray(held.probes?.records) ? held.probes.records : [];
  if (sentences.length && records.length) {
    return [
      element("h2", {}, "From untrained to trained"),
      ...sentences.map((/** @type {any} */ asked, /** @type {number} */ number) =>
        sentenceTable({
          source: String(asked?.source?.text ?? ""),
          reference: asked?.reference ? String(asked.reference.text) : "",
          rows: spreadOut(records, ROWS).map((record) => ({
            step: Number(record.step),
            translation: String(record.sentences?.[number]?.translation ?? ""),
          })),
        }),
      ),
    ];
  }
  const looks = held.events.filter((event) => event.samples?.length);
  const samples = looks[0]?.samples ?? [];
  return samples.map((sample, number) =>
    sentenceTable({
      ...sample,
      rows: spreadOut(looks, ROWS).map((look) => ({
        step: Number(look.step),
        translation: String(look.samples?.[number]?.translation ?? ""),
      })),
    }),
  );
}

/** @param {{source: string, reference: string, rows: {step: number, translation: string}[]}} given */
function sentenceTable({source, reference, rows}) {
  const cell = (/** @type {string} */ text, /** @type {boolean} */ isNumber) => {
    const made = element("td", {}, text);
    made.style.padding = "0.2rem 1.2rem 0.2rem 0";
    made.style.verticalAlign = "top";
    if (isNumber) {
      made.style.textAlign = "right";
      made.style.whiteSpace = "nowrap";
      made.style.fontVariantNumeric = "tabular-nums";
    }
    return made;
  };
  const table = element(
    "table",
    {class: "probe-table"},
    element("caption", {}, element("b", {}, source), reference ? ` → ${reference}` : ""),
    element(
      "tbody",
      {},
      ...rows.map(({step, translation}) =>
        element(
          "tr",
          {},
          cell(`step ${count(step)}`, true),
          cell(`${translation || "(nothing)"}${reference && translation === reference ? " ✓" : ""}`, false),
        ),
      ),
    ),
  );
  const caption = table.caption;
  if (caption) {
    caption.style.textAlign = "left";
    caption.style.padding = "0.3rem 0";
  }
  table.style.margin = "0 0 1.6rem";
  table.style.borderCollapse = "collapse";
  return table;
}

/**
 * At most this many of them, including the first and the last.
 * @template Item
 * @param {Item[]} items
 * @param {number} most
 * @returns {Item[]}
 */
export function spreadOut(items, most) {
  if (items.length <= most) return items;
  return Array.from({length: most}, (_, number) => items[Math.round((number * (items.length - 1)) / (most - 1))]);
}
