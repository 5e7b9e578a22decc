// WebAssembly from text: just enough of an assembler for the one function of simd.js.

/** @type {Readonly<Record<string, number[]>>} what the instructions are in a binary, without what follows them */
const CODES = {
  block: [0x02, 0x40], // of no result
  loop: [0x03, 0x40],
  end: [0x0b],
  br_if: [0x0d],
  "local.get": [0x20],
  "local.set": [0x21],
  "local.tee": [0x22],
  "i32.const": [0x41],
  "f32.const.0": [0x43, 0, 0, 0, 0],
  "i32.lt_u": [0x49],
  "i32.ge_u": [0x4f],
  "i32.add": [0x6a],
  "i32.sub": [0x6b],
  "f32.add": [0x92],
  "f32.store": [0x38, 2], // aligned to 2^2 bytes; then comes the offset
  "v128.load": [0xfd, 0x00, 2],
  "f32x4.splat": [0xfd, 0x13],
  "f32x4.extract_lane": [0xfd, 0x1f],
  "f32x4.add": [0xfd, 0xe4, 0x01],
  "f32x4.mul": [0xfd, 0xe6, 0x01],
};
const TYPES = {i32: 0x7f, v128: 0x7b};

/**
 * A module with one function, exported as "run", which works on the memory that it imports as "it.memory".
 * @param {{parameters: string[], locals: Record<string, "i32" | "v128">, body: string[]}} source
 *   the names of parameters, which are all i32; the other locals with their types; lines such as "local.get x"
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function assemble({parameters, locals, body}) {
  const names = [...parameters, ...Object.keys(locals)];
  const code = body.flatMap((line) => {
    const [instruction, argument] = line.trim().split(/\s+/);
    const number = argument === undefined ? [] : names.includes(argument) ? [names.indexOf(argument)] : [argument];
    return [...CODES[instruction], ...number.flatMap((value) => signed(Number(value)))];
  });
  const declared = list(Object.values(locals).map((type) => [1, TYPES[type]]));
  const i32 = parameters.map(() => TYPES.i32);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([[0x60, ...unsigned(i32.length), ...i32, 0]])),
    ...section(2, list([[...text("it"), ...text("memory"), 0x02, 0x00, 1]])),
    ...section(3, list([[0]])),
    ...section(7, list([[...text("run"), 0x00, 0]])),
    ...section(10, list([sized([...declared, ...code, ...CODES.end])])),
  ]);
}

/** @param {number} id @param {number[]} content */
function section(id, content) {
  return [id, ...sized(content)];
}

/** @param {number[]} content */
function sized(content) {
  return [...unsigned(content.length), ...content];
}

/** @param {number[][]} entries */
function list(entries) {
  return [...unsigned(entries.length), ...entries.flat()];
}

/** @param {string} name */
function text(name) {
  return sized([...new TextEncoder().encode(name)]);
}

/**
 * A number of variable length, seven bits in each byte.
 * @param {number} value
 */
function unsigned(value) {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/**
 * The same with a sign. Indices and offsets below 64 look alike in both.
 * @param {number} value
 */
function signed(value) {
  const bytes = [];
  for (; value < -64 || value > 63; value >>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value & 127];
}
