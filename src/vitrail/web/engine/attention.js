// Multi-head attention: from rows of x to queries, keys and values, and what every query gathers. model/attention.py.

import {softmax} from "../arithmetic.js";
import {ByContent, enginePositions} from "./distance.js";

/**
 * @typedef {import("./transformer.js").Parts} Parts
 * @typedef {(name: string, shape: number[], values: Float32Array) => void} Tap hears a value under its name
 * @typedef {{keys: Float32Array[], values: Float32Array[]}} Past one row for each position, its kv heads side by side
 * @typedef {Past & {visible: number, position: number}} Seen
 *   what a query looks at: the first `visible` rows, from its own position
 */

/** One attention of one layer. */
export class Attention {
  /**
   * @param {Parts} parts
   * @param {string} path "encoder.0.self_attention"
   */
  constructor(parts, path) {
    const {config} = parts;
    this.parts = parts;
    this.path = path;
    this.parameters = path.replace(".", ".layers.");
    this.heads = config.heads;
    this.width = config.d_k;
    this.sharedBy = config.heads / config.kv_heads;
    const {meeting} = path.endsWith("cross_attention") ? {} : enginePositions(config.positions);
    this.meeting = meeting?.(config, this.parameters, (name) => parts.weight(name)) ?? new ByContent();
    this.off = new Set(parts.headsOff[path] ?? []);
  }

  /**
   * The queries of rows of x, whose first stands at position `first`, each a row with its heads side by side.
   * @param {Float32Array} x
   * @param {number} count
   * @param {(row: number) => number} position
   * @param {Tap | null} tap
   */
  queries(x, count, position, tap) {
    const q = this.parts.linear(x, count, `${this.parameters}.query`);
    this.tell(tap, "q", q, count);
    return this.placed(q, count, position, tap, "q");
  }

  /**
   * The keys and values of rows of x.
   * @param {Float32Array} x
   * @param {number} count
   * @param {(row: number) => number} position
   * @param {Tap | null} tap
   * @returns {Past}
   */
  keysValues(x, count, position, tap) {
    const k = this.parts.linear(x, count, `${this.parameters}.key`);
    this.tell(tap, "k", k, count);
    const v = this.parts.linear(x, count, `${this.parameters}.value`);
    this.tell(tap, "v", v, count);
    return {keys: rowsOf(this.placed(k, count, position, tap, "k"), count), values: rowsOf(v, count)};
  }

  /**
   * Let every head attend, join what the heads found, and mix it through W^O.
   * @param {Float32Array} q
   * @param {number} count
   * @param {(row: number) => Seen} seenBy
   * @param {Tap | null} tap
   */
  gather(q, count, seenBy, tap) {
    const {heads, width} = this;
    const z = new Float32Array(count * heads * width);
    const heard = tap ? new Heard(heads, count) : null;
    for (let row = 0; row < count; row++) {
      const seen = seenBy(row);
      for (let head = 0; head < heads; head++) {
        const place = (row * heads + head) * width;
        this.attend(head, row, q.subarray(place, place + width), seen, z.subarray(place, place + width), heard);
      }
    }
    if (tap && heard) for (const [name, {shape, values}] of heard.arrays) tap(`${this.path}.${name}`, shape, values);
    const output = this.parts.linear(z, count, `${this.parameters}.output`);
    tap?.(`${this.path}.output`, [count, output.length / count], output);
    return output;
  }

  /**
   * One query of one head.
   * @param {number} head
   * @param {number} row
   * @param {Float32Array} query
   * @param {Seen} seen
   * @param {Float32Array} z to fill
   * @param {Heard | null} heard
   */
  attend(head, row, query, seen, z, heard) {
    const from = Math.floor(head / this.sharedBy) * this.width;
    const count = heard ? seen.keys.length : seen.visible; // a listener also hears the scores of what is hidden
    const keys = {rows: seen.keys, from, count};
    const {scores, bias, before, after} = this.meeting.meet(head, query, seen.position, keys);
    const root = Math.sqrt(this.width);
    const scaled = new Float32Array(count).fill(-Infinity);
    for (let key = 0; key < seen.visible; key++) {
      scaled[key] = Math.fround(scores[key] / root) + (bias ? bias[key] : 0);
    }
    const weights = Float32Array.from(softmax(scaled));
    const sum = new Float64Array(this.width);
    for (let key = 0; key < seen.visible; key++) {
      const value = seen.values[key];
      const weight = weights[key];
      for (let i = 0; i < sum.length; i++) sum[i] += weight * value[from + i];
    }
    z.set(sum);
    const byDistance = this.meeting.gather(weights, seen.position);
    heard?.addAll(head, row, {...before, scores, ...after, scaled, weights, ...byDistance?.heard(z)});
    if (byDistance) for (let i = 0; i < z.length; i++) z[i] += byDistance.sum[i];
    if (this.off.has(head)) z.fill(0); // the gate before W^O
    heard?.addAll(head, row, {z});
  }

  /**
   * Rows of heads, rotated if this kind of positions does that.
   * @param {Float32Array} x
   * @param {number} count
   * @param {(row: number) => number} position
   * @param {Tap | null} tap
   * @param {string} name
   */
  placed(x, count, position, tap, name) {
    const first = this.meeting.place(x.subarray(0, this.width), 0);
    if (!first) return x;
    const turned = new Float32Array(x.length);
    for (let place = 0, each = x.length / count; place < x.length; place += this.width) {
      const row = Math.floor(place / each);
      turned.set(this.meeting.place(x.subarray(place, place + this.width), position(row)) ?? [], place);
    }
    this.tell(tap, `${name}${this.meeting.suffix}`, turned, count);
    return turned;
  }

  /**
   * Tell a listener rows of heads, as heads of rows.
   * @param {Tap | null} tap
   * @param {string} name
   * @param {Float32Array} x
   * @param {number} count
   */
  tell(tap, name, x, count) {
    if (!tap) return;
    const {width} = this;
    const heads = x.length / count / width;
    const values = new Float32Array(x.length);
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < count; row++) {
        const place = (row * heads + head) * width;
        values.set(x.subarray(place, place + width), (head * count + row) * width);
      }
    }
    tap(`${this.path}.${name}`, [heads, count, width], values);
  }
}

/** What a listener hears of every head and query, collected into arrays. */
class Heard {
  /** @param {number} heads @param {number} queries */
  constructor(heads, queries) {
    this.heads = heads;
    this.queries = queries;
    /** @type {Map<string, {shape: number[], values: Float32Array}>} */
    this.arrays = new Map();
  }

  /** @param {number} head @param {number} query @param {Record<string, Float32Array>} rows by name */
  addAll(head, query, rows) {
    for (const [name, row] of Object.entries(rows)) this.add(name, head, query, row);
  }

  /** @param {string} name @param {number} head @param {number} query @param {Float32Array} row */
  add(name, head, query, row) {
    let array = this.arrays.get(name);
    if (!array) {
      const shape = [this.heads, this.queries, row.length];
      array = {shape, values: new Float32Array(this.heads * this.queries * row.length)};
      this.arrays.set(name, array);
    }
    array.values.set(row, (head * this.queries + query) * row.length);
  }
}

/**
 * @param {Float32Array} x
 * @param {number} count
 */
function rowsOf(x, count) {
  const width = x.length / count;
  return Array.from({length: count}, (_, row) => x.subarray(row * width, (row + 1) * width));
}
