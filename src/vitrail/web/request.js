// A request to the studio: a sentence and its what-ifs, kept in the address so that a link repeats it.

/**
 * @typedef {{
 *   model: string, text: string, to: string | null, decode: Record<string, number | string | boolean>, prefix: string,
 *   heads_off: Record<string, number[]>, reference: string}} TraceRequest
 */

const WORDS = /** @type {const} */ (["model", "text", "prefix", "reference"]);
const DECODE = /** @type {const} */ ({
  beam_size: "number",
  top_beams: "number",
  alpha: "number",
  penalty: "string",
  sample: "boolean",
  temperature: "number",
  top_k: "number",
  top_p: "number",
  seed: "number",
});

/**
 * The request that the address describes.
 * @param {Record<string, string>} options
 * @returns {TraceRequest}
 */
export function readRequest(options) {
  /** @type {TraceRequest["decode"]} */
  const decode = {};
  for (const [key, kind] of Object.entries(DECODE)) {
    const value = options[key];
    if (value === undefined) continue;
    if (kind === "number" && Number.isFinite(Number(value))) decode[key] = Number(value);
    else if (kind === "boolean") decode[key] = value === "true";
    else if (kind === "string") decode[key] = value;
  }
  return {
    model: options.model ?? "",
    text: options.text ?? "",
    to: options.to ?? null,
    decode,
    prefix: options.prefix ?? "",
    heads_off: readHeads(options.heads_off ?? ""),
    reference: options.reference ?? "",
  };
}

/**
 * The options that describe a request; null for those to remove.
 * @param {TraceRequest} request
 * @returns {Record<string, string | null>}
 */
export function writeRequest(request) {
  /** @type {Record<string, string | null>} */
  const options = {to: request.to, heads_off: writeHeads(request.heads_off) || null};
  for (const key of WORDS) options[key] = request[key] || null;
  for (const key of Object.keys(DECODE)) options[key] = key in request.decode ? String(request.decode[key]) : null;
  return options;
}

/**
 * "decoder.0.cross_attention:0,3;encoder.1.self_attention:2" as a table.
 * @param {string} text
 * @returns {Record<string, number[]>}
 */
export function readHeads(text) {
  /** @type {Record<string, number[]>} */
  const heads = {};
  for (const part of text.split(";")) {
    const [name, numbers] = part.split(":");
    if (!numbers || !/^(encoder|decoder)\.\d+\.(self|cross)_attention$/.test(name)) continue;
    heads[name] = numbers.split(",").map(Number).filter(Number.isInteger);
  }
  return heads;
}

/** @param {Record<string, number[]>} heads */
export function writeHeads(heads) {
  return Object.entries(heads)
    .filter(([, numbers]) => numbers.length)
    .map(([name, numbers]) => `${name}:${numbers.join(",")}`)
    .sort()
    .join(";");
}
