// Colours are written down once, in palette.js; style sheets and scripts read them from there.

import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import {join} from "node:path";
import test from "node:test";
import {fileURLToPath} from "node:url";

import {customProperties, PALETTE} from "../../src/vitrail/web/palette.js";
import {applyTheme} from "../../src/vitrail/web/theme.js";

const WEB = fileURLToPath(new URL("../../src/vitrail/web/", import.meta.url));
const files = readdirSync(WEB, {recursive: true}).filter((name) => /\.(js|css|html)$/.test(name));
const read = (name) => readFileSync(join(WEB, name), "utf8");
const styles = files.filter((name) => name.endsWith(".css"));

// Not a list of all names that CSS knows: those that one is tempted to write.
const NAMED =
  "aqua azure beige black blue brown coral crimson cyan fuchsia gold gray green grey indigo ivory khaki lavender " +
  "lime linen magenta maroon navy olive orange orchid pink plum purple red salmon sienna silver snow tan teal " +
  "tomato violet white yellow";
const names = NAMED.split(" ").join("|");
const HEX = /#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\b/i;
const FUNCTION = /\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark)\(\s*[\d.#a-z"'-]/i;

const withoutComments = (source) => source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

test("no colour is written down outside the palette", () => {
  assert.ok(files.length > 60 && styles.length > 3);
  for (const name of files.filter((file) => file !== "palette.js")) {
    const source = withoutComments(read(name));
    assert.doesNotMatch(source, HEX, name);
    if (name.endsWith(".js")) assert.doesNotMatch(source, new RegExp(`["'\`](?:${names})["'\`]`), name);
    else assert.doesNotMatch(source, new RegExp(`:[^;{}]*(?<![\\w-])(?:${names})(?![\\w-])`), name);
    // A function's own call, as in `css(rgb(value))`, has a name in it; a colour has numbers.
    const functions = name.endsWith(".js") ? /\b(?:rgba?|hsla?|oklch)\(\s*\d/ : FUNCTION;
    assert.doesNotMatch(source, functions, name);
  }
});

test("style sheets read the custom properties that a theme sets, all of the page's and no others", () => {
  const elsewhere = new Set(["--face", "--choice"]); // the typeface, and a head's colour on its button
  const used = new Set(
    styles.flatMap((name) => Array.from(read(name).matchAll(/var\((--[\w-]+)/g), ([, found]) => found)),
  );
  const known = new Set(customProperties("light").map(([property]) => property));
  for (const property of used) assert.ok(known.has(property) || elsewhere.has(property), property);
  for (const property of Object.keys(PALETTE.light.page)) assert.ok(used.has(`--${property}`), property);
});

test("both themes define the same colours", () => {
  const shape = (value) =>
    typeof value === "string"
      ? "colour"
      : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shape(one)]));
  assert.deepEqual(shape(PALETTE.light), shape(PALETTE.dark));
});

test("applying a theme replaces every colour of the other", () => {
  const set = new Map();
  const root = {dataset: {}, style: {setProperty: (name, value) => set.set(name, value)}};
  for (const theme of ["light", "dark", "light"]) {
    applyTheme(root, theme);
    assert.equal(root.dataset.theme, theme);
    assert.deepEqual([...set], customProperties(theme));
  }
});
