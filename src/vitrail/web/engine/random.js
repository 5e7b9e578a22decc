// Python's random.Random: the Mersenne Twister (Matsumoto and Nishimura 1998), seeded with a number of any size.

const SIZE = 624;
const SHIFT = 397;

/** The same numbers as Python draws from the same seed. */
export class PythonRandom {
  /** @param {bigint} seed */
  constructor(seed) {
    this.state = new Uint32Array(SIZE);
    this.place = SIZE;
    /** @type {number[]} */
    const key = [];
    for (let rest = seed; rest > 0n; rest >>= 32n) key.push(Number(rest & 0xffffffffn));
    this.seed(key.length ? key : [0]);
  }

  /** A number from 0 to 1, with 53 random bits. */
  next() {
    const [high, low] = [this.bits() >>> 5, this.bits() >>> 6];
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  /** @param {number[]} key */
  seed(key) {
    const {state} = this;
    state[0] = 19650218;
    for (let i = 1; i < SIZE; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
    let i = 1;
    const advance = () => {
      if (++i < SIZE) return;
      state[0] = state[SIZE - 1];
      i = 1;
    };
    const mixed = (/** @type {number} */ factor) => state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), factor);
    for (let n = 0, j = 0; n < Math.max(SIZE, key.length); n++, j = (j + 1) % key.length) {
      state[i] = mixed(1664525) + key[j] + j;
      advance();
    }
    for (let n = 1; n < SIZE; n++) {
      state[i] = mixed(1566083941) - i;
      advance();
    }
    state[0] = 0x80000000;
  }

  /** Thirty-two random bits. */
  bits() {
    if (this.place === SIZE) this.twist();
    let y = this.state[this.place++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  twist() {
    const {state} = this;
    for (let i = 0; i < SIZE; i++) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
      state[i] = state[(i + SHIFT) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.place = 0;
  }
}
