// How wide words are in a picture, and how much of a text fits.

const FACE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif'; // --face

/** Measures text with a canvas; without a browser it makes a good guess. One serves the whole page. */
export class Ruler {
  constructor() {
    this.canvas = typeof document === "object" ? document.createElement("canvas").getContext("2d") : null;
  }

  /**
   * How wide a text is.
   * @param {string} text
   * @param {number} [size]
   * @param {boolean} [bold]
   */
  width(text, size = 14, bold = false) {
    if (!this.canvas) return [...text].length * size * 0.56;
    this.canvas.font = `${bold ? "600 " : ""}${size}px ${FACE}`;
    return this.canvas.measureText(text).width;
  }

  /**
   * How wide the widest of several texts is.
   * @param {readonly string[]} texts
   * @param {number} [size]
   * @param {boolean} [bold]
   */
  widest(texts, size, bold) {
    return Math.max(0, ...texts.map((text) => this.width(text, size, bold)));
  }

  /**
   * The text, or as much of it as fits, with an ellipsis.
   * @param {string} text
   * @param {number} width
   * @param {number} [size]
   * @param {boolean} [bold]
   */
  fit(text, width, size = 14, bold = false) {
    if (this.width(text, size, bold) <= width) return text;
    const letters = [...text];
    // Halving finds the longest beginning that fits; a sentence may have a thousand letters.
    let fits = 1;
    let tooLong = letters.length;
    while (tooLong - fits > 1) {
      const middle = (fits + tooLong) >> 1;
      if (this.width(`${letters.slice(0, middle).join("")}…`, size, bold) <= width) fits = middle;
      else tooLong = middle;
    }
    return `${letters.slice(0, fits).join("")}…`;
  }

  /**
   * The text in lines no wider than this, broken between words.
   * @param {string} text
   * @param {number} width
   * @param {number} [size]
   * @param {boolean} [bold]
   */
  wrap(text, width, size = 14, bold = false) {
    /** @type {string[]} */
    const lines = [];
    for (const part of text.split(" ")) {
      const longer = `${lines[lines.length - 1]} ${part}`;
      if (lines.length && this.width(longer, size, bold) <= width) lines[lines.length - 1] = longer;
      else lines.push(part);
    }
    return lines;
  }
}
