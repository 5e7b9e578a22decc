// A model as one file: safetensors, with everything that is not a weight as JSON in its metadata.
//
// `explain/model_file.py` writes it. Weights are stored as float32, float16 or int8 with a scale for each row, and are
// read into float32, as Python reads them.

import {Problem} from "../problem.js";
import {Tensor} from "../tensor.js";

/**
 * @typedef {{kind: "word", tokens: string[], first_word: number}} WordTable
 * @typedef {{
 *   kind: "bpe" | "unigram", tokens: string[], scores: number[], control: number[], bytes: number[]}} SubwordTable
 * @typedef {WordTable | SubwordTable} VocabularyTable
 * @typedef {{
 *   version: number, vitrail: string, model: import("../trace.js").ModelFacts, decode: Record<string, any>,
 *   precision: "float32" | "float16" | "int8", label_smoothing: number, target_language: string | null,
 *   languages: string[], source: VocabularyTable, target: VocabularyTable | null, habits: Record<string, any>,
 *   probes: any, run: any}} ModelSheet
 *   target: null if both sides share one vocabulary
 * @typedef {{sheet: ModelSheet, weights: Map<string, Tensor>}} ModelFile
 * @typedef {{dtype: string, shape: number[], data_offsets: [number, number]}} Entry
 */

const VERSION = 1;
const SCALE = ".scale";
const AGAIN = {fix: "load the page again, or write it again with vitrail"};

/**
 * Read a model.
 * @param {ArrayBuffer} file
 * @param {(floats: number, largest: number[][]) => (count: number) => Float32Array} makeRoom room for that many
 *   numbers in all, for tensors of these shapes
 * @returns {ModelFile}
 */
export function readModelFile(file, makeRoom) {
  const {entries, sheet, start} = readHeader(file);
  const names = Object.keys(entries).filter((name) => !isScale(name, entries));
  const shapes = names.map((name) => entries[name].shape);
  const take = makeRoom(
    shapes.reduce((sum, shape) => sum + sizeOf(shape), 0),
    shapes,
  );
  const halves = new Float32Array(names.some((name) => entries[name].dtype === "F16") ? 1 << 16 : 0);
  for (let bits = 0; bits < halves.length; bits++) halves[bits] = halfValue(bits);
  /** @param {string} name */
  const bytes = (name) => {
    const [from, to] = entries[name].data_offsets;
    return file.slice(start + from, start + to); // a copy, which begins at a multiple of every type's size
  };
  /** @type {Map<string, Tensor>} */
  const weights = new Map();
  for (const name of names) {
    const {dtype, shape} = entries[name];
    const values = take(sizeOf(shape));
    if (dtype === "F32") values.set(new Float32Array(bytes(name)));
    else if (dtype === "F16") new Uint16Array(bytes(name)).forEach((bits, index) => (values[index] = halves[bits]));
    else if (dtype === "I8") scaled(new Int8Array(bytes(name)), new Float32Array(bytes(name + SCALE)), values);
    else throw new Problem(`this page cannot read weights of type ${dtype}`, {where: name, ...AGAIN});
    weights.set(name, new Tensor(shape, values));
  }
  return {sheet, weights};
}

/**
 * What a file says about itself, before any weight is read.
 * @param {ArrayBuffer} file
 */
function readHeader(file) {
  try {
    const length = Number(new DataView(file).getBigUint64(0, true));
    const {__metadata__: metadata, ...entries} = JSON.parse(
      new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array(file, 8, length)),
    );
    const sheet = /** @type {ModelSheet} */ (JSON.parse(metadata.vitrail));
    if (sheet.version > VERSION) {
      throw new Problem("this model was written by a newer vitrail than this page", {fix: "write the page again"});
    }
    return {entries: /** @type {Record<string, Entry>} */ (entries), sheet, start: 8 + length};
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown;
    throw new Problem("the model in this page is damaged", AGAIN);
  }
}

/**
 * @param {string} name
 * @param {Record<string, Entry>} entries
 */
function isScale(name, entries) {
  return name.endsWith(SCALE) && entries[name.slice(0, -SCALE.length)]?.dtype === "I8";
}

/**
 * Each row times its scale.
 * @param {Int8Array} packed
 * @param {Float32Array} scales
 * @param {Float32Array} values
 */
function scaled(packed, scales, values) {
  const width = packed.length / scales.length;
  for (let row = 0, place = 0; row < scales.length; row++) {
    for (const end = place + width; place < end; place++) values[place] = packed[place] * scales[row];
  }
}

/**
 * The number that sixteen bits stand for: a sign, five bits of exponent, ten of fraction.
 * @param {number} bits
 */
function halfValue(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction
          ? NaN
          : Infinity
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -size : size;
}

/** @param {number[]} shape */
function sizeOf(shape) {
  return shape.reduce((product, length) => product * length, 1);
}
