/**
 * Builds WebAssembly kernels from expressions: `kernel` turns them into a module with one function and a memory of its
 * own. Only the hottest loops are kernels. Every kernel has a form in plain TypeScript beside it, for runtimes that
 * don't compile WebAssembly, and as a reference for tests.
 *
 * {@link KernelUse} compiles a kernel at its first use, and lets benchmarks compare it with the plain form.
 *
 * An instruction is the bytes of its operands, then its own.
 *
 *     module   magic, version, sections (id, length, content): types, functions, memory, exports, code
 */

import { isSharedMemory } from "./sharedCopy.js";

/** Bytes of an instruction, or of several. */
export type Code = number | readonly Code[];

export interface KernelSource {
  /** Names of the parameters in their order. They and the locals are 32 bits wide. */
  readonly parameters: readonly string[];
  readonly locals: readonly string[];
  /** Locals of 16 bytes. Default: none. */
  readonly vectors?: readonly string[];
  /** Locals that are floats of 64 bits. Default: none. */
  readonly doubles?: readonly string[];
  /** Size of the memory in pages of 64 KiB, or a memory that several kernels share and whose owner lets it grow. */
  readonly pages: number | WebAssembly.Memory;
  /** @param local returns the number of a local */
  body(local: (name: string) => number): Code;
}

export interface Kernel {
  run(...parameters: number[]): void;
  /** Of a shared memory, as it is now: growing replaces it. */
  readonly memory: ArrayBuffer;
}

/** Compiles a kernel; null where the runtime doesn't compile WebAssembly. */
export function kernel(source: KernelSource): Kernel | null {
  if (typeof WebAssembly !== "object") return null;
  const { pages } = source;
  const imports: WebAssembly.Imports = typeof pages === "number" ? {} : { m: { m: pages } };
  let exports: WebAssembly.Exports;
  try {
    exports = new WebAssembly.Instance(new WebAssembly.Module(encodeModule(source)), imports).exports;
  } catch {
    // The embedder forbids it, or there is no memory for it. The plain form does the same.
    return null;
  }
  return {
    run: exports["run"] as (...parameters: number[]) => void,
    memory: (typeof pages === "number" ? (exports["memory"] as WebAssembly.Memory) : pages).buffer,
  };
}

/** What is made with a kernel, once it is needed for the first time. */
export class KernelUse<Made> {
  readonly #make: () => Made | null;
  #made: Made | null | undefined;
  /** False: the plain form is used although there is a kernel. Only tests and benchmarks change it. */
  isOn = true;

  /** @param make returns null where the runtime has no kernels */
  constructor(make: () => Made | null) {
    this.#make = make;
  }

  /** Null where the plain form is to be used. */
  get(): Made | null {
    if (!this.isOn) return null;
    if (this.#made === undefined) this.#made = this.#make();
    return this.#made;
  }
}

/** Pages of a memory, at most. */
export const MAX_PAGES = 65_536;
const I32 = 0x7f;
const F64 = 0x7c;
const V128 = 0x7b;

function encodeModule({
  parameters,
  locals,
  vectors = [],
  doubles = [],
  pages,
  body,
}: KernelSource): Uint8Array<ArrayBuffer> {
  const names = [...parameters, ...locals, ...vectors, ...doubles];
  const local = (name: string): number => {
    const index = names.indexOf(name);
    if (index < 0) throw new RangeError(`a kernel without local ${name}`);
    return index;
  };
  const section = (id: number, content: readonly Code[]): Code => {
    const bytes = flatten(content);
    return [id, unsigned(bytes.length), bytes];
  };
  const name = (text: string): Code => [text.length, [...text].map((letter) => letter.charCodeAt(0))];
  const counts = [locals, vectors, doubles].map(({ length }) => unsigned(length));
  const declared = [3, counts[0], I32, counts[1], V128, counts[2], F64];
  const code = flatten([declared, body(local), 0x0b]);
  const memory =
    typeof pages === "number"
      ? [section(3, [1, 0]), section(5, [1, 0, unsigned(pages)])]
      : [section(2, [1, name("m"), name("m"), 2, limitsOf(pages)]), section(3, [1, 0])];
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [1, 0x60, unsigned(parameters.length), parameters.map(() => I32), 0]),
      memory,
      section(7, [2, name("memory"), 2, 0, name("run"), 0, 0]),
      section(10, [1, unsigned(code.length), code]),
    ]),
  );
}

