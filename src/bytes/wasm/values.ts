/**
 * Values of a WebAssembly kernel. A value is an expression: the kernel computes it again at each use. A local
 * keeps the value that was stored in it. Integers are unsigned unless a method says otherwise.
 *
 * An instruction is the bytes of its operands, then its own.
 */

/** Bytes of an instruction, or of several. */
export type Instructions = number | readonly Instructions[];

/** LEB128. */
export function unsigned(value: number): number[] {
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

const simd = (opcode: number): Instructions => [0xfd, unsigned(opcode)];

const STORE_VECTOR = simd(0x0b);

/** An expression. */
export abstract class Value {
  constructor(readonly instructions: Instructions) {}
  /** The instruction that stores such a value. */
  abstract readonly storing: Instructions;
}

/** An integer of 32 bits, or a number that stands for one. */
export type IntegerOperand = Integer | number;

/** An integer of 32 bits, which may be an address. Comparisons give 1 or 0. */
export class Integer extends Value {
  readonly storing: Instructions = 0x36;

  static of(value: IntegerOperand): Integer {
    return typeof value === "number" ? new Integer([0x41, signed(value)]) : value;
  }

  plus(addend: IntegerOperand): Integer {
    return this.#with(addend, 0x6a);
  }
  minus(subtrahend: IntegerOperand): Integer {
    return this.#with(subtrahend, 0x6b);
  }
  times(factor: IntegerOperand): Integer {
    return this.#with(factor, 0x6c);
  }
  and(mask: IntegerOperand): Integer {
    return this.#with(mask, 0x71);
  }
  or(mask: IntegerOperand): Integer {
    return this.#with(mask, 0x72);
  }
  xor(mask: IntegerOperand): Integer {
    return this.#with(mask, 0x73);
  }
  shiftLeft(bits: IntegerOperand): Integer {
    return this.#with(bits, 0x74);
  }
  shiftRight(bits: IntegerOperand): Integer {
    return this.#with(bits, 0x76);
  }
  rotateLeft(bits: IntegerOperand): Integer {
    return this.#with(bits, 0x77);
  }
  equals(value: IntegerOperand): Integer {
    return this.#with(value, 0x46);
  }
  below(bound: IntegerOperand): Integer {
    return this.#with(bound, 0x49);
  }
  above(bound: IntegerOperand): Integer {
    return this.#with(bound, 0x4b);
  }
  atMost(bound: IntegerOperand): Integer {
    return this.#with(bound, 0x4d);
  }
  atLeast(bound: IntegerOperand): Integer {
    return this.#with(bound, 0x4f);
  }
  /** Number of zero bits below the lowest bit that is set. */
  trailingZeros(): Integer {
    return new Integer([this.instructions, 0x68]);
  }
  /** `one` if this is not 0, else `two`. The kernel computes both and does not jump. */
  choose(one: IntegerOperand, two: IntegerOperand): Integer {
    return new Integer([Integer.of(one).instructions, Integer.of(two).instructions, this.instructions, 0x1b]);
  }
  /** This signed integer as a float. */
  toDouble(): Double {
    return new Double([this.instructions, 0xb7]);
  }

  // Loads take any address, and add `offset` to it.

  load(offset = 0): Integer {
    return new Integer(this.#loaded(0x28, offset));
  }
  load8(offset = 0): Integer {
    return new Integer(this.#loaded(0x2d, offset));
  }
  load16(offset = 0): Integer {
    return new Integer(this.#loaded(0x2f, offset));
  }
  loadLong(offset = 0): Long {
    return new Long(this.#loaded(0x29, offset));
  }
  loadFloat(offset = 0): Float {
    return new Float(this.#loaded(0x2a, offset));
  }
  loadDouble(offset = 0): Double {
    return new Double(this.#loaded(0x2b, offset));
  }
  loadVector(offset = 0): Vector {
    return new Vector(this.#loaded(simd(0x00), offset));
  }
  /** 8 bytes; the upper half of the vector is 0. */
  loadHalfVector(offset = 0): Vector {
    return new Vector(this.#loaded(simd(0x5d), offset));
  }
  /** 8 unsigned bytes as 8 words of 16 bits. */
  loadWidened(offset = 0): Vector {
    return new Vector(this.#loaded(simd(0x02), offset));
  }
  /** 4 bytes, in each of 4 lanes. */
  loadRepeated(offset = 0): Vector {
    return new Vector(this.#loaded(simd(0x09), offset));
  }

  #with(operand: IntegerOperand, opcode: number): Integer {
    return new Integer([this.instructions, Integer.of(operand).instructions, opcode]);
  }
  #loaded(opcode: Instructions, offset: number): Instructions {
    return [this.instructions, opcode, 0, unsigned(offset)];
  }
}

/** An integer of 64 bits. */
export class Long extends Value {
  readonly storing: Instructions = 0x37;

  and(mask: Long): Long {
    return new Long([this.instructions, mask.instructions, 0x83]);
  }
  xor(mask: Long): Long {
    return new Long([this.instructions, mask.instructions, 0x85]);
  }
  isZero(): Integer {
    return new Integer([this.instructions, 0x50]);
  }
}

/** A float of 32 bits. */
export class Float extends Value {
  readonly storing: Instructions = 0x38;

  static of(value: number): Float {
    return new Float([0x43, [...new Uint8Array(Float32Array.of(value).buffer)]]);
  }

  over(divisor: Float): Float {
    return new Float([this.instructions, divisor.instructions, 0x95]);
  }
  /** The bits as an integer. */
  toBits(): Integer {
    return new Integer([this.instructions, 0xbc]);
  }
  toDouble(): Double {
    return new Double([this.instructions, 0xbb]);
  }
  /** This float in each of 4 lanes. */
  toVector(): Vector {
    return new Vector([this.instructions, simd(0x13)]);
  }
}

/** A float of 64 bits. */
export class Double extends Value {
  readonly storing: Instructions = 0x39;

  static of(value: number): Double {
    return new Double([0x44, [...new Uint8Array(Float64Array.of(value).buffer)]]);
  }

  plus(addend: Double): Double {
    return this.#with(addend, 0xa0);
  }
  minus(subtrahend: Double): Double {
    return this.#with(subtrahend, 0xa1);
  }
  times(factor: Double): Double {
    return this.#with(factor, 0xa2);
  }
  over(divisor: Double): Double {
    return this.#with(divisor, 0xa3);
  }
  /** The larger of two floats; NaN if one of them is. */
  max(value: Double): Double {
    return this.#with(value, 0xa5);
  }
  squareRoot(): Double {
    return new Double([this.instructions, 0x9f]);
  }
  /** False if one of them is NaN. */
  atMost(bound: Double): Integer {
    return new Integer([this.instructions, bound.instructions, 0x65]);
  }
  toFloat(): Float {
    return new Float([this.instructions, 0xb6]);
  }

  #with(operand: Double, opcode: number): Double {
    return new Double([this.instructions, operand.instructions, opcode]);
  }
}

/** Lanes of numbers that are added and multiplied. */
export type NumberShape = "i32x4" | "f32x4" | "f64x2";
/** Lanes that are shifted; the number of bits counts modulo their width. */
export type ShiftShape = "i8x16" | "i16x8" | "i32x4" | "i64x2";
/** Lanes of signed integers or floats that are compared. */
export type LaneShape = "i32x4" | "i64x2" | "f32x4" | "f64x2";
export type LaneRelation = "equal" | "less" | "atMost";

const ARITHMETIC: Record<NumberShape, Readonly<Record<"plus" | "minus" | "times", number>>> = {
  i32x4: { plus: 0xae, minus: 0xb1, times: 0xb5 },
  f32x4: { plus: 0xe4, minus: 0xe5, times: 0xe6 },
  f64x2: { plus: 0xf0, minus: 0xf1, times: 0xf2 },
};
const SHIFTS: Record<ShiftShape, { readonly left: number; readonly right: number }> = {
  i8x16: { left: 0x6b, right: 0x6d },
  i16x8: { left: 0x8b, right: 0x8d },
  i32x4: { left: 0xab, right: 0xad },
  i64x2: { left: 0xcb, right: 0xcd },
};
const RELATIONS: Record<LaneShape, Readonly<Record<LaneRelation, number>>> = {
  i32x4: { equal: 0x37, less: 0x39, atMost: 0x3d },
  i64x2: { equal: 0xd6, less: 0xd8, atMost: 0xda },
  f32x4: { equal: 0x41, less: 0x43, atMost: 0x45 },
  f64x2: { equal: 0x47, less: 0x49, atMost: 0x4b },
};

/** 16 bytes, which each method divides into lanes. Lanes that are compared become all ones, or 0. */
export class Vector extends Value {
  readonly storing = STORE_VECTOR;

  static ofBytes(bytes: readonly number[]): Vector {
    return new Vector([simd(0x0c), bytes]);
  }
  /** Repeats a byte 16 times. */
  static ofByte(byte: number): Vector {
    return Vector.ofBytes(new Array(16).fill(byte));
  }
  /** Repeats a word of 32 bits 4 times. */
  static ofWord(word: number): Vector {
    return Vector.ofBytes(Array.from({ length: 16 }, (_, byte) => (word >>> (8 * (byte & 3))) & 0xff));
  }
  /** Loads a word of 32 bits from each of 4 addresses. */
  static ofAddresses(addresses: readonly [Integer, Integer, Integer, Integer], offset = 0): Vector {
    const [first, ...rest] = addresses;
    const loaded: Instructions = [first.instructions, simd(0x5c), 0, unsigned(offset)];
    const lanes = rest.reduce<Instructions>(
      (vector, { instructions }, index) => [instructions, vector, simd(0x56), 0, unsigned(offset), index + 1],
      loaded,
    );
    return new Vector(lanes);
  }

  and(mask: Vector): Vector {
    return this.#with(mask, 0x4e);
  }
  or(mask: Vector): Vector {
    return this.#with(mask, 0x50);
  }
  xor(mask: Vector): Vector {
    return this.#with(mask, 0x51);
  }
  /** The bits of `one` where this has ones, and those of `two` elsewhere. */
  choose(one: Vector, two: Vector): Vector {
    return new Vector([one.instructions, two.instructions, this.instructions, simd(0x52)]);
  }
  /** 1 if any bit differs. */
  differs(vector: Vector): Integer {
    return new Integer([this.xor(vector).instructions, simd(0x53)]);
  }
  shiftLeft(shape: ShiftShape, bits: IntegerOperand): Vector {
    return new Vector([this.instructions, Integer.of(bits).instructions, simd(SHIFTS[shape].left)]);
  }
  shiftRight(shape: ShiftShape, bits: IntegerOperand): Vector {
    return new Vector([this.instructions, Integer.of(bits).instructions, simd(SHIFTS[shape].right)]);
  }

  plus(shape: NumberShape, addend: Vector): Vector {
    return this.#with(addend, ARITHMETIC[shape].plus);
  }
  minus(shape: NumberShape, subtrahend: Vector): Vector {
    return this.#with(subtrahend, ARITHMETIC[shape].minus);
  }
  times(shape: NumberShape, factor: Vector): Vector {
    return this.#with(factor, ARITHMETIC[shape].times);
  }
  compare(shape: LaneShape, relation: LaneRelation, vector: Vector): Vector {
    return this.#with(vector, RELATIONS[shape][relation]);
  }

  // Lanes of 8 bits, unsigned.

  byte(lane: number): Integer {
    return new Integer([this.instructions, simd(0x16), lane]);
  }
  minusBytes(subtrahend: Vector): Vector {
    return this.#with(subtrahend, 0x71);
  }
  bytesBelow(bound: Vector): Vector {
    return this.#with(bound, 0x26);
  }
  bytesThatDiffer(vector: Vector): Vector {
    return this.#with(vector, 0x24);
  }
  /** The highest bit of each byte, from bit 0 on. */
  signsOfBytes(): Integer {
    return new Integer([this.instructions, simd(0x64)]);
  }
  /** The bytes of this that `indices` name, a byte each; 0 for indices from 16 on. */
  swizzle(indices: Vector): Vector {
    return this.#with(indices, 0x0e);
  }
  /** Number of bits that are set, in each group of 4 bytes. */
  countBits(): Vector {
    return new Vector([this.instructions, simd(0x62), simd(0x7d), simd(0x7f)]);
  }
  /** 8 of the signed bytes as 8 words of 16 bits. */
  widenSignedBytes(half: "low" | "high"): Vector {
    return new Vector([this.instructions, simd(half === "low" ? 0x87 : 0x88)]);
  }

  // Lanes of 16 bits.

  minusShorts(subtrahend: Vector): Vector {
    return this.#with(subtrahend, 0x91);
  }
  /** Multiplies signed words of 16 bits, and adds up each pair of neighbours: 4 integers of 32 bits. */
  productsOfShorts(factor: Vector): Vector {
    return this.#with(factor, 0xba);
  }
  /** The low 4 words of 16 bits as 4 of 32 bits. */
  widenShorts(): Vector {
    return new Vector([this.instructions, simd(0xa9)]);
  }
  /**
   * The signed words of 16 bits of this, then those of `upper`, as 16 bytes; numbers that are too large
   * become the largest.
   */
  narrowShorts(upper: Vector): Vector {
    return this.#with(upper, 0x65);
  }

  // Lanes of 32 bits.

  word(lane: number): Integer {
    return new Integer([this.instructions, simd(0x1b), lane]);
  }
  minWords(bound: Vector): Vector {
    return this.#with(bound, 0xb7);
  }
  wordsBelow(bound: Vector): Vector {
    return this.#with(bound, 0x3a);
  }
  /**
   * The signed words of 32 bits of this, then those of `upper`, as 8 of 16 bits; numbers that are too large
   * become the largest.
   */
  narrowWords(upper: Vector): Vector {
    return this.#with(upper, 0x85);
  }
  /** Signed integers as floats. */
  wordsToFloats(): Vector {
    return new Vector([this.instructions, simd(0xfa)]);
  }
  /** Floats rounded to integers, halves to even ones; NaN becomes 0. */
  floatsToWords(): Vector {
    return new Vector([this.instructions, simd(0x6a), simd(0xf8)]);
  }
  absoluteFloats(): Vector {
    return new Vector([this.instructions, simd(0xe0)]);
  }
  /** The larger of two floats; NaN if one of them is. */
  maxFloats(vector: Vector): Vector {
    return this.#with(vector, 0xe9);
  }
  floatsAbove(bound: Vector): Vector {
    return this.#with(bound, 0x44);
  }
  floatsAtLeast(bound: Vector): Vector {
    return this.#with(bound, 0x46);
  }

  #with(operand: Vector, opcode: number): Vector {
    return new Vector([this.instructions, operand.instructions, simd(opcode)]);
  }
}

/** Number of values that {@link relatedBits} compares. */
export const RELATED_VALUES = 16;
/**
 * A bit for each of 16 values, from bit 0 on: 1 if the value stands in the relation to its lane of `bound`.
 * @param values the vector of this index: 4 values of 32 bits in each, or 2 of 64 bits
 */
export function relatedBits(
  shape: LaneShape,
  relation: LaneRelation,
  values: (index: number) => Vector,
  bound: Vector,
): Integer {
  const lanes = (index: number) => values(index).compare(shape, relation, bound);
  const bytes = (first: number) =>
    lanes(first)
      .narrowWords(lanes(first + 1))
      .narrowShorts(lanes(first + 2).narrowWords(lanes(first + 3)));
  // Narrowing leaves two equal bytes of each value of 64 bits.
  const isWide = shape === "i64x2" || shape === "f64x2";
  return (isWide ? bytes(0).narrowShorts(bytes(4)) : bytes(0)).signsOfBytes();
}

/** The number of a local, and the code that sets it. */
interface Slot {
  readonly index: number;
  emit(statement: Instructions): void;
}

const read = ({ index }: Slot): Instructions => [0x20, unsigned(index)];
const write = ({ index, emit }: Slot, value: Instructions): void => emit([value, 0x21, unsigned(index)]);

export class IntegerLocal extends Integer {
  constructor(private readonly slot: Slot) {
    super(read(slot));
  }

  set(value: IntegerOperand): void {
    write(this.slot, Integer.of(value).instructions);
  }
  increase(by: IntegerOperand): void {
    this.set(this.plus(by));
  }
  decrease(by: IntegerOperand): void {
    this.set(this.minus(by));
  }
}

export class DoubleLocal extends Double {
  constructor(private readonly slot: Slot) {
    super(read(slot));
  }

  set(value: Double): void {
    write(this.slot, value.instructions);
  }
}

const LANES: Record<NumberShape, { extract: number; add: number; toDouble: Instructions }> = {
  i32x4: { extract: 0x1b, add: 0x6a, toDouble: 0xb8 },
  f32x4: { extract: 0x1f, add: 0x92, toDouble: 0xbb },
  f64x2: { extract: 0x21, add: 0xa0, toDouble: [] },
};

export class VectorLocal extends Vector {
  constructor(private readonly slot: Slot) {
    super(read(slot));
  }

  set(value: Vector): void {
    write(this.slot, value.instructions);
  }
  /** Adds lanes to these lanes. */
  increase(shape: NumberShape, addend: Vector): void {
    this.set(this.plus(shape, addend));
  }

  /** The 4 integers added up. */
  sumOfWords(): Integer {
    return new Integer(this.#folded("i32x4", LANES.i32x4.add));
  }
  /** The 4 floats added up. */
  sumOfFloats(): Float {
    return new Float(this.#folded("f32x4", LANES.f32x4.add));
  }
  /** All lanes added up; integers are unsigned. */
  sum(shape: NumberShape): Double {
    return new Double([this.#folded(shape, LANES[shape].add), LANES[shape].toDouble]);
  }
  /** The largest of 4 floats; NaN if one of them is. */
  largestFloat(): Float {
    return new Float(this.#folded("f32x4", 0x97));
  }

  #folded(shape: NumberShape, opcode: number): Instructions {
    const lanes = Array.from({ length: shape === "f64x2" ? 2 : 4 }, (_, lane): Instructions => {
      return [this.instructions, simd(LANES[shape].extract), lane];
    });
    return lanes.reduce((left, right) => [left, right, opcode]);
  }
}
