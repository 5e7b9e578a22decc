// The keyboard's focus, which stays where it was while everything is drawn again.

/**
 * The key of what has the focus: a control, a grid of numbers, or the picture as a whole.
 * @param {Document} document
 */
export function focusedKey({activeElement}) {
  const key = activeElement?.getAttribute("data-key");
  return key ?? (activeElement?.closest(".figure") ? "figure" : null);
}

/**
 * Give the focus back to what has this key now.
 * @param {Document} document
 * @param {string | null} key
 */
export function focusAgain(document, key) {
  if (!key) return;
  const found =
    key === "figure"
      ? document.querySelector("main .figure")
      : [...document.querySelectorAll("[data-key]")].find((node) => node.getAttribute("data-key") === key);
  if (found instanceof HTMLElement || found instanceof SVGElement) found.focus({preventScroll: true});
}
