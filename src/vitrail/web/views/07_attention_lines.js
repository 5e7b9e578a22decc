// Row 7, what "it" looks at: lines from every token to those that it attends to, one colour for each head.

import {word, wordAt} from "../context.js";
import {shape} from "../dom.js";
import {css, headColour, shareRgb} from "../colour.js";
import {decimal, percent, precise} from "../numbers.js";
import {label} from "../draw/label.js";
import {letterSize, rowsThatFit} from "../draw/fit.js";
import {lines} from "../draw/lines.js";
import {pressable, readable} from "../draw/reading.js";
import {strongest} from "./attention_parts.js";
import {anyOf, oneOf} from "./choices.js";
import {groupWeight, groupWords, hasPieces, ungrouped} from "./word_groups.js";

/**
 * @typedef {import("../context.js").ViewContext} ViewContext
 * @typedef {import("./word_groups.js").Group} Group
 * @typedef {{
 *   from: Group[], to: Group[], heads: number[], weight: (head: number, from: number, to: number) => number,
 *   pinned: number | null}} Looking
 */

const MOST_LINES = 4000; // nobody can follow more, and they take a browser too long to draw
const FAINT = 0.02; // lines weaker than this are left out when all tokens are shown

/** @type {import("../views.js").View} */
export const attentionLinesView = {
  id: "attention",
  row: 7,
  title: "What a word looks at",
  pickers: ["attention", "layer", "token"],
  render(context) {
    const {trace, state} = context;
    const looking = lookingOf(context);
    const {from, to, heads, pinned} = looking;
    const asking = pinned === null ? trace.tokens(state.stack)[state.token] : from[pinned].text;
    context.lead`What should the model think of when it reads ${word(asking)}? The thicker the line, the more
      attention.`;
    context.say`Attention lets each word look at the others and take what it needs from them. Each head has its own
      colour and its own way of looking.`;
    if (pinned !== null && heads.length) {
      const best = heads
        .map((head) => ({head, key: strongest(to.map((_, key) => looking.weight(head, pinned, key)))}))
        .map((found) => ({...found, share: looking.weight(found.head, pinned, found.key)}))
        .sort((a, b) => b.share - a.share)[0];
      context.say`In ${whichAttention(context)}, layer ${state.layer}, head ${best.head} gives ${percent(best.share)} of
        the attention of ${word(asking)} to ${wordAt(
          to.map(({text}) => text),
          best.key,
        )}: the strongest link among the heads shown.`;
    }
    if (!heads.length) context.say`No head is shown. Choose one to see where it looks.`;
    showControls(context, looking);
    if (context.option("heads-view", "lines") === "all") drawMultiples(context, looking);
    else drawLines(context, looking);
  },
};

/** @param {ViewContext} context */
function whichAttention({state, attention}) {
  if (attention.endsWith("cross_attention")) return "encoder-decoder attention";
  return `${state.stack} self-attention`;
}

/**
 * Who looks at whom, and which heads are shown.
 * @param {ViewContext} context
 * @returns {Looking}
 */
function lookingOf(context) {
  const {trace, state, attention} = context;
  const isCross = attention.endsWith("cross_attention");
  const fed = [-1, ...trace.target.words.slice(0, trace.target.input_tokens.length - 1)];
  const side = (/** @type {boolean} */ isSource) =>
    isSource
      ? {tokens: trace.source.tokens, words: trace.source.words}
      : {tokens: trace.target.input_tokens, words: fed};
  const asks = side(state.stack === "encoder");
  const answers = side(state.stack === "encoder" || isCross);
  const isGrouped = context.option("words", "pieces") === "whole";
  const group = (/** @type {{tokens: string[], words: number[]}} */ {tokens, words}) =>
    isGrouped ? groupWords(tokens, words) : ungrouped(tokens);
  const weights = trace.array(`${attention}.weights`);
  const from = group(asks);
  const to = group(answers);
  const pinned =
    context.option("pin", "yes") === "no" ? null : from.findIndex(({tokens}) => tokens.includes(state.token));
  return {
    from,
    to,
    heads: headsOn(context),
    weight: (head, query, key) => groupWeight((q, k) => weights.at(head, q, k), from[query], to[key]),
    pinned,
  };
}