/** Any memory will do; that of several threads must have a bound. */
const limitsOf = ({ buffer }: WebAssembly.Memory): Code =>
  isSharedMemory(buffer) ? [3, 1, unsigned(MAX_PAGES)] : [0, 1];

/**
 * Into one array: to join one for each level of a kernel would take longer than to compile it. And by the engine: each
 * kernel is encoded once, and a loop here would be interpreted until it is done.
 */
const flatten = (code: readonly Code[]): number[] =>
  (code as readonly unknown[]).flat(Number.POSITIVE_INFINITY) as number[];

/** LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** LEB128 of a signed 32-bit number. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value | 0;
  for (;;) {
    const low = rest & 0x7f;
    rest >>= 7;
    if (rest === ((low & 0x40) === 0 ? 0 : -1)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

const binary =
  (opcode: number) =>
  (left: Code, right: Code): Code => [left, right, opcode];

export const constant = (value: number): Code => [0x41, signed(value)];
export const get = (local: number): Code => [0x20, unsigned(local)];
export const set = (local: number, value: Code): Code => [value, 0x21, unsigned(local)];

export const equal = binary(0x46);
/** Of unsigned numbers. */
export const below = binary(0x49);
/** Of unsigned numbers. */
export const above = binary(0x4b);
/** Of unsigned numbers. */
export const atMost = binary(0x4d);
/** Of unsigned numbers. */
export const atLeast = binary(0x4f);
export const add = binary(0x6a);
export const subtract = binary(0x6b);
export const multiply = binary(0x6c);
export const and = binary(0x71);
export const or = binary(0x72);
export const xor = binary(0x73);
export const rotateLeft = binary(0x77);
/** Of a number that is not 0: how many of its bits are 0 before the first, from bit 0 on. */
export const trailingZeros = (value: Code): Code => [value, 0x68];
export const shiftLeft = binary(0x74);
export const shiftRight = binary(0x76);
/** One of two values, of which both are computed. */
export const select = (one: Code, other: Code, condition: Code): Code => [one, other, condition, 0x1b];

/** Of numbers of 64 bits, which only loads make. */
export const and64 = binary(0x83);
export const xor64 = binary(0x85);
/** Whether a number of 64 bits is 0. */
export const isZero64 = (value: Code): Code => [value, 0x50];

/** Loads and stores take any address and add `offset` to it. */
export const load = (address: Code, offset = 0): Code => [address, 0x28, 0, unsigned(offset)];
export const load8 = (address: Code, offset = 0): Code => [address, 0x2d, 0, unsigned(offset)];
export const load16 = (address: Code, offset = 0): Code => [address, 0x2f, 0, unsigned(offset)];
export const load64 = (address: Code, offset = 0): Code => [address, 0x29, 0, unsigned(offset)];
export const store = (address: Code, value: Code, offset = 0): Code => [
  address,
  value,
  0x36,
  0,
  unsigned(offset),
];
export const store8 = (address: Code, value: Code): Code => [address, value, 0x3a, 0, 0];
export const store16 = (address: Code, value: Code): Code => [address, value, 0x3b, 0, 0];
export const store64 = (address: Code, value: Code): Code => [address, value, 0x37, 0, 0];

/** One of two numbers, without a jump. */
export const eitherNumber = (one: Code, other: Code, condition: Code): Code => [one, other, condition, 0x1b];
/** Bytes from one address to another; both stretches may overlap. */
export const copyBytes = (to: Code, from: Code, length: Code): Code => [to, from, length, 0xfc, 0x0a, 0, 0];

/** Byte by byte, of unsigned ones: all ones where that of `left` is below that of `right`, else 0. */
export const bytesBelow = (left: Code, right: Code): Code => [left, right, vector(0x26)];
/** The same word by word, of 32 bits. */
export const wordsBelow = (left: Code, right: Code): Code => [left, right, vector(0x3a)];
export const subtractBytes = (left: Code, right: Code): Code => [left, right, vector(0x71)];
/** Whether two vectors differ. */
export const vectorsDiffer = (left: Code, right: Code): Code => [left, right, vector(0x51), vector(0x53)];
/** One of 4 words of 32 bits. */
export const laneOfWords = (value: Code, lane: number): Code => [value, vector(0x1b), lane];

