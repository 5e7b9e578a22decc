// The map: both stacks as a small picture; a click goes to a layer and sub-layer.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {Picture} from "../draw/picture.js";
import {arrow} from "../draw/frame.js";
import {label} from "../draw/label.js";
import {pressable} from "../draw/reading.js";
import {attentionOf} from "../state.js";

/**
 * @typedef {import("../trace.js").Trace} Trace
 * @typedef {import("../trace.js").Stack} Stack
 * @typedef {import("../trace.js").Sublayer} Sublayer
 * @typedef {import("../state.js").State} State
 */

const ROW = 19;
const SHORT = {self_attention: "self-attention", cross_attention: "enc-dec attention", feed_forward: "feed-forward"};

/**
 * Where in the model a view is, or null if it is about no layer in particular.
 * @param {import("../views.js").View} view
 * @param {State} state
 * @param {Trace} trace
 * @returns {{stack: Stack, layer: number, sublayer: Sublayer | null} | null}
 */
export function placeOf({pickers, place}, state, trace) {
  if (place) return place(state, trace);
  if (!pickers.includes("layer")) return null;
  if (pickers.includes("attention")) return {stack: state.stack, layer: state.layer, sublayer: attentionOf(state)};
  const {stack, layer, sublayer} = state;
  return {stack, layer, sublayer: pickers.includes("sublayer") ? sublayer : null};
}

/**
 * @param {{
 *   trace: Trace, place: ReturnType<typeof placeOf>, theme: import("../colour.js").Theme,
 *   tooltip: import("../draw/tooltip.js").Tooltip,
 *   ruler: import("../draw/ruler.js").Ruler,
 *   go: (stack: Stack, layer: number, sublayer: Sublayer) => void}} given
 */
export function modelMap({trace, place, theme, tooltip, ruler, go}) {
  const picture = new Picture({name: "vitrail-map", label: "Map of the model", theme, tooltip, ruler, room: 240});
  const columns = {encoder: {x: 2, width: 104}, decoder: {x: 128, width: 118}};
  const heights = {
    encoder: trace.layers("encoder") * (2 * ROW + 10),
    decoder: trace.layers("decoder") * (3 * ROW + 10),
  };
  const top = 26;
  const bottom = top + Math.max(heights.encoder, heights.decoder);
  for (const stack of /** @type {Stack[]} */ (["encoder", "decoder"])) {
    const {x, width} = columns[stack];
    for (let layer = 0; layer < trace.layers(stack); layer++) {
      const sublayers = trace.sublayers(stack);
      const height = sublayers.length * ROW + 10;
      const y = bottom - (layer + 1) * height;
      const isHere = place?.stack === stack && place.layer === layer;
      const {strong, soft} = shades(stack, theme);
      const frame = {x, y: y + 3, width, height: height - 6, rx: 5, fill: soft, stroke: strong};
      picture.add(shape("rect", {...frame, "stroke-width": isHere ? 2 : 1}), {x, y, width, height});
      sublayers.forEach((sublayer, index) => {
        const area = {x: x + 3, y: y + 5 + (sublayers.length - 1 - index) * ROW, width: width - 6, height: ROW};
        mapEntry(picture, area, {trace, stack, layer, sublayer, isHere: isHere && place.sublayer === sublayer, go});
      });
    }
    const highest = bottom - heights[stack];
    label(picture, {x, y: highest - 6, text: stack, size: 13, bold: true, meaning: stack});
  }
  const memory = bottom - heights.encoder;
  const right = columns.encoder.x + columns.encoder.width;
  for (let layer = 0; layer < trace.layers("decoder"); layer++) {
    const y = bottom - layer * (3 * ROW + 10) - 5 - ROW * 1.5;
    const way = columns.decoder.x - 11;
    arrow(picture, {
      points: [
        [right, memory + ROW],
        [way, memory + ROW],
        [way, y],
        [columns.decoder.x + 2, y],
      ],
      width: 1,
    });
  }
  return picture.finish();
}

/**
 * @param {Picture} picture
 * @param {import("../draw/picture.js").Box} area
 * @param {{
 *   trace: Trace, stack: Stack, layer: number, sublayer: Sublayer, isHere: boolean,
 *   go: (stack: Stack, layer: number, sublayer: Sublayer) => void}} given
 */
function mapEntry(picture, area, {stack, layer, sublayer, isHere, go}) {
  const group = picture.group({class: `map-entry${isHere ? " here" : ""}`}, () => {
    picture.add(shape("rect", {...area, rx: 3, class: "map-area"}));
    const y = area.y + ROW / 2 + 4;
    label(picture, {x: area.x + 5, y, text: SHORT[sublayer], size: 11, bold: isHere});
  });
  pressable(picture, group, {
    label: `${stack} layer ${layer}, ${SHORT[sublayer]}`,
    onpick: () => go(stack, layer, sublayer),
    key: `map-${stack}-${layer}-${sublayer}`,
    current: isHere,
  });
}
