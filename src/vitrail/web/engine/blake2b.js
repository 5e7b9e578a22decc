// BLAKE2b with a digest of eight bytes (RFC 7693): Python's seed for each draw comes from it.

const MASK = (1n << 64n) - 1n;
const BLOCK = 128; // bytes
const IV = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];
const ORDER = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const QUARTERS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];
const ROUNDS = 12;

/**
 * The digest of a text in UTF-8, as a big-endian number.
 * @param {string} text
 */
export function digestOf(text) {
  const bytes = new TextEncoder().encode(text);
  const state = [...IV];
  state[0] ^= 0x01010000n ^ 8n;
  for (let start = 0; start === 0 || start < bytes.length; start += BLOCK) {
    const end = Math.min(start + BLOCK, bytes.length);
    const block = new Uint8Array(BLOCK);
    block.set(bytes.subarray(start, end));
    compress(state, new DataView(block.buffer), BigInt(end), end === bytes.length);
  }
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, state[0], true);
  return view.getBigUint64(0, false);
}

/**
 * @param {bigint[]} state
 * @param {DataView} block
 * @param {bigint} count bytes so far
 * @param {boolean} isLast
 */
function compress(state, block, count, isLast) {
  const words = Array.from({length: 16}, (_, index) => block.getBigUint64(8 * index, true));
  const v = [...state, ...IV];
  v[12] ^= count;
  if (isLast) v[14] ^= MASK;
  /** @param {bigint} value @param {bigint} by */
  const turned = (value, by) => ((value >> by) | (value << (64n - by))) & MASK;
  for (let round = 0; round < ROUNDS; round++) {
    const order = ORDER[round % ORDER.length];
    for (const [index, [a, b, c, d]] of QUARTERS.entries()) {
      v[a] = (v[a] + v[b] + words[order[2 * index]]) & MASK;
      v[d] = turned(v[d] ^ v[a], 32n);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = turned(v[b] ^ v[c], 24n);
      v[a] = (v[a] + v[b] + words[order[2 * index + 1]]) & MASK;
      v[d] = turned(v[d] ^ v[a], 16n);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = turned(v[b] ^ v[c], 63n);
    }
  }
  for (let i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
}
