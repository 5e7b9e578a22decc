// One number for each word of the vocabulary, by id, wrapped into a few long lines.

import {matrix} from "../draw/matrix.js";

/**
 * How the vocabulary is wrapped into this width, with smaller cells if it would be higher than `tall`.
 * @param {number} size
 * @param {number} width
 * @param {number} [tall]
 */
export function foldVocabulary(size, width, tall = Infinity) {
  const roomy = size <= 150 ? 12 : size <= 3000 ? 7 : size <= 12000 ? 4 : 2.5;
  const cell = Math.max(1, Math.min(roomy, Math.sqrt((width * tall) / size)));
  const columns = Math.max(1, Math.min(size, Math.floor(width / cell)));
  return {cell, columns, rows: Math.ceil(size / columns)};
}

/**
 * @param {import("../draw/picture.js").Picture} picture
 * @param {{
 *   x: number, y: number, width: number, vocabulary: readonly string[], values: ArrayLike<number>, name: string,
 *   write: (value: number) => string, current?: number, largest?: number, colour?: string,
 *   meaning?: import("../colour.js").Meaning, onpick?: (id: number) => void, key: string, tall?: number}} given
 *   values: one for each id; current: the id to mark
 * @returns {import("../draw/picture.js").Box}
 */
export function foldedVocabulary(picture, given) {
  const {x, y, width, vocabulary, values, name, write, current, onpick, key} = given;
  const {cell, columns, rows} = foldVocabulary(values.length, width, given.tall);
  /** @type {(row: number, column: number) => number} the last line may be shorter */
  const place = (row, column) => Math.min(row * columns + column, values.length - 1);
  return matrix(picture, {
    x,
    y,
    rows,
    columns,
    cellWidth: cell,
    cellHeight: cell,
    value: (row, column) => (row * columns + column < values.length ? values[row * columns + column] : 0),
    name,
    describe: (row, column) => {
      const id = place(row, column);
      return [`${id}: “${vocabulary[id]}”`, write(values[id])];
    },
    onpick: onpick && ((row, column) => onpick(place(row, column))),
    current: current === undefined ? undefined : {row: Math.floor(current / columns), column: current % columns},
    largest: given.largest,
    colour: given.colour,
    meaning: given.meaning,
    key,
  });
}
