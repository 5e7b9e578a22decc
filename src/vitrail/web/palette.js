// Every colour of the page, in both themes: no other file writes one down.
//
// Colours carry meaning and stay the same everywhere: X green, Q purple, K orange, V blue, Z pink, R light blue. Each
// theme has its own shades; meanings keep their hue. Pictures get their colours from colour.js, style sheets from the
// custom properties that theme.js sets: `--paper` and so on for `page`, `--q` and so on for the ink of a meaning.

/**
 * @typedef {"light" | "dark"} Theme
 * @typedef {"x" | "q" | "k" | "v" | "z" | "r" | "encoder" | "decoder" | "neutral"} Meaning
 * @typedef {{strong: string, soft: string, ink: string}} Shades strong: lines and bars; soft: areas; ink: text on soft
 * @typedef {{
 *   page: Record<string, string>, meanings: Record<Meaning, Shades>, heads: readonly string[],
 *   values: {zero: string, negative: readonly string[], positive: readonly string[]}}} Colours
 *   values: from zero outwards; heads: one for each, the first eight as far apart as can be
 */

/** @type {Readonly<Record<Theme, Colours>>} */
export const PALETTE = {
  light: {
    page: {
      paper: "#fcfbf8",
      raised: "#ffffff",
      ink: "#1c2330",
      quiet: "#5d6675",
      line: "#e0ddd5",
      accent: "#4a4fc4",
      "accent-soft": "#ececfb",
      ok: "#1f7a3d",
      "ok-soft": "#e2f3e6",
      bad: "#b3261e",
      "bad-soft": "#fce8e6",
      shadow: "#00000026",
    },
    meanings: {
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
    // From blue over the paper's colour to vermilion: readers with any kind of colour blindness tell the ends apart.
    values: {zero: "#f7f6f3", negative: ["#93c4e8", "#2b83c4", "#054278"], positive: ["#fabd8c", "#de6820", "#862d04"]},
    heads: [
      ...["#1f77d0", "#e07b00", "#2f9e44", "#c2255c", "#8450d8", "#8a6d1d", "#0c9aa8", "#e0559f"],
      ...["#5f6b7a", "#9cb400", "#b04a2f", "#4c4fd0", "#1d7a5f", "#c69200", "#7a2f7f", "#6a9fd8"],
    ],
  },
  dark: {
    page: {
      paper: "#12161d",
      raised: "#191f29",
      ink: "#e8ebf1",
      quiet: "#a1abbb",
      line: "#2c3442",
      accent: "#a9adff",
      "accent-soft": "#262a4d",
      ok: "#7fd79a",
      "ok-soft": "#17301f",
      bad: "#ff9a92",
      "bad-soft": "#42201d",
      shadow: "#00000026",
    },
    meanings: {
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
    values: {zero: "#1e242e", negative: ["#1f5280", "#3891db", "#a8d9ff"], positive: ["#7a3e14", "#e2742a", "#ffce9e"]},
    heads: [
      ...["#5aa9ff", "#ffa53d", "#5fd07a", "#ff6b93", "#b794ff", "#d4b458", "#3fd4de", "#ff94cf"],
      ...["#aab4c3", "#cfe64a", "#f08a6a", "#7479f2", "#58c2a0", "#ffd24d", "#d083d6", "#9cc7f2"],
    ],
  },
};

/** Text on cells of any colour. */
export const ON_CELLS = {dark: "#000000", light: "#ffffff"};

/** Values that no scale has: hidden ones (−∞) are tinted grey; one that is not a number is meant to be noticed. */
export const OFF_SCALE = {hidden: "#808080", notANumber: "#ff00ff"};

/**
 * The custom properties that style sheets read, by name.
 * @param {Theme} theme
 * @returns {[string, string][]}
 */
export function customProperties(theme) {
  const {page, meanings} = PALETTE[theme];
  const inks = Object.entries(meanings).map(([meaning, {ink}]) => [meaning, ink]);
  return [...Object.entries(page), ...inks].map(([name, colour]) => [`--${name}`, colour]);
}
