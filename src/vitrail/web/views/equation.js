// Pictures in a row with signs between them, as in X × W = Q; a row that is full continues below.

import {shape} from "../dom.js";
import {shades} from "../colour.js";
import {label} from "../draw/label.js";

/**
 * @typedef {import("../draw/picture.js").Picture} Picture
 * @typedef {import("../draw/picture.js").Box} Box
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {{
 *   width: number, height: number, draw: (x: number, y: number) => void, name?: string, raised?: string,
 *   note?: string, meaning?: Meaning, sign?: string}} Piece
 *   name, raised: above it ("W", "Q"); note: below it (its shape); sign: before it
 */

const CAPTION = 26;
const NOTE = 20;
export const SIGN = 34;

/**
 * @param {Picture} picture
 * @param {{x: number, y: number, pieces: Piece[], room: number}} given
 * @returns {Box}
 */
export function equation(picture, {x, y, pieces, room}) {
  let top = y;
  let widest = 0;
  for (const row of rowsOf(picture, pieces, room)) {
    const tallest = Math.max(...row.map((piece) => piece.height));
    const middle = top + CAPTION + tallest / 2;
    let left = x;
    for (const piece of row) {
      if (piece.sign) {
        label(picture, {x: left + SIGN / 2, y: middle + 8, text: piece.sign, size: 22, anchor: "middle"});
        left += SIGN;
      }
      const pieceTop = middle - piece.height / 2;
      const width = pieceWidth(picture, piece);
      const inside = left + (width - piece.width) / 2;
      if (piece.name) pieceName(picture, piece, inside + piece.width / 2, pieceTop - 9);
      piece.draw(inside, pieceTop);
      if (piece.note) {
        const under = pieceTop + piece.height + 16;
        label(picture, {
          x: inside + piece.width / 2,
          y: under,
          text: piece.note,
          size: 12,
          quiet: true,
          anchor: "middle",
        });
      }
      left += width;
    }
    widest = Math.max(widest, left - x);
    top = middle + tallest / 2 + NOTE + 12;
  }
  return {x, y, width: widest, height: top - y};
}

/**
 * @param {Picture} picture
 * @param {Piece[]} pieces
 * @param {number} room
 */
function rowsOf(picture, pieces, room) {
  /** @type {Piece[][]} */
  const rows = [[]];
  let used = 0;
  for (const piece of pieces) {
    const width = widthOf(picture, [piece]);
    if (rows[rows.length - 1].length && used + width > room + 1) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1].push(piece);
    used += width;
  }
  return rows;
}

/**
 * How wide pieces are in one row, with their signs.
 * @param {Picture} picture
 * @param {Piece[]} pieces
 */
export function widthOf(picture, pieces) {
  return pieces.reduce((sum, piece) => sum + pieceWidth(picture, piece) + (piece.sign ? SIGN : 0), 0);
}

/**
 * @param {Picture} picture
 * @param {Piece} piece
 */
function pieceWidth(picture, piece) {
  const name = picture.ruler.width((piece.name ?? "") + (piece.raised ?? ""), 15, true);
  return Math.max(piece.width, name, piece.note ? picture.ruler.width(piece.note, 12) : 0);
}

/**
 * @param {Picture} picture
 * @param {Piece} piece
 * @param {number} middle
 * @param {number} y
 */
function pieceName(picture, {name = "", raised = "", meaning}, middle, y) {
  const width = picture.ruler.width(name, 15, true);
  const left = middle - (width + picture.ruler.width(raised, 11, true)) / 2;
  label(picture, {x: left, y, text: name, size: 15, bold: true, meaning});
  if (raised) label(picture, {x: left + width + 1, y: y - 6, text: raised, size: 11, bold: true, meaning});
}

/**
 * A placeholder for numbers that the file does not contain.
 * @param {Picture} picture
 * @param {Box & {meaning?: Meaning, text?: string}} given
 */
export function missing(picture, {x, y, width, height, meaning = "neutral", text = "not in this file"}) {
  const {strong} = shades(meaning, picture.theme);
  const box = {x, y, width, height};
  picture.add(shape("rect", {...box, rx: 4, fill: "none", stroke: strong, "stroke-dasharray": "5 4"}), box);
  const shown = picture.ruler.width(text, 12) <= width - 6 ? text : picture.ruler.fit("not here", width - 6, 12);
  label(picture, {x: x + width / 2, y: y + height / 2 + 4, text: shown, size: 12, quiet: true, anchor: "middle"});
}
