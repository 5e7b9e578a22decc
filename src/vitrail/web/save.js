// A picture as a file, for slides: SVG with inline styles, or PNG.

import {element, shape} from "./dom.js";

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "font-variant-numeric",
  "text-anchor",
  "letter-spacing",
  "visibility",
  "image-rendering",
  "shape-rendering",
];
const PNG_SCALE = 2;

/**
 * A picture on the page as the text of an SVG file that looks the same anywhere.
 * @param {SVGSVGElement} svg
 * @param {string} background
 */
export function serialise(svg, background) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  inlineStyles(svg, copy);
  for (const passing of copy.querySelectorAll("[data-transient]")) passing.remove();
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    for (const {name} of [...node.attributes]) {
      if (/^(class|style|tabindex|role|data-.*|aria-.*)$/.test(name)) node.removeAttribute(name);
    }
  }
  const width = Number(svg.dataset.width);
  const height = Number(svg.dataset.height);
  const margin = 16;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`);
  copy.setAttribute("width", String(width + 2 * margin));
  copy.setAttribute("height", String(height + 2 * margin));
  copy.prepend(
    shape("title", {}, svg.getAttribute("aria-label") ?? ""),
    shape("rect", {
      x: -margin,
      y: -margin,
      width: width + 2 * margin,
      height: height + 2 * margin,
      fill: background,
    }),
  );
  return new XMLSerializer().serializeToString(copy);
}

/**
 * @param {Element} original
 * @param {Element} copy
 */
function inlineStyles(original, copy) {
  const computed = getComputedStyle(original);
  for (const property of KEPT) {
    const value = computed.getPropertyValue(property);
    if (value) copy.setAttribute(property, value);
  }
  for (let i = 0; i < original.children.length; i++) inlineStyles(original.children[i], copy.children[i]);
}

/**
 * @param {SVGSVGElement} svg
 * @param {string} name
 */
export function saveSvg(svg, name) {
  const text = serialise(svg, pageColour());
  download(new Blob([text], {type: "image/svg+xml"}), `${name}.svg`);
}

/**
 * @param {SVGSVGElement} svg
 * @param {string} name
 * @returns {Promise<void>}
 */
export async function savePng(svg, name) {
  const blob = await paint(serialise(svg, pageColour()));
  download(blob, `${name}.png`);
}

/**
 * @param {string} text
 * @returns {Promise<Blob>}
 */
function paint(text) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = element("canvas", {width: image.width * PNG_SCALE, height: image.height * PNG_SCALE});
      const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large for a PNG"))));
    };
    image.onerror = () => reject(new Error("this browser cannot draw the picture"));
    // A data URL, not a blob's: a frame without an origin may not read its own blobs.
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function pageColour() {
  return getComputedStyle(document.body).backgroundColor;
}