/** How 16 bytes are divided into words; the amount of a shift counts modulo their width. */
export type VectorShape = "i8x16" | "i16x8" | "i32x4" | "i64x2";
const VECTOR_SHIFTS: Record<VectorShape, { readonly left: number; readonly right: number }> = {
  i8x16: { left: 0x6b, right: 0x6d },
  i16x8: { left: 0x8b, right: 0x8d },
  i32x4: { left: 0xab, right: 0xad },
  i64x2: { left: 0xcb, right: 0xcd },
};
const vector = (opcode: number): Code => [0xfd, unsigned(opcode)];
export const vectorLoad = (address: Code, offset = 0): Code => [address, vector(0x00), 0, unsigned(offset)];
export const vectorStore = (address: Code, value: Code, offset = 0): Code => [
  address,
  value,
  vector(0x0b),
  0,
  unsigned(offset),
];
/** The first 8 bytes are loaded, the others are 0. */
export const vectorLoadHalf = (address: Code, offset = 0): Code => [
  address,
  vector(0x5d),
  0,
  unsigned(offset),
];
/** 8 bytes as 8 words of 16 bits. */
export const loadWidened = (address: Code, offset = 0): Code => [address, vector(0x02), 0, unsigned(offset)];
/** @param bytes 16 of them */
export const vectorConstant = (bytes: readonly number[]): Code => [vector(0x0c), bytes];
/** Of 4 words of 32 bits. */
export const vectorOfWords = (word: number): Code =>
  vectorConstant(Array.from({ length: 16 }, (_, byte) => (word >>> (8 * (byte & 3))) & 0xff));
export const vectorXor = (left: Code, right: Code): Code => [left, right, vector(0x51)];
export const vectorAnd = (left: Code, right: Code): Code => [left, right, vector(0x4e)];
export const vectorOr = (left: Code, right: Code): Code => [left, right, vector(0x50)];
export const vectorShiftLeft = (shape: VectorShape, value: Code, amount: Code): Code => [
  value,
  amount,
  vector(VECTOR_SHIFTS[shape].left),
];
/** Of unsigned words. */
export const vectorShiftRight = (shape: VectorShape, value: Code, amount: Code): Code => [
  value,
  amount,
  vector(VECTOR_SHIFTS[shape].right),
];

/** How 16 bytes are divided into signed integers or floats that are compared. */
export type LaneShape = "i32x4" | "i64x2" | "f32x4" | "f64x2";
const LANES: Record<LaneShape, Readonly<Record<LaneRelation, number>>> = {
  i32x4: { equal: 0x37, less: 0x39, atMost: 0x3d },
  i64x2: { equal: 0xd6, less: 0xd8, atMost: 0xda },
  f32x4: { equal: 0x41, less: 0x43, atMost: 0x45 },
  f64x2: { equal: 0x47, less: 0x49, atMost: 0x4b },
};
/** How a lane stands to another. */
export type LaneRelation = "equal" | "less" | "atMost";
/** Lanes that are all ones where that of `left` stands so to that of `right`, else 0. */
const relatedLanes = (shape: LaneShape, relation: LaneRelation, left: Code, right: Code): Code => [
  left,
  right,
  vector(LANES[shape][relation]),
];
/** How many values {@link relatedBits} compares. */
export const RELATED_VALUES = 16;
/**
 * A bit for each of 16 values, from bit 0 on: whether it stands so to the lanes of `right`.
 * @param left the values by the number of their vector: 4 of 32 bits in each, or 2 of 64
 */
export function relatedBits(
  shape: LaneShape,
  relation: LaneRelation,
  left: (vector: number) => Code,
  right: Code,
): Code {
  const lanes = (index: number) => relatedLanes(shape, relation, left(index), right);
  const bytes = (first: number) =>
    narrowToBytes(
      narrowWords(lanes(first), lanes(first + 1)),
      narrowWords(lanes(first + 2), lanes(first + 3)),
    );
  // Of 64 bits, each value is two bytes by now, which are alike.
  const isWide = shape === "i64x2" || shape === "f64x2";
  return signsOfBytes(isWide ? narrowToBytes(bytes(0), bytes(4)) : bytes(0));
}

