// Numbers as colours: a vector as a strip of cells, a matrix as a heat map.

import {element, shape} from "../dom.js";
import {css, inkOn, shades, shareRgb, valueRgb} from "../colour.js";
import {decimal, extent, precise} from "../numbers.js";
import {readable} from "./reading.js";
import {label} from "./label.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Box} Box
 * @typedef {import("../colour.js").Meaning} Meaning
 * @typedef {{
 *   x: number, y: number, rows: number, columns: number, value: (row: number, column: number) => number,
 *   name: string, meaning?: Meaning, width?: number, cellWidth?: number, cellHeight?: number, largest?: number,
 *   colour?: string, digits?: number, describe?: (row: number, column: number) => string[],
 *   rowNames?: string[], columnNames?: string[], onpick?: (row: number, column: number) => void,
 *   onread?: (row: number | null, column: number | null) => void, key?: string,
 *   current?: {row?: number, column?: number}}} Matrix
 *   name: what it is, for the tooltip and screen readers; meaning: the colour of its frame; largest: the value with the
 *   strongest colour; colour: shades of this instead, for values from 0 to 1; digits: write the numbers into the cells;
 *   rowNames, columnNames: for the tooltip only (`rowLabels` and `columnLabels` draw the axes)
 */

const MOST_RECTANGLES = 2000; // in one matrix; beyond this, a canvas draws the cells
const MOST_IN_PICTURE = 4000; // in all matrices of a picture
const NARROWEST = 2; // units; nobody would want to edit a narrower cell as a shape

/**
 * A heat map. Returns the box it covers.
 * @param {Picture} picture
 * @param {Matrix} given
 * @returns {Box}
 */
export function matrix(picture, given) {
  const {x, y, rows, columns, meaning = "neutral"} = given;
  const cellWidth = given.cellWidth ?? (given.width ? given.width / columns : 20);
  const cellHeight = given.cellHeight ?? 20;
  const box = {x, y, width: columns * cellWidth, height: rows * cellHeight};
  const largest = given.largest ?? largestOf(given);
  /** @type {(number: number) => import("../colour.js").Rgb} */
  const rgb = (number) =>
    given.colour
      ? shareRgb(largest > 0 ? number / largest : 0, given.colour, picture.theme)
      : valueRgb(number, largest, picture.theme);

  const cells = rows * columns;
  const isTooMuch = cells > MOST_RECTANGLES || picture.cells + cells > MOST_IN_PICTURE || cellWidth < NARROWEST;
  if (isTooMuch) picture.add(cellsAsImage(picture, given, box, rgb));
  else {
    picture.cells += cells;
    picture.add(cellsAsRectangles(given, cellWidth, cellHeight, rgb));
  }
  if (given.digits !== undefined) writeNumbers(picture, given, cellWidth, cellHeight, rgb);
  picture.add(
    shape("rect", {...box, fill: "none", stroke: shades(meaning, picture.theme).strong, "stroke-width": 1.5, rx: 2}),
    box,
  );
  if (given.current) picture.add(currentMark(given, cellWidth, cellHeight));
  picture.grids.push({...given, cellWidth, cellHeight, largest});
  const describe = given.describe ?? ((row, column) => plainWords(given, row, column));
  readable(picture, {...given, cellWidth, cellHeight, label: spoken(given), describe});
  return box;
}

/**
 * A vector as one row of cells.
 * @param {Picture} picture
 * @param {Omit<Matrix, "rows" | "columns" | "value" | "describe" | "onpick"> & {
 *   values: ArrayLike<number>, describe?: (column: number) => string[], onpick?: (column: number) => void}} given
 * @returns {Box}
 */
export function strip(picture, given) {
  const {values, describe, onpick, ...rest} = given;
  return matrix(picture, {
    cellHeight: 22,
    ...rest,
    rows: 1,
    columns: values.length,
    value: (_, column) => values[column],
    describe: describe && ((_, column) => describe(column)),
    onpick: onpick && ((_, column) => onpick(column)),
  });
}

/**
 * Names to the left of rows.
 * @param {Picture} picture
 * @param {{
 *   box: Box, names: string[], size?: number, width?: number, current?: number, gap?: number, meaning?: Meaning}} given
 */
export function rowLabels(picture, {box, names, size = 14, width, current, gap = 8, meaning}) {
  const height = box.height / names.length;
  names.forEach((name, row) => {
    const text = width ? picture.ruler.fit(name, width, size, row === current) : name;
    const middle = box.y + (row + 0.5) * height + size * 0.35;
    label(picture, {x: box.x - gap, y: middle, text, size, anchor: "end", bold: row === current, meaning});
  });
}

/**
 * Names above columns; slanted if they would touch.
 * @param {Picture} picture
 * @param {{box: Box, names: string[], size?: number, current?: number, gap?: number, meaning?: Meaning}} given
 */