/** @param {ViewContext} context */
function headsOn(context) {
  const all = Array.from({length: context.trace.config.heads}, (_, head) => head);
  const chosen = context.option("heads", "all");
  if (chosen === "all") return all;
  return chosen
    .split(",")
    .filter(Boolean)
    .map(Number)
    .filter((head) => all.includes(head));
}

/**
 * @param {ViewContext} context
 * @param {Looking} looking
 */
function showControls(context, {heads, pinned}) {
  const {trace} = context;
  const all = Array.from({length: trace.config.heads}, (_, head) => head);
  const choose = (/** @type {number[]} */ next) =>
    context.setOption("heads", next.length === all.length ? null : next.sort((a, b) => a - b).join(","));
  context.controls(
    anyOf({
      title: "Show heads",
      key: "heads",
      choices: all.map((head) => ({
        value: String(head),
        text: String(head),
        spoken: `head ${head}`,
        colour: headColour(head, context.theme),
      })),
      on: new Set(heads.map(String)),
      ontoggle: (value) => {
        const head = Number(value);
        choose(heads.includes(head) ? heads.filter((other) => other !== head) : [...heads, head]);
      },
    }),
  );
  context.more(
    oneOf({
      title: "Show",
      key: "choice-heads-view",
      choices: [
        {value: "lines", text: "all heads together"},
        {value: "all", text: "each head separately"},
      ],
      current: context.option("heads-view", "lines"),
      onpick: (value) => context.setOption("heads-view", value === "lines" ? null : value),
    }),
    oneOf({
      title: "Lines from",
      key: "choice-pin",
      choices: [
        {value: "yes", text: "the chosen token"},
        {value: "no", text: "all tokens"},
      ],
      current: pinned === null ? "no" : "yes",
      onpick: (value) => context.setOption("pin", value === "yes" ? null : "no"),
    }),
    (hasPieces(trace.source.words) || hasPieces(trace.target.words)) &&
      oneOf({
        title: "Tokens",
        key: "choice-words",
        choices: [
          {value: "pieces", text: "as the model reads them"},
          {value: "whole", text: "grouped into words"},
        ],
        current: context.option("words", "pieces"),
        onpick: (value) => context.setOption("words", value === "pieces" ? null : value),
      }),
  );
}

/**
 * The lines of one token, or of all of them.
 * @param {Looking} looking
 * @param {number | null} focus
 * @param {import("../colour.js").Theme} theme
 * @param {number[]} heads
 * @param {number} most
 */
function linksOf(looking, focus, theme, heads, most) {
  const least = focus === null ? FAINT : 0;
  /** @type {{from: number, to: number, weight: number, colour: string}[]} */
  let links = [];
  looking.from.forEach((_, from) => {
    if (focus !== null && from !== focus) return;
    looking.to.forEach((__, to) => {
      for (const head of heads) {
        const weight = looking.weight(head, from, to);
        if (weight > least) links.push({from, to, weight, colour: headColour(head, theme)});
      }
    });
  });
  if (links.length > most) links = links.sort((a, b) => b.weight - a.weight).slice(0, most);
  return links;
}

/**
 * @param {ViewContext} context
 * @param {Looking} looking
 */