/** How 16 bytes are divided into numbers that are added and multiplied. */
export type NumberShape = "i32x4" | "f32x4" | "f64x2";
const ARITHMETIC: Record<NumberShape, Readonly<Record<"add" | "subtract" | "multiply", number>>> = {
  i32x4: { add: 0xae, subtract: 0xb1, multiply: 0xb5 },
  f32x4: { add: 0xe4, subtract: 0xe5, multiply: 0xe6 },
  f64x2: { add: 0xf0, subtract: 0xf1, multiply: 0xf2 },
};
/** Lane by lane. */
export const laneNumbers = (
  shape: NumberShape,
  operation: "add" | "subtract" | "multiply",
  left: Code,
  right: Code,
): Code => [left, right, vector(ARITHMETIC[shape][operation])];
/** The smaller of two unsigned integers, in each of 4 lanes. */
export const smallerWords = (left: Code, right: Code): Code => [left, right, vector(0xb7)];
/** Lanes that are all ones where the float of `left` is above that of `right`, else 0. */
export const floatsAbove = (left: Code, right: Code): Code => [left, right, vector(0x44)];
/** The bits of `one` where those of a mask are set, else those of `other`. */
export const choose = (one: Code, other: Code, mask: Code): Code => [one, other, mask, vector(0x52)];
/** A float of 32 bits at an address, in all lanes. */
export const vectorOfFloat = (address: Code, offset = 0): Code => [
  address,
  vector(0x09),
  0,
  unsigned(offset),
];
/** Four words of 32 bits, each from an address of its own. */
export const vectorOfAddresses = (addresses: readonly [Code, Code, Code, Code], offset = 0): Code => {
  const [first, ...others] = addresses;
  const loaded: Code = [first, vector(0x5c), 0, unsigned(offset)];
  return others.reduce<Code>(
    (lanes, address, index) => [address, lanes, vector(0x56), 0, unsigned(offset), index + 1],
    loaded,
  );
};
/** Lanes that are all ones where the float of `left` is not below that of `right`, else 0. */
export const floatsAtLeast = (left: Code, right: Code): Code => [left, right, vector(0x46)];
/** The low 4 words of 16 bits as 4 of 32 bits. */
export const widenWords = (value: Code): Code => [value, vector(0xa9)];
/** Half of 16 signed bytes as 8 words of 16 bits. */
export const widenSignedBytes = (half: "low" | "high", value: Code): Code => [
  value,
  vector(half === "low" ? 0x87 : 0x88),
];
/** Two vectors of 4 signed words of 32 bits as one of 8 of 16 bits; what is too large becomes the largest. */
export const narrowWords = (left: Code, right: Code): Code => [left, right, vector(0x85)];
/** Two vectors of 8 signed words of 16 bits as 16 bytes. */
export const narrowToBytes = (left: Code, right: Code): Code => [left, right, vector(0x65)];
/** Of 4 floats. */
export const absoluteFloats = (value: Code): Code => [value, vector(0xe0)];
/** The larger of two floats, in each of 4 lanes; NaN where one is. */
export const largerFloats = (left: Code, right: Code): Code => [left, right, vector(0xe9)];
/** 4 floats rounded to integers, halves to even ones; NaN becomes 0. */
export const roundFloats = (value: Code): Code => [value, vector(0x6a), vector(0xf8)];
/** 4 signed integers as floats. */
export const floatsOfWords = (value: Code): Code => [value, vector(0xfa)];
/** The largest of 4 floats in a local, as a float of 32 bits; NaN where one is. */
export const largestLane = (local: number): Code => {
  const lane = (index: number): Code => [get(local), vector(0x1f), index];
  return [lane(0), lane(1), 0x97, lane(2), 0x97, lane(3), 0x97];
};
/** A float of 32 bits in all lanes. */
export const vectorOfFloat32 = (value: Code): Code => [value, vector(0x13)];
export const divideFloat32 = binary(0x95);
export const float32 = (value: number): Code => [0x43, [...new Uint8Array(Float32Array.of(value).buffer)]];
export const loadFloat32 = (address: Code, offset = 0): Code => [address, 0x2a, 0, unsigned(offset)];
/** The bits of a float of 32 bits. */
export const bitsOfFloat32 = (value: Code): Code => [value, 0xbc];
export const storeFloat32 = (address: Code, value: Code, offset = 0): Code => [
  address,
  value,
  0x38,
  0,
  unsigned(offset),
];
/** The lanes of a vector of integers added up. */
export const integerOfLanes = (local: number): Code => {
  const lane = (index: number): Code => [get(local), vector(0x1b), index];
  return [lane(0), lane(1), 0x6a, lane(2), 0x6a, lane(3), 0x6a];
};
/** The lanes of a vector of 4 floats added up, as a float of 32 bits. */
export const float32OfLanes = (local: number): Code => {
  const lane = (index: number): Code => [get(local), vector(0x1f), index];
  return [lane(0), lane(1), 0x92, lane(2), 0x92, lane(3), 0x92];
};

