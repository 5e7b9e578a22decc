// The report of a test set: scores with intervals, and sentences from worst to best with what went wrong.

import {ThemeKeeper} from "../theme.js";
import {element} from "../dom.js";
import {count, decimal} from "../numbers.js";
import {ORDERS, NAMES, chosenSentences, countKinds, kindsOf, tenths} from "./facts.js";
import {causeInWords, referencePath} from "./cause.js";

/**
 * @typedef {import("./facts.js").Report} Report
 * @typedef {import("./facts.js").Sentence} Sentence
 * @typedef {import("./facts.js").Order} Order
 * @typedef {{kind: string, order: Order, shown: number}} Choice
 */

const MORE = 50; // sentences to show at a time

/**
 * Draw the report that this page contains.
 * @param {Window} window
 */
export function startReport(window) {
  const page = window.document;
  const root = /** @type {HTMLElement} */ (page.getElementById("report"));
  /** @type {Report} */
  const report = JSON.parse(page.getElementById("vitrail-report")?.textContent ?? "null");
  const list = element("div", {class: "sentences"});
  /** @type {Choice} */
  const choice = {kind: "", order: "worst", shown: MORE};
  const show = () => drawSentences(list, report, choice, show);
  root.append(
    head(report, new ThemeKeeper(window)),
    scores(report),
    distribution(report),
    controls(report, choice, show),
    list,
  );
  root.append(signatures(report));
  show();
}

/**
 * @param {Report} report
 * @param {import("../theme.js").ThemeKeeper} themes
 */
function head(report, themes) {
  const [own, other] = report.systems;
  const button = element("button", {type: "button", class: "theme"}, "light / dark");
  button.addEventListener("click", () => themes.choose(themes.theme === "dark" ? "light" : "dark"));
  return element(
    "header",
    {},
    element("h1", {}, other === undefined ? own : `${own} and ${other}`),
    element("p", {class: "lead"}, `${count(report.lines)} sentences, each with one reference.`),
    button,
  );
}

/** @param {Report} report */
function scores(report) {
  const rows = report.systems.map((name, number) =>
    element(
      "tr",
      {},
      element("th", {scope: "row"}, systemMark(number), name),
      report.metrics.map((metric) => {
        const {score, mean, interval, p_value: chance} = metric.systems[number];
        const range =
          mean !== null && interval !== null && `${decimal(mean - interval, 1)} to ${decimal(mean + interval, 1)}`;
        return element(
          "td",
          {},
          element("b", {}, decimal(score, 1)),
          element("span", {class: "interval"}, range),
          chance !== null &&
            element("span", {class: chance < 0.05 ? "p is-significant" : "p"}, `p = ${decimal(chance, 3)}`),
        );
      }),
    ),
  );
  const names = report.metrics.map((metric) =>
    element("th", {scope: "col"}, metric.name, !metric.higher_is_better && element("small", {}, " lower is better")),
  );
  const isPaired = report.systems.length > 1;
  return element(
    "section",
    {},
    element(
      "table",
      {class: "scores"},
      element("thead", {}, element("tr", {}, element("td", {}), names)),
      element("tbody", {}, rows),
    ),
    element(
      "p",
      {class: "quiet"},
      "Ranges: 95 % of 1,000 resampled test sets. ",
      isPaired &&
        `p: how likely a difference from ${report.systems[0]} this large is by chance (paired bootstrap test).`,
    ),
  );
}

/**
 * How the sentences' scores are spread.
 * @param {Report} report
 */
function distribution(report) {
  const of = report.systems.map((_, number) => tenths(report.sentences, number));
  const most = Math.max(1, ...of.flat());
  const bars = Array.from({length: 10}, (_, tenth) =>
    element(
      "div",
      {class: "tenth"},
      element(
        "div",
        {class: "bars"},
        of.map((counts, number) => {
          const bar = element("div", {
            class: `bar bar-${number}`,
            title: `${report.systems[number]}: ${counts[tenth]}`,
          });
          bar.style.height = `${(100 * counts[tenth]) / most}%`;
          return bar;
        }),
      ),
      element("span", {class: "quiet"}, `${10 * tenth}`),
    ),
  );
  return element(
    "section",
    {class: "distribution"},
    element("h2", {}, `Sentences by their ${report.judge}`),
    element("div", {class: "tenths"}, bars),
  );
}

/**
 * @param {Report} report
 * @param {Choice} choice
 * @param {() => void} show
 */