export function columnLabels(picture, {box, names, size = 14, current, gap = 8, meaning}) {
  const width = box.width / names.length;
  const turned = names.some((name) => picture.ruler.width(name, size, true) > width - 4) ? -45 : 0;
  names.forEach((name, column) => {
    label(picture, {
      x: box.x + (column + 0.5) * width,
      y: box.y - gap,
      text: name,
      size,
      anchor: turned ? "start" : "middle",
      turned,
      bold: column === current,
      meaning,
    });
  });
}

/**
 * How much room `columnLabels` needs above the cells.
 * @param {Picture} picture
 * @param {string[]} names
 * @param {number} cellWidth
 * @param {number} [size]
 */
export function columnLabelsHeight(picture, names, cellWidth, size = 14) {
  const widest = picture.ruler.widest(names, size, true);
  return widest > cellWidth - 4 ? widest * Math.SQRT1_2 + size + 8 : size + 12;
}

/** @param {Matrix} given */
function largestOf({rows, columns, value}) {
  let size = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const number = Math.abs(value(row, column));
      if (number > size && Number.isFinite(number)) size = number;
    }
  }
  return size;
}

/**
 * @param {Matrix} given
 * @param {number} cellWidth
 * @param {number} cellHeight
 * @param {(number: number) => import("../colour.js").Rgb} rgb
 */
function cellsAsRectangles({x, y, rows, columns, value}, cellWidth, cellHeight, rgb) {
  const cells = shape("g", {class: "cells", "shape-rendering": "crispEdges"});
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      cells.append(
        shape("rect", {
          x: x + column * cellWidth,
          y: y + row * cellHeight,
          width: cellWidth,
          height: cellHeight,
          fill: css(rgb(value(row, column))),
        }),
      );
    }
  }
  return cells;
}

/**
 * @param {Picture} picture
 * @param {Matrix} given
 * @param {Box} box
 * @param {(number: number) => import("../colour.js").Rgb} rgb
 */
function cellsAsImage(picture, {rows, columns, value}, box, rgb) {
  // One canvas for the whole picture, in main memory: a view of a long sentence draws hundreds of small images.
  picture.easel ??= element("canvas").getContext("2d", {willReadFrequently: true});
  const context = /** @type {CanvasRenderingContext2D} */ (picture.easel);
  const {canvas} = context;
  canvas.width = columns;
  canvas.height = rows;
  const pixels = context.createImageData(columns, rows);
  for (let row = 0, place = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const colour = rgb(value(row, column));
      pixels.data[place++] = colour[0];
      pixels.data[place++] = colour[1];
      pixels.data[place++] = colour[2];
      pixels.data[place++] = 255;
    }
  }
  context.putImageData(pixels, 0, 0);
  return shape("image", {
    ...box,
    href: canvas.toDataURL(),
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
    class: "cells",
  });
}

/**
 * @param {Picture} picture
 * @param {Matrix} given
 * @param {number} cellWidth
 * @param {number} cellHeight
 * @param {(number: number) => import("../colour.js").Rgb} rgb
 */
function writeNumbers(picture, {x, y, rows, columns, value, digits}, cellWidth, cellHeight, rgb) {
  const size = Math.max(10, Math.min(15, cellHeight * 0.55, cellWidth * 0.3));
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const number = value(row, column);
      label(picture, {
        x: x + (column + 0.5) * cellWidth,
        y: y + (row + 0.5) * cellHeight + size * 0.35,
        text: decimal(number, digits),
        size,
        anchor: "middle",
        numeric: true,
        colour: inkOn(rgb(number)),
      });
    }
  }
}

/**
 * @param {Matrix} given
 * @param {number} cellWidth
 * @param {number} cellHeight
 */
function currentMark({x, y, rows, columns, current}, cellWidth, cellHeight) {
  const row = current?.row;
  const column = current?.column;
  return shape("rect", {
    class: "current-mark",
    x: x + (column ?? 0) * cellWidth,
    y: y + (row ?? 0) * cellHeight,
    width: column === undefined ? columns * cellWidth : cellWidth,
    height: row === undefined ? rows * cellHeight : cellHeight,
  });
}

/**
 * @param {Matrix} given
 * @param {number} row
 * @param {number} column
 */
function plainWords({name, rows, value, rowNames, columnNames}, row, column) {
  const place = [
    rowNames ? `“${rowNames[row]}”` : rows > 1 ? `row ${row}` : "",
    columnNames ? `“${columnNames[column]}”` : `number ${column}`,
  ];
  return [`${name}, ${place.filter(Boolean).join(", ")}`, precise(value(row, column))];
}

/** @param {Matrix} given */
function spoken({name, rows, columns, value}) {
  const height = Math.min(rows, 64);
  const width = Math.min(columns, 1024);
  const numbers = new Float64Array(height * width);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) numbers[row * width + column] = value(row, column);
  }
  const {least, most} = extent(numbers);
  const size = rows > 1 ? `${rows} by ${columns}` : `${columns}`;
  return `${name}: ${size} numbers from ${decimal(least)} to ${decimal(most)}`;
}