export const loadFloat64 = (address: Code, offset = 0): Code => [address, 0x2b, 0, unsigned(offset)];
/** Of one of 32 bits. */
export const float64OfFloat32 = (value: Code): Code => [value, 0xbb];
/** Of a signed integer. */
export const float64OfInteger = (value: Code): Code => [value, 0xb7];
export const addFloat64 = binary(0xa0);
export const subtractFloat64 = binary(0xa1);
export const multiplyFloat64 = binary(0xa2);
export const divideFloat64 = binary(0xa3);
/** The larger of two; NaN where one is. */
export const largerFloat64 = binary(0xa5);
export const rootOfFloat64 = (value: Code): Code => [value, 0x9f];
export const float64 = (value: number): Code => [0x44, [...new Uint8Array(Float64Array.of(value).buffer)]];
/** Rounded to 32 bits. */
export const float32OfFloat64 = (value: Code): Code => [value, 0xb6];
/** False where one is NaN. */
export const atMostFloat64 = binary(0x65);
/** Of words of 16 bits. */
export const subtractWords = (left: Code, right: Code): Code => [left, right, vector(0x91)];
/** Products of signed words of 16 bits, each pair of neighbours added up: 4 integers of 32 bits. */
export const productsOfWords = (left: Code, right: Code): Code => [left, right, vector(0xba)];
/** The bytes of `table` at places that are bytes themselves; 0 for places from 16 on. */
export const swizzle = (table: Code, places: Code): Code => [table, places, vector(0x0e)];
/** A byte of 16, as a number. */
export const laneOfBytes = (value: Code, lane: number): Code => [value, vector(0x16), lane];
/** Bytes that are all ones where those of both differ, else 0. */
export const bytesThatDiffer = (left: Code, right: Code): Code => [left, right, vector(0x24)];
/** The highest bit of each byte, from bit 0 on. */
export const signsOfBytes = (value: Code): Code => [value, vector(0x64)];
/** Number of bits that are set, in each group of 4 bytes. */
export const countBits = (value: Code): Code => [value, vector(0x62), vector(0x7d), vector(0x7f)];
/** The lanes of a vector added up, as a 64-bit float; those of integers are not below 0. */
export const sumOfLanes = (shape: NumberShape, local: number): Code => {
  const lane = (index: number): Code => [get(local), vector(LANE[shape].extract), index];
  const all = Array.from({ length: shape === "f64x2" ? 2 : 4 }, (_, index) => lane(index));
  const sum = all.reduce((left, right) => [left, right, LANE[shape].add]);
  return [sum, LANE[shape].widen];
};
const LANE: Record<NumberShape, { readonly extract: number; readonly add: number; readonly widen: Code }> = {
  i32x4: { extract: 0x1b, add: 0x6a, widen: 0xb8 },
  f32x4: { extract: 0x1f, add: 0x92, widen: 0xbb },
  f64x2: { extract: 0x21, add: 0xa0, widen: [] },
};
export const storeFloat64 = (address: Code, value: Code, offset = 0): Code => [
  address,
  value,
  0x39,
  0,
  unsigned(offset),
];

const NOTHING = 0x40;
/** Leaving a block goes on behind it; leaving a loop begins it again. Depth 0 is the inner-most block or loop. */
export const block = (...body: Code[]): Code => [0x02, NOTHING, body, 0x0b];
export const loop = (...body: Code[]): Code => [0x03, NOTHING, body, 0x0b];
/** Counts as one more depth of blocks. */
export const when = (condition: Code, body: Code, otherwise: Code = []): Code => [
  condition,
  0x04,
  NOTHING,
  body,
  0x05,
  otherwise,
  0x0b,
];
export const leave = (depth: number): Code => [0x0c, unsigned(depth)];
export const leaveWhen = (depth: number, condition: Code): Code => [condition, 0x0d, unsigned(depth)];
