// Reading numbers off a picture by pointer and keyboard, cell by cell, without an element for each.

import {shape} from "../dom.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {{
 *   x: number, y: number, rows: number, columns: number, cellWidth: number, cellHeight: number, label: string,
 *   describe: (row: number, column: number) => string[], onpick?: (row: number, column: number) => void,
 *   onread?: (row: number | null, column: number | null) => void, key?: string}} Readable
 *   describe: the tooltip's lines; onread: called with the cell being read, or null; key: identifies the grid, so that
 *   it keeps the focus when the picture is drawn again
 */

/**
 * Lay a readable grid over a drawing. Arrow keys move from cell to cell, Enter picks one.
 * @param {Picture} picture
 * @param {Readable} given
 */
export function readable(picture, given) {
  const {x, y, rows, columns, cellWidth, cellHeight} = given;
  let row = 0;
  let column = 0;
  const mark = shape("rect", {class: "reading-mark", width: cellWidth, height: cellHeight, visibility: "hidden"});
  const area = shape("rect", {
    class: "reading-area",
    x,
    y,
    width: columns * cellWidth,
    height: rows * cellHeight,
  });
  const group = shape(
    "g",
    {
      class: `readable${given.onpick ? " pickable" : ""}`,
      tabindex: 0,
      role: "slider",
      "aria-roledescription": given.onpick ? "numbers to choose from" : "numbers",
      "aria-label": given.label,
      "aria-valuemin": 1,
      "aria-valuemax": rows * columns,
      "aria-valuenow": 1,
      "data-key": given.key ?? given.label,
      "data-transient": "",
    },
    area,
    mark,
  );

  const read = (/** @type {number} */ r, /** @type {number} */ c) => {
    row = r;
    column = c;
    mark.setAttribute("x", String(x + c * cellWidth));
    mark.setAttribute("y", String(y + r * cellHeight));
    mark.setAttribute("visibility", "visible");
    const lines = given.describe(r, c);
    group.setAttribute("aria-valuenow", String(r * columns + c + 1));
    group.setAttribute("aria-valuetext", lines.join(", "));
    picture.tooltip.show(lines, mark.getBoundingClientRect());
    given.onread?.(r, c);
  };
  const leave = () => {
    mark.setAttribute("visibility", "hidden");
    picture.tooltip.hide();
    given.onread?.(null, null);
  };
  /** @param {MouseEvent} event */
  const cellUnder = (event) => {
    const seen = area.getBoundingClientRect();
    const c = Math.floor(((event.clientX - seen.left) / seen.width) * columns);
    const r = Math.floor(((event.clientY - seen.top) / seen.height) * rows);
    return [Math.max(0, Math.min(rows - 1, r)), Math.max(0, Math.min(columns - 1, c))];
  };

  group.addEventListener("pointermove", (event) => {
    const [r, c] = cellUnder(event);
    if (r !== row || c !== column || mark.getAttribute("visibility") === "hidden") read(r, c);
  });
  group.addEventListener("pointerleave", leave);
  group.addEventListener("focus", () => {
    if (group.matches(":focus-visible")) read(row, column);
  });
  group.addEventListener("blur", leave);
  group.addEventListener("click", (event) => {
    const [r, c] = cellUnder(event);
    read(r, c);
    given.onpick?.(r, c);
  });
  group.addEventListener("keydown", (event) => {
    const next = nextCell(event.key, row, column, rows, columns);
    if (next) read(next[0], next[1]);
    else if ((event.key === "Enter" || event.key === " ") && given.onpick) given.onpick(row, column);
    else if (event.key === "Escape") leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  picture.makeInteractive();
  picture.add(group, {x, y, width: columns * cellWidth, height: rows * cellHeight});
  return group;
}

/**
 * The cell that a key leads to, or null.
 * @param {string} key
 * @param {number} row
 * @param {number} column
 * @param {number} rows
 * @param {number} columns
 * @returns {[number, number] | null}
 */
export function nextCell(key, row, column, rows, columns) {
  // In a single row or column all arrows move along it.
  const [dr, dc] = {
    ArrowRight: columns > 1 ? [0, 1] : [1, 0],
    ArrowLeft: columns > 1 ? [0, -1] : [-1, 0],
    ArrowDown: rows > 1 ? [1, 0] : [0, 1],
    ArrowUp: rows > 1 ? [-1, 0] : [0, -1],
    Home: [0, -column],
    End: [0, columns - 1 - column],
  }[key] ?? [NaN, NaN];
  if (Number.isNaN(dr)) return null;
  return [Math.max(0, Math.min(rows - 1, row + dr)), Math.max(0, Math.min(columns - 1, column + dc))];
}

/**
 * Make a group of shapes a button, for pointer and keyboard.
 * @param {Picture} picture
 * @param {SVGElement} group
 * @param {{label: string, onpick: () => void, key?: string, current?: boolean}} given
 */
export function pressable(picture, group, {label, onpick, key, current = false}) {
  group.setAttribute("class", `${group.getAttribute("class") ?? ""} pressable`);
  group.setAttribute("tabindex", "0");
  group.setAttribute("role", "button");
  group.setAttribute("aria-label", label);
  group.setAttribute("data-key", key ?? label);
  if (current) group.setAttribute("aria-current", "true");
  group.addEventListener("click", onpick);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onpick();
  });
  picture.makeInteractive();
}
