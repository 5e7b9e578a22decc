// How the page writes numbers, and shortens long texts.

const MINUS = "−"; // as wide as +, unlike the hyphen

/**
 * A number with a fixed number of digits after the point.
 * @param {number} value
 * @param {number} [digits]
 */
export function decimal(value, digits = 2) {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "∞";
  if (value === -Infinity) return `${MINUS}∞`;
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/**
 * A number as precise as float32 is, for tooltips.
 * @param {number} value
 */
export function precise(value) {
  if (!Number.isFinite(value) || value === 0) return decimal(value, 0);
  const size = Math.abs(value);
  const text =
    size >= 1e-4 && size < 1e7 ? String(Number(size.toPrecision(7))) : Number(size.toPrecision(5)).toExponential();
  return value < 0 ? MINUS + text : text;
}

/**
 * A number with a few significant digits: −0.00359.
 * @param {number} value
 * @param {number} [digits]
 */
export function significant(value, digits = 3) {
  return precise(Number(value.toPrecision(digits)));
}

/**
 * A score or a log-probability: −1.234, and −0.000235 rather than −0.000.
 * @param {number} value
 */
export function scoreText(value) {
  return Math.abs(value) < 0.1 ? significant(value) : decimal(value, 3);
}

/**
 * A small number: "4e-7".
 * @param {number} value
 */
export function scientific(value) {
  return Number(value.toPrecision(1)).toExponential().replace("e+", "e");
}

/**
 * A probability in per cent, with as many digits as it takes to tell it from 0 and from 100: "0.0065%", "99.976%".
 * @param {number} value
 */
export function percent(value) {
  if (value > 0 && value < 0.001) return `${precise(Number((100 * value).toPrecision(2)))}%`;
  if (value > 0.999 && value < 1) {
    const digits = Math.min(6, 1 + Math.ceil(-Math.log10(100 * (1 - value))));
    const text = (100 * value).toFixed(Math.max(1, digits));
    return Number(text) < 100 ? `${text}%` : "> 99.9999%";
  }
  return `${(100 * value).toFixed(value < 0.0995 || (value > 0.9905 && value < 1) ? 1 : 0)}%`;
}

/**
 * A number with a fixed number of digits; one that is small but not zero as "6.5e-5", never as "0.000".
 * @param {number} value
 * @param {number} digits
 */
export function notZero(value, digits) {
  const isLost = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  return isLost ? `${value < 0 ? MINUS : ""}${Math.abs(value).toExponential(1)}` : decimal(value, digits);
}

/**
 * A count with thousands separators: "2,304".
 * @param {number} value
 */
export function count(value) {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * A large count in short: "1.3M".
 * @param {number} value
 */
export function shortCount(value) {
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)}G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${Math.round(value / 1e3)}k`;
  return count(value);
}

/**
 * A text in quotes; a long one is cut off, between words if possible.
 * @param {string} text
 * @param {number} [most]
 */
export function quoted(text, most = 160) {
  const letters = [...text];
  if (letters.length <= most) return `“${text}”`;
  const start = letters.slice(0, most).join("");
  return `“${start.slice(0, start.includes(" ") ? start.lastIndexOf(" ") : undefined)} …”`;
}

/**
 * The smallest, the largest, and the largest by size, of the finite numbers.
 * @param {ArrayLike<number>} values
 */
export function extent(values) {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least > most) return {least: 0, most: 0, size: 0};
  return {least, most, size: Math.max(Math.abs(least), Math.abs(most))};
}
