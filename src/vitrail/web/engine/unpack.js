// A model's file as a page or a site holds it: compressed, and in a page as base64.

import {Problem} from "../problem.js";

/**
 * The bytes of a text in base64.
 * @param {string} text
 */
export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * What was compressed with gzip.
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<ArrayBuffer>}
 */
export async function decompressed(packed) {
  if (typeof DecompressionStream === "undefined") {
    throw new Problem("this browser is too old to open the model in this page", {fix: "use a newer browser"});
  }
  try {
    return await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  } catch {
    throw new Problem("the model in this page is damaged", {fix: "load the page again, or write it again"});
  }
}
