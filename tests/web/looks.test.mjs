import assert from "node:assert/strict";
import test from "node:test";

import {
  HEAD_COLOURS,
  headColour,
  inkOn,
  luminance,
  parse,
  shades,
  shareRgb,
  valueRgb,
} from "../../src/vitrail/web/colour.js";
import {PALETTE} from "../../src/vitrail/web/palette.js";
import {
  count,
  decimal,
  extent,
  notZero,
  percent,
  precise,
  scientific,
  scoreText,
  shortCount,
} from "../../src/vitrail/web/numbers.js";

const THEMES = ["light", "dark"];
const PAPER = {light: parse(PALETTE.light.page.raised), dark: parse(PALETTE.dark.page.raised)};
const MEANINGS = Object.keys(PALETTE.light.meanings);

const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};

/** OKLab, in which distances are about as large as they look. */
function oklab(rgb) {
  const [r, g, b] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** How someone without one kind of cones sees a colour (Viénot, Brettel and Mollon 1999; Machado et al. for tritan). */
const SEEN_BY = {
  everyone: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const seenBy = (who, rgb) => {
  const linear = rgb.map((part) => (part / 255) ** 2.2);
  return SEEN_BY[who].map(
    (row) =>
      255 *
      Math.max(
        0,
        Math.min(
          1,
          row.reduce((sum, w, i) => sum + w * linear[i], 0),
        ),
      ) **
        (1 / 2.2),
  );
};
const apart = (a, b) => Math.hypot(...oklab(a).map((value, i) => value - oklab(b)[i]));

test("text in the colour of its meaning can be read, on paper and on its own soft ground", () => {
  for (const theme of THEMES) {
    for (const meaning of MEANINGS) {
      const {ink, soft, strong} = shades(meaning, theme);
      assert.ok(contrast(parse(ink), parse(soft)) >= 4.5, `${theme} ${meaning} on soft`);
      assert.ok(contrast(parse(ink), PAPER[theme]) >= 4.5, `${theme} ${meaning} on paper`);
      assert.ok(contrast(parse(strong), PAPER[theme]) >= 2.2, `${theme} ${meaning} lines`);
    }
  }
});

test("positive and negative values are told apart by every eye, and grow away from zero", () => {
  for (const theme of THEMES) {
    for (const who of Object.keys(SEEN_BY)) {
      for (const size of [0.25, 0.5, 1]) {
        assert.ok(
          apart(seenBy(who, valueRgb(size, 1, theme)), seenBy(who, valueRgb(-size, 1, theme))) > 0.09,
          `${theme} ${who} ${size}`,
        );
      }
    }
    const zero = luminance(valueRgb(0, 1, theme));
    for (const sign of [1, -1]) {
      let before = 0;
      for (let size = 0.1; size <= 1.001; size += 0.1) {
        const distance = Math.abs(luminance(valueRgb(sign * size, 1, theme)) - zero);
        assert.ok(distance > before, `${theme} ${sign * size}`);
        before = distance;
      }
    }
    assert.deepEqual(valueRgb(5, 1, theme), valueRgb(1, 1, theme));
    assert.deepEqual(valueRgb(0, 0, theme), valueRgb(0, 1, theme));
  }
});

test("numbers on cells can be read", () => {
  for (const theme of THEMES) {
    for (let value = -1; value <= 1; value += 0.05) {
      const rgb = valueRgb(value, 1, theme);
      assert.ok(contrast(parse(inkOn(rgb)), rgb) >= 4.5, `${theme} ${value}`);
    }
    for (let head = 0; head < HEAD_COLOURS; head++) {
      for (const share of [0, 0.3, 0.6, 1]) {
        const rgb = shareRgb(share, headColour(head, theme), theme);
        assert.ok(contrast(parse(inkOn(rgb)), rgb) >= 4.5, `${theme} head ${head} ${share}`);
      }
    }
  }
});

test("sixteen heads have sixteen colours that can be told apart and stand out from the paper", () => {
  assert.equal(HEAD_COLOURS, 16);
  for (const theme of THEMES) {
    const colours = Array.from({length: HEAD_COLOURS}, (_, head) => parse(headColour(head, theme)));
    colours.forEach((colour, i) => {
      assert.ok(contrast(colour, PAPER[theme]) >= 2, `${theme} ${i}`);
      for (let j = 0; j < i; j++) {
        assert.ok(apart(colour, colours[j]) > 0.06, `${theme} ${i} ${j} ${apart(colour, colours[j])}`);
      }
    });
  }
});

test("numbers are written with a true minus, and never as minus zero", () => {
  assert.equal(decimal(-1.234), "−1.23");
  assert.equal(decimal(-0.001), "0.00");
  assert.equal(decimal(-Infinity), "−∞");
  assert.equal(precise(Math.fround(0.1)), "0.1");
  assert.equal(precise(-0), "0");
  assert.equal(precise(-1.5e-9), "−1.5e-9");
  assert.equal(notZero(6.5e-5, 3), "6.5e-5");
  assert.equal(notZero(-6.5e-5, 3), "−6.5e-5");
  assert.equal(notZero(0, 3), "0.000");
  assert.equal(notZero(0.25, 3), "0.250");
  assert.equal(scoreText(-0.000235), "−0.000235");
  assert.equal(scoreText(-1.23456), "−1.235");
  assert.equal(scientific(0), "0e0");
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(999), "999");
  assert.equal(shortCount(787584), "788k");
  assert.equal(shortCount(65_000_000), "65.0M");
  assert.equal(percent(0.5), "50%");
  assert.equal(percent(0.0004), "0.04%");
  assert.equal(percent(6.5e-5), "0.0065%");
  assert.equal(percent(0.99976), "99.976%");
  assert.equal(percent(1 - 1e-12), "> 99.9999%");
  assert.equal(percent(1), "100%");
});

test("an extent leaves out what is not finite", () => {
  assert.deepEqual(extent([1, -3, -Infinity, NaN]), {least: -3, most: 1, size: 3});
  assert.deepEqual(extent([]), {least: 0, most: 0, size: 0});
});
