// Products of matrices with WebAssembly's vectors of four numbers: four rows and two outputs at a time.
//
// The function is written below as text and assembled when a model is opened. The weights live in its memory; rows are
// copied in, and results out.

import {assemble} from "./assembler.js";

/** @typedef {import("../tensor.js").Tensor} Tensor */

const LANES = 4;
const BYTES = 4; // of a number
const PAGE = 1 << 16; // bytes
const FEWEST_SCRATCH = 1 << 20; // numbers: room for rows and results

/**
 * Room for that many weights in a memory of WebAssembly; null if the browser has none, or forbids it.
 * @param {number} floats
 * @param {number[][]} shapes of the weights
 */
export function openSimd(floats, shapes) {
  const widest = Math.max(0, ...shapes.map(([outputs, inputs]) => (inputs ? outputs + inputs : 0)));
  const scratch = Math.max(FEWEST_SCRATCH, 2 * LANES * widest);
  try {
    const pages = Math.ceil(((floats + LANES * shapes.length + scratch) * BYTES) / PAGE);
    const memory = new WebAssembly.Memory({initial: pages, maximum: pages});
    const instance = new WebAssembly.Instance(new WebAssembly.Module(assemble(SOURCE)), {it: {memory}});
    return new SimdProducts(memory, scratch, /** @type {(...numbers: number[]) => void} */ (instance.exports.run));
  } catch {
    return null;
  }
}

class SimdProducts {
  /**
   * @param {WebAssembly.Memory} memory
   * @param {number} scratch numbers at the beginning of the memory
   * @param {(...numbers: number[]) => void} run
   */
  constructor(memory, scratch, run) {
    this.memory = memory;
    this.scratch = new Float32Array(memory.buffer, 0, scratch);
    this.used = scratch;
    this.run = run;
  }

  /** @param {number} count */
  take(count) {
    const room = new Float32Array(this.memory.buffer, this.used * BYTES, count);
    this.used += Math.ceil(count / LANES) * LANES;
    return room;
  }

  /**
   * @param {Float32Array} x
   * @param {number} count
   * @param {Tensor} matrix
   * @param {Float32Array | null} bias
   */
  linear(x, count, matrix, bias) {
    const [outputs, inputs] = matrix.shape;
    const result = new Float32Array(count * outputs);
    // As many rows at a time as fit; a multiple of four.
    const most = Math.floor(this.scratch.length / (inputs + outputs) / LANES) * LANES;
    for (let row = 0; row < count; row += most) {
      const rows = Math.min(most, count - row);
      const part = x.subarray(row * inputs, (row + rows) * inputs);
      result.set(this.product(part, rows, matrix), row * outputs);
    }
    for (let place = 0; bias && place < result.length; place += outputs) {
      for (let i = 0; i < outputs; i++) result[place + i] += bias[i];
    }
    return result;
  }

  /**
   * @param {Float32Array} x
   * @param {number} count
   * @param {Tensor} matrix
   */
  product(x, count, {shape, data}) {
    const [outputs, inputs] = shape;
    const padded = Math.ceil(count / LANES) * LANES; // what is left of earlier rows is computed too, and not read
    const results = padded * inputs;
    this.scratch.set(x);
    const pairs = outputs & ~1;
    const whole = inputs & ~(LANES - 1);
    if (pairs && whole) {
      this.run(0, data.byteOffset, results * BYTES, padded, whole * BYTES, inputs * BYTES, outputs * BYTES);
    }
    const found = this.scratch.subarray(results, results + count * outputs);
    for (let row = 0; row < count; row++) {
      for (let output = 0; output < outputs; output++) {
        // The inputs that are left over from fours, and the output that is left over from pairs.
        const from = output < pairs ? whole : 0;
        if (from === inputs) continue;
        let sum = from ? found[row * outputs + output] : 0;
        for (let i = from; i < inputs; i++) sum += x[row * inputs + i] * data[output * inputs + i];
        found[row * outputs + output] = sum;
      }
    }
    return found;
  }
}

const SUMS = ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"]; // two outputs, a and b, of four rows

/**
 * For every pair of outputs, for every four rows: eight sums at once. Lengths and steps are in bytes, `rows` excepted.
 * Each loop runs at least once.
 */
const SOURCE = {
  parameters: ["x", "matrix", "results", "rows", "length", "width", "height"],
  locals: /** @type {Record<string, "i32" | "v128">} */ ({
    ...{output: "i32", row: "i32", from: "i32", to: "i32", i: "i32", x0: "i32", x1: "i32", x2: "i32", x3: "i32"},
    ...{w: "i32", second: "i32", va: "v128", vb: "v128", vx: "v128"},
    ...Object.fromEntries(SUMS.map((name) => [name, "v128"])),
  }),
  body: [
    ...["local.get matrix", "local.set w"],
    "loop", // over pairs of outputs
    ...add("second", "w", "width"),
    ...["local.get x", "local.set from", "local.get results", "local.get output", "i32.add", "local.set to"],
    ...["i32.const 0", "local.set row"],
    "loop", // over four rows at a time
    ...SUMS.flatMap((name) => ["f32.const.0", "f32x4.splat", `local.set ${name}`]),
    ...["local.get from", "local.set x0"],
    ...add("x1", "x0", "width"),
    ...add("x2", "x1", "width"),
    ...add("x3", "x2", "width"),
    ...["i32.const 0", "local.set i"],
    "loop", // over the inputs, four at a time
    ...load("va", "w"),
    ...load("vb", "second"),
    ...[0, 1, 2, 3].flatMap((n) => [
      ...load("vx", `x${n}`),
      ...["a", "b"].flatMap((output) => [
        ...[`local.get ${output}${n}`, `local.get v${output}`, "local.get vx", "f32x4.mul"],
        ...["f32x4.add", `local.set ${output}${n}`],
      ]),
    ]),
    ...["local.get i", "i32.const 16", "i32.add", "local.tee i", "local.get length", "i32.lt_u", "br_if 0"],
    "end",
    ...[0, 1, 2, 3].flatMap((n) => [
      ...store(`a${n}`, 0),
      ...store(`b${n}`, BYTES),
      ...add("to", "to", "height"),
      ...add("from", "from", "width"),
    ]),
    ...["local.get row", "i32.const 4", "i32.add", "local.tee row", "local.get rows", "i32.lt_u", "br_if 0"],
    "end",
    ...["local.get second", "local.get width", "i32.add", "local.set w"],
    ...["local.get output", "i32.const 8", "i32.add", "local.tee output"],
    ...["i32.const 4", "i32.add", "local.get height", "i32.lt_u", "br_if 0"],
    "end",
  ],
};

/** @param {string} sum @param {string} a @param {string} b */
function add(sum, a, b) {
  return [`local.get ${a}`, `local.get ${b}`, "i32.add", `local.set ${sum}`];
}

/** Four inputs, i bytes behind a place. @param {string} vector @param {string} place */
function load(vector, place) {
  return [`local.get ${place}`, "local.get i", "i32.add", "v128.load 0", `local.set ${vector}`];
}

/** The sum of four numbers. @param {string} vector @param {number} offset */
function store(vector, offset) {
  const lanes = [0, 1, 2, 3].flatMap((lane) => [`local.get ${vector}`, `f32x4.extract_lane ${lane}`]);
  const [first, second, third, fourth] = [0, 2, 4, 6].map((place) => lanes.slice(place, place + 2));
  const sum = [...first, ...second, "f32.add", ...third, ...fourth, "f32.add", "f32.add"];
  return ["local.get to", ...sum, `f32.store ${offset}`];
}