function controls(report, choice, show) {
  const counts = countKinds(report.sentences);
  const orders = /** @type {[Order, string][]} */ (Object.entries(ORDERS)).filter(
    ([order]) => report.systems.length > 1 || (order !== "lost" && order !== "won"),
  );
  const select = element(
    "select",
    {id: "order"},
    orders.map(([order, name]) => element("option", {value: order}, name)),
  );
  select.addEventListener("change", () => {
    Object.assign(choice, {order: select.value, shown: MORE});
    show();
  });
  const kinds = [["", "all"], ...Object.entries(NAMES).filter(([kind]) => counts.has(kind))];
  const chips = kinds.map(([kind, name]) => {
    const chip = element("button", {type: "button", class: "chip", "aria-pressed": String(kind === "")}, name, " ");
    chip.append(element("span", {class: "quiet"}, String(kind ? counts.get(kind) : report.sentences.length)));
    chip.addEventListener("click", () => {
      for (const each of chips) each.setAttribute("aria-pressed", String(each === chip));
      Object.assign(choice, {kind, shown: MORE});
      show();
    });
    return chip;
  });
  return element(
    "section",
    {class: "controls"},
    element("label", {for: "order"}, "Sentences, "),
    select,
    element("div", {class: "chips"}, chips),
    element(
      "p",
      {class: "quiet"},
      report.sentences.length < report.lines && `The page holds the worst ${count(report.sentences.length)}. `,
      report.causes < report.sentences.length && `Causes were looked for in the worst ${count(report.causes)}.`,
    ),
  );
}

/**
 * @param {HTMLElement} list
 * @param {Report} report
 * @param {Choice} choice
 * @param {() => void} show
 */
function drawSentences(list, report, choice, show) {
  const chosen = chosenSentences(report.sentences, choice.kind, choice.order);
  const drawn = chosen.slice(0, choice.shown).map((sentence) => article(report, sentence));
  const left = chosen.length - drawn.length;
  const more = element(
    "button",
    {type: "button", class: "more"},
    `${count(Math.min(left, MORE))} more of ${count(left)}`,
  );
  more.addEventListener("click", () => {
    choice.shown += MORE;
    show();
  });
  list.replaceChildren(...drawn, ...(left > 0 ? [more] : []));
}

/**
 * @param {Report} report
 * @param {Sentence} sentence
 */
function article(report, sentence) {
  const {cause, judged} = sentence;
  const isPaired = judged.length > 1;
  return element(
    "article",
    {"data-line": sentence.line},
    element(
      "div",
      {class: "aside"},
      element("b", {class: "score", title: report.judge}, decimal(judged[0].score, 0)),
      element("span", {class: "quiet"}, `line ${sentence.line}`),
    ),
    element(
      "div",
      {class: "texts"},
      line("source", "source", sentence.source),
      line("reference", "reference", marked(sentence.parts, "missing")),
      judged.map((one, number) =>
        line(
          `translation by-${number}`,
          isPaired ? `${report.systems[number]} ${decimal(one.score, 0)}` : "translation",
          one.text ? marked(one.parts, "extra") : element("i", {class: "quiet"}, "nothing"),
        ),
      ),
      element(
        "p",
        {class: "mistakes"},
        judged[0].mistakes.map((mistake) =>
          element(
            "span",
            {class: "mistake"},
            NAMES[mistake.kind],
            mistake.words.length > 0 && `: ${mistake.words.join(" ")}`,
          ),
        ),
        !kindsOf(sentence).length && !cause && element("span", {class: "quiet"}, "other words than the reference"),
      ),
      cause && element("p", {class: `cause cause-${cause.kind}`}, causeInWords(cause)),
      cause && cause.steps.length > 0 && cause.kind !== "right" && referencePath(cause),
      sentence.page &&
        element(
          "p",
          {},
          element("a", {href: `${sentence.page}#view=search`}, "Look inside: the search, the attention, every step"),
        ),
    ),
  );
}

/**
 * @param {string} kind
 * @param {string} name
 * @param {Node | Node[] | string} content
 */
function line(kind, name, content) {
  return element("p", {class: `line ${kind}`}, element("span", {class: "name"}, name), element("span", {}, content));
}

/**
 * A text with its own words marked.
 * @param {import("./facts.js").Parts} parts
 * @param {string} kind
 * @returns {Node[]}
 */
function marked(parts, kind) {
  return parts.map(([text, isShared]) => (isShared ? element("span", {}, text) : element("mark", {class: kind}, text)));
}

/** @param {number} number */
function systemMark(number) {
  return element("span", {class: `system-mark bar-${number}`});
}

/** @param {Report} report */
function signatures(report) {
  return element(
    "footer",
    {},
    element("h2", {}, "How to read this, and repeat it"),
    element(
      "p",
      {},
      `Sentences are sorted by ${report.judge} of the single sentence. A word of the reference that the translation `,
      "lacks, or the other way round, is marked; it need not be wrong, for there are other good translations. ",
      `Causes were looked for in the worst ${count(report.causes)}. The row of tokens is the reference: in green what `,
      "the beam still held, in red where it left; below a token, its probability after the reference's own beginning, ",
      `and what the model would rather have said. Beam size ${report.beam_size}.`,
    ),
    report.metrics.map((metric) =>
      element("p", {class: "quiet"}, element("code", {}, `${metric.name}|${metric.signature}`)),
    ),
    element("p", {class: "quiet"}, `Vitrail ${report.vitrail}`),
  );
}