function drawLines(context, looking) {
  const picture = context.picture("What each token looks at");
  const {from, to, heads, pinned} = looking;
  const {room} = context;
  const isNarrow = room < 600;
  const {height: rowHeight} = rowsThatFit(Math.max(from.length, to.length), context.tall - 44, {high: 30, low: 8});
  const size = letterSize(rowHeight, 16);
  const longest = (/** @type {Group[]} */ groups) =>
    Math.max(...groups.map(({text}) => picture.ruler.width(text, size, true)));
  const cell = Math.max(5, Math.min(isNarrow ? 9 : 16, 130 / Math.max(1, heads.length)));
  const marks = heads.length * cell;
  const nameWidth = Math.min(isNarrow ? 84 : 190, Math.max(longest(from), longest(to)));
  const width = Math.min(room, 760);
  const left = nameWidth + 14;
  const right = width - nameWidth - marks - 22;
  const top = 40;
  const middle = (/** @type {number} */ index) => top + (index + 0.5) * rowHeight;
  const isCross = context.attention.endsWith("cross_attention");
  label(picture, {
    x: nameWidth,
    y: 18,
    text: context.state.stack === "encoder" ? "input" : "output",
    size: 13,
    quiet: true,
    anchor: "end",
  });
  label(picture, {
    x: right + marks + 14,
    y: 18,
    text: context.state.stack === "encoder" || isCross ? "input" : "output",
    size: 13,
    quiet: true,
  });

  const linesPlace = picture.add(shape("g", {}));
  const marksPlace = picture.add(shape("g", {}));
  const show = (/** @type {number | null} */ focus) => {
    linesPlace.replaceChildren();
    marksPlace.replaceChildren();
    picture.into(linesPlace, () => {
      // Lines of different heads end a little apart, so that none hides another that goes to the same word.
      const apart = Math.min(isNarrow ? 4 : 6, (0.7 * rowHeight) / heads.length);
      heads.forEach((head, place) => {
        const beside = (/** @type {number} */ index) => middle(index) + (place - (heads.length - 1) / 2) * apart;
        const links = linksOf(looking, focus, picture.theme, [head], Math.floor(MOST_LINES / heads.length));
        lines(picture, {left, right, leftY: beside, rightY: beside, links, width: isNarrow ? 8 : 12});
      });
    });
    picture.into(marksPlace, () => {
      if (focus !== null) drawMarks(context, looking, focus, {x: right + 8, cell, rowHeight, top});
    });
    for (const node of names) node.setAttribute("font-weight", Number(node.dataset.index) === focus ? "700" : "400");
  };

  /** @type {SVGElement[]} */
  const names = [];
  const pick = (/** @type {number} */ index) => {
    const isPinned = index === pinned;
    // Pressing the pinned token again unpins it.
    context.update({token: from[index].tokens[0], options: {pin: isPinned ? "no" : null}});
  };
  from.forEach(({text}, index) => {
    const group = picture.group({}, () => {
      picture.add(
        shape("rect", {
          x: 0,
          y: top + index * rowHeight,
          width: left - 4,
          height: rowHeight,
          rx: 6,
          fill: "transparent",
        }),
        {x: 0, y: top + index * rowHeight, width: left, height: rowHeight},
      );
      const y = middle(index) + size * 0.35;
      label(picture, {x: nameWidth, y, text: picture.ruler.fit(text, nameWidth, size, true), size, anchor: "end"});
    });
    const node = /** @type {SVGElement} */ (group.querySelector("text"));
    node.dataset.index = String(index);
    names.push(node);
    pressable(picture, group, {
      label: sayLooking(looking, index),
      onpick: () => pick(index),
      key: `looks-${index}`,
      current: index === pinned,
    });
    group.addEventListener("pointerenter", () => show(index));
    group.addEventListener("pointerleave", () => show(pinned));
    group.addEventListener("focus", () => show(index));
    group.addEventListener("blur", () => show(pinned));
    group.addEventListener("keydown", (event) => {
      const next = {ArrowDown: index + 1, ArrowUp: index - 1}[event.key];
      if (next === undefined || !from[next]) return;
      event.preventDefault();
      event.stopPropagation();
      const other = picture.node.querySelector(`[data-key="looks-${next}"]`);
      if (other instanceof SVGElement) other.focus();
    });
  });
  to.forEach(({text}, index) => {
    const y = middle(index) + size * 0.35;
    label(picture, {x: right + marks + 14, y, text: picture.ruler.fit(text, nameWidth, size), size});
  });
  show(pinned);
  picture.describe(
    pinned === null
      ? `Lines from ${from.length} tokens to ${to.length}, for heads ${heads.join(", ")}.`
      : sayLooking(looking, pinned),
  );
}

/**
 * In words, where a token looks.
 * @param {Looking} looking
 * @param {number} query
 */
function sayLooking(looking, query) {
  const said = looking.heads.map((head) => {
    const shares = looking.to.map((_, key) => looking.weight(head, query, key));
    const best = strongest(shares);
    return `head ${head} mostly at “${looking.to[best].text}” (${percent(shares[best])})`;
  });
  return `“${looking.from[query].text}” looks: ${said.join(", ")}`;
}

/**
 * How much each head gives to each token, beside the tokens that are looked at.
 * @param {ViewContext} context
 * @param {Looking} looking
 * @param {number} focus
 * @param {{x: number, cell: number, rowHeight: number, top: number}} given
 */
