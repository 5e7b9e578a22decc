// Elements by name. Text from a sentence, a vocabulary or a model becomes a text node, never markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes
 */

/**
 * An HTML element: `element("p", {class: "note"}, "some text")`. A function is a listener: `{onclick: …}`.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  dress(made, attributes);
  put(made, children);
  return made;
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} Name
 * @param {Name} name
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[Name]}
 */
export function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  dress(made, attributes);
  put(made, children);
  return made;
}

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
function dress(target, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") target.addEventListener(key.replace(/^on/, ""), value);
    else target.setAttribute(key, value === true ? "" : String(value));
  }
}

/**
 * @param {Node} target
 * @param {(Child | Child[])[]} children
 */
function put(target, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    target.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}
