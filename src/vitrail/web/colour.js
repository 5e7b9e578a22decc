// Colours carry meaning and stay the same everywhere: X green, Q purple, K orange, V blue, Z pink, R light blue.
//
// Values run from blue (negative) over the paper's own colour (zero) to vermilion (positive): two ends that readers with
// any kind of colour blindness tell apart. Each theme has its own shades; meanings keep their hue.

/**
 * @typedef {"light" | "dark"} Theme
 * @typedef {"x" | "q" | "k" | "v" | "z" | "r" | "encoder" | "decoder" | "neutral"} Meaning
 * @typedef {readonly [number, number, number]} Rgb
 * @typedef {{strong: string, soft: string, ink: string}} Shades strong: lines and bars; soft: areas; ink: text on soft
 */

/** @type {Record<Theme, Record<Meaning, Shades>>} */
const MEANINGS = {
  light: {
    x: {strong: "#3f9142", soft: "#dff0dc", ink: "#22602a"},
    q: {strong: "#8250c4", soft: "#ebe1f8", ink: "#5a2f98"},
    k: {strong: "#d9730d", soft: "#fde8d2", ink: "#8f4700"},
    v: {strong: "#2f6fd0", soft: "#dce8fb", ink: "#1c4b99"},
    z: {strong: "#d0448c", soft: "#fbe0ee", ink: "#94235d"},
    r: {strong: "#2aa3c7", soft: "#d8f1f8", ink: "#0f5f78"},
    encoder: {strong: "#5aa25d", soft: "#eef7ec", ink: "#22602a"},
    decoder: {strong: "#d67aa9", soft: "#fdf0f6", ink: "#94235d"},
    neutral: {strong: "#7b8494", soft: "#eceef2", ink: "#3c4453"},
  },
  dark: {
    x: {strong: "#6cc070", soft: "#1d3422", ink: "#aee3b0"},
    q: {strong: "#b18cf0", soft: "#2d2247", ink: "#d6c3fb"},
    k: {strong: "#f39a3d", soft: "#402a13", ink: "#fbc98d"},
    v: {strong: "#6ba3f5", soft: "#192d4d", ink: "#b3d0fb"},
    z: {strong: "#ee79b4", soft: "#421f33", ink: "#f9b9d9"},
    r: {strong: "#5cc8e6", soft: "#133643", ink: "#a9e4f3"},
    encoder: {strong: "#5a9e5f", soft: "#17251c", ink: "#aee3b0"},
    decoder: {strong: "#c5709e", soft: "#2a1a24", ink: "#f9b9d9"},
    neutral: {strong: "#8d97a8", soft: "#252c38", ink: "#c9d0dc"},
  },
};

/** @type {Record<Theme, {negative: Rgb[], zero: Rgb, positive: Rgb[]}>} from zero outwards */
const DIVERGING = {
  light: {
    zero: [247, 246, 243],
    negative: [
      [247, 246, 243],
      [147, 196, 232],
      [43, 131, 196],
      [5, 66, 120],
    ],
    positive: [
      [247, 246, 243],
      [250, 189, 140],
      [222, 104, 32],
      [134, 45, 4],
    ],
  },
  dark: {
    zero: [30, 36, 46],
    negative: [
      [30, 36, 46],
      [31, 82, 128],
      [56, 145, 219],
      [168, 217, 255],
    ],
    positive: [
      [30, 36, 46],
      [122, 62, 20],
      [226, 116, 42],
      [255, 206, 158],
    ],
  },
};

/** @type {Record<Theme, string[]>} one for each head, the first eight as far apart as can be */
const HEADS = {
  light: [
    "#1f77d0",
    "#e07b00",
    "#2f9e44",
    "#c2255c",
    "#8450d8",
    "#8a6d1d",
    "#0c9aa8",
    "#e0559f",
    "#5f6b7a",
    "#9cb400",
    "#b04a2f",
    "#4c4fd0",
    "#1d7a5f",
    "#c69200",
    "#7a2f7f",
    "#6a9fd8",
  ],
  dark: [
    "#5aa9ff",
    "#ffa53d",
    "#5fd07a",
    "#ff6b93",
    "#b794ff",
    "#d4b458",
    "#3fd4de",
    "#ff94cf",
    "#aab4c3",
    "#cfe64a",
    "#f08a6a",
    "#7479f2",
    "#58c2a0",
    "#ffd24d",
    "#d083d6",
    "#9cc7f2",
  ],
};

/**
 * The shades of a meaning.
 * @param {Meaning} meaning
 * @param {Theme} theme
 */
export function shades(meaning, theme) {
  return MEANINGS[theme][meaning];
}

/**
 * A head's own colour; after sixteen they begin again.
 * @param {number} head
 * @param {Theme} theme
 */
export function headColour(head, theme) {
  return HEADS[theme][head % HEADS[theme].length];
}

/** How many heads have a colour of their own. */
export const HEAD_COLOURS = HEADS.light.length;

/**
 * The colour of a value, of which `largest` is the strongest.
 * @param {number} value
 * @param {number} largest
 * @param {Theme} theme
 * @returns {Rgb}
 */
export function valueRgb(value, largest, theme) {
  const {zero, negative, positive} = DIVERGING[theme];
  if (!Number.isFinite(value)) return Number.isNaN(value) ? [255, 0, 255] : between(zero, [128, 128, 128], 0.35);
  const share = largest > 0 ? Math.min(1, Math.abs(value) / largest) : 0;
  return along(value < 0 ? negative : positive, share);
}

/**
 * The same, as CSS writes it.
 * @param {number} value
 * @param {number} largest
 * @param {Theme} theme
 */
export function valueColour(value, largest, theme) {
  return css(valueRgb(value, largest, theme));
}

/**
 * A share between 0 and 1 in shades of one colour, from the paper's own to the colour itself.
 * @param {number} share
 * @param {string} colour as "#rrggbb"
 * @param {Theme} theme
 * @returns {Rgb}
 */
export function shareRgb(share, colour, theme) {
  const amount = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return between(DIVERGING[theme].zero, parse(colour), amount);
}

/**
 * Black or white, whichever reads better on this.
 * @param {Rgb} rgb
 */
export function inkOn(rgb) {
  return luminance(rgb) > 0.18 ? "#000000" : "#ffffff";
}

/**
 * @param {Rgb} rgb
 * @returns {string}
 */
export function css(rgb) {
  return `rgb(${rgb.map((part) => Math.round(part)).join(" ")})`;
}

/**
 * "#rrggbb" as three numbers.
 * @param {string} colour
 * @returns {Rgb}
 */
export function parse(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/**
 * How light a colour is, as WCAG counts it: 0 black, 1 white.
 * @param {Rgb} rgb
 */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * @param {readonly Rgb[]} stops
 * @param {number} share
 */
function along(stops, share) {
  const place = share * (stops.length - 1);
  const index = Math.min(Math.floor(place), stops.length - 2);
  return between(stops[index], stops[index + 1], place - index);
}

/**
 * @param {Rgb} a
 * @param {Rgb} b
 * @param {number} share
 * @returns {Rgb}
 */
function between(a, b, share) {
  return [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share, a[2] + (b[2] - a[2]) * share];
}