function drawMarks(context, looking, focus, {x, cell, rowHeight, top}) {
  const picture = context.picture("");
  looking.to.forEach((_, key) => {
    looking.heads.forEach((head, place) => {
      const share = looking.weight(head, focus, key);
      picture.add(
        shape("rect", {
          x: x + place * cell,
          y: top + (key + 0.1) * rowHeight,
          width: cell - 1,
          height: rowHeight * 0.8,
          rx: 2,
          fill: css(shareRgb(share, headColour(head, picture.theme), picture.theme)),
          "data-head": head,
          "data-key-token": key,
          "data-share": decimal(share, 4),
        }),
      );
    });
  });
  if (!looking.heads.length) return;
  readable(picture, {
    x,
    y: top,
    rows: looking.to.length,
    columns: looking.heads.length,
    cellWidth: cell,
    cellHeight: rowHeight,
    label: `The attention of “${looking.from[focus].text}”, by token and head`,
    describe: (key, place) => [
      `head ${looking.heads[place]}: “${looking.from[focus].text}” → “${looking.to[key].text}”`,
      precise(looking.weight(looking.heads[place], focus, key)),
    ],
    key: "shares",
  });
}

/**
 * A small picture for each head, side by side; pressing one shows only that head.
 * @param {ViewContext} context
 * @param {Looking} looking
 */
function drawMultiples(context, looking) {
  const picture = context.picture("Each head separately");
  const {from, to, pinned} = looking;
  const {room, theme, trace} = context;
  const heads = trace.config.heads;
  const longest = Math.max(...[...from, ...to].map(({text}) => picture.ruler.width(text, 11, true)));
  const nameWidth = Math.min(72, longest);
  const fit = Math.max(1, Math.min(heads, Math.floor((room + 20) / (nameWidth * 2 + 90))));
  const even = Array.from({length: fit}, (_, place) => fit - place).find((number) => heads % number === 0) ?? 1;
  const perLine = even * 2 >= fit ? even : fit; // lines of equal length if that wastes little room
  const width = Math.floor((room - (perLine - 1) * 20) / perLine);
  const most = Math.max(from.length, to.length);
  const lineCount = Math.ceil(heads / perLine);
  const space = Math.min(320, context.tall / lineCount - 18 - 46);
  const {height: rowHeight} = rowsThatFit(most, space, {high: 16, low: 4});
  const size = Math.min(11, rowHeight * 0.85);
  const height = most * rowHeight + 46;
  /** @type {string[]} */
  const said = [];
  for (let head = 0; head < heads; head++) {
    const x = (head % perLine) * (width + 20);
    const y = Math.floor(head / perLine) * (height + 18);
    const left = x + nameWidth + 10;
    const right = x + width - nameWidth - 10;
    const middle = (/** @type {number} */ index) => y + 38 + (index + 0.5) * rowHeight;
    const isOff = trace.isOff(context.attention, head);
    const group = picture.group({}, () => {
      const box = {x, y, width, height};
      picture.add(
        shape("rect", {...box, rx: 10, class: "paper", stroke: headColour(head, theme), "stroke-width": 2}),
        box,
      );
      label(picture, {x: x + 12, y: y + 22, text: isOff ? `head ${head}, switched off` : `head ${head}`, bold: true});
      lines(picture, {
        left,
        right,
        leftY: middle,
        rightY: middle,
        links: linksOf(looking, pinned, theme, [head], Math.floor(MOST_LINES / heads)),
        width: 5,
      });
      from.forEach(({text}, index) => {
        label(picture, {
          x: left - 4,
          y: middle(index) + size * 0.35,
          text: picture.ruler.fit(text, nameWidth, size),
          size,
          anchor: "end",
          bold: index === pinned,
        });
      });
      to.forEach(({text}, index) => {
        label(picture, {
          x: right + 4,
          y: middle(index) + size * 0.35,
          text: picture.ruler.fit(text, nameWidth, size),
          size,
        });
      });
    });
    const spoken = pinned === null ? `head ${head}` : sayLooking({...looking, heads: [head]}, pinned);
    said.push(spoken);
    pressable(picture, group, {
      label: `${spoken}: show only this head`,
      onpick: () => context.update({head, options: {heads: String(head), "heads-view": null}}),
      key: `multiple-${head}`,
    });
  }
  picture.describe(said.join("; "));
}
