/** Functions of texts as loops over UTF-8 bytes: the operands of a row, and the columns of results. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { GrowingTexts } from "../values/growing.js";
import { bitsColumn, byteLane, type Operand } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { INT64 } from "../values/types.js";
import { STEP_BYTES } from "../values/work.js";
import { fixedColumn } from "./arithmetic.js";

/** Texts up to this number of bytes are copied byte by byte, which takes less than a view of them. */
const SHORT_BYTES = 48;
/** Work of a row besides its bytes. */
const ROW_WORK = 64;

export class TextLane {
  readonly bytes: Uint8Array;
  readonly isConstant: boolean;
  readonly #offsets: Int32Array | Float64Array;
  readonly #step: number;
  readonly #validity: Validity | null;
  readonly #isNull: boolean;

  constructor(operand: Operand) {
    const { column, step } = operand;
    this.#isNull = column.kind === "null";
    const { bytes, offsets } = column.kind === "null" ? NO_BYTES : byteLane(operand);
    this.bytes = bytes;
    this.#offsets = offsets;
    this.#step = step;
    this.#validity = column.validity;
    this.isConstant = step === 0;
  }

  start(row: number): number {
    return this.#offsets[row * this.#step];
  }

  end(row: number): number {
    return this.#offsets[row * this.#step + 1];
  }

  size(row: number): number {
    return this.end(row) - this.start(row);
  }

  isNull(row: number): boolean {
    return this.#isNull || !isValid(this.#validity, row * this.#step);
  }

  putInto(row: number, texts: GrowingTexts): void {
    texts.put(this.bytes, this.start(row), this.end(row));
  }

  /** Copies the text of a row. @returns its end in the target */
  copyInto(row: number, target: Uint8Array, position: number): number {
    const { bytes } = this;
    const [start, end] = [this.start(row), this.end(row)];
    if (end - start > SHORT_BYTES) target.set(bytes.subarray(start, end), position);
    else for (let from = start, to = position; from < end; from++, to++) target[to] = bytes[from];
    return position + end - start;
  }

  of(row: number): Uint8Array {
    return this.bytes.subarray(this.start(row), this.end(row));
  }
}

const NO_BYTES = { bytes: new Uint8Array(0), offsets: new Int32Array(1) };

export function wholeNumbers(operand: Operand): (row: number) => number {
  const read = scalarReader(operand, INT64);
  return (row) => Number(read(row) as Exclude<Scalar, null>);
}

/** Counts the work on rows by the bytes of their texts. */
export class RowPace {
  readonly #lanes: readonly TextLane[];
  readonly #pace = new Pace(STEP_BYTES);

  constructor(lanes: readonly TextLane[]) {
    // A constant costs work only once, or in the code that reads it.
    this.#lanes = lanes.filter(({ isConstant }) => !isConstant);
  }

  /** Counts a row, and the bytes of its result. @returns true if a step ends with it */
  isStep(row: number, resultBytes = 0): boolean {
    let work = ROW_WORK + resultBytes;
    for (const lane of this.#lanes) work += lane.size(row);
    return this.#pace.isStep(work);
  }
}

/**
 * Makes a text for each row.
 * @param name of the function, if its texts have a maximum length
 * @param write writes the text of a row. It writes long texts in steps
 */
export function* textRows(
  name: string | null,
  lanes: readonly TextLane[],
  length: number,
  valid: Validity | null,
  write: (row: number, texts: GrowingTexts) => Steps<void> | undefined,
): Steps<Column> {
  const texts = new GrowingTexts(name);
  const pace = new RowPace(lanes);
  for (let row = 0; row < length; row++) {
    let byteCount = 0;
    if (isValid(valid, row)) {
      const steps = write(row, texts);
      if (steps !== undefined) yield* steps;
      byteCount = texts.size;
    }
    texts.end();
    if (pace.isStep(row, byteCount)) yield;
  }
  return yield* texts.finish(valid);
}

/** Maximum bytes of a batch of texts that are joined row by row without steps inside a row. */
const JOINED_BYTES = 2 ** 22;
/** Rows that are joined in one step. */
const JOINED_ROWS = 2 ** 13;

/** Joins the texts of each row, nulls as empty texts. Returns null for a batch of many bytes. */
export function* joinedTexts(lanes: readonly TextLane[], length: number): Steps<Column | null> {
  if (length === 0) return null;
  let byteCount = 0;
  for (const lane of lanes)
    byteCount += lane.isConstant ? length * lane.size(0) : lane.end(length - 1) - lane.start(0);
  if (byteCount > JOINED_BYTES) return null;
  const bytes = new Uint8Array(byteCount);
  const offsets = new Int32Array(length + 1);
  for (let start = 0; start < length; start += JOINED_ROWS) {
    if (start > 0) yield;
    joinRows(lanes, bytes, offsets, start, Math.min(start + JOINED_ROWS, length));
  }
  return { kind: "variable", length, validity: null, offsets, bytes: bytes.subarray(0, offsets[length]) };
}

function joinRows(
  lanes: readonly TextLane[],
  bytes: Uint8Array,
  offsets: Int32Array,
  start: number,
  end: number,
): void {
  let position = offsets[start];
  for (let row = start; row < end; row++) {
    for (const lane of lanes) if (!lane.isNull(row)) position = lane.copyInto(row, bytes, position);
    offsets[row + 1] = position;
  }
}

/** Computes a whole number for each row, which is not negative. @param bits of the numbers of the column */
export function* numberRows(
  lanes: readonly TextLane[],
  length: number,
  valid: Validity | null,
  compute: (row: number) => number | Steps<number>,
  bits: 32 | 64 = 32,
): Steps<Column> {
  const width = bits / 32;
  const words = new Int32Array(width * length);
  const pace = new RowPace(lanes);
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row)) {
      const computed = compute(row);
      words[width * row] = typeof computed === "number" ? computed : yield* computed;
    }
    if (pace.isStep(row)) yield;
  }
  return fixedColumn(width === 1 ? words : new BigInt64Array(words.buffer), length, valid);
}

export function* truthRows(
  lanes: readonly TextLane[],
  length: number,
  valid: Validity | null,
  test: (row: number) => boolean | Steps<boolean>,
): Steps<Column> {
  const bits = new Uint8Array((length + 7) >>> 3);
  const pace = new RowPace(lanes);
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row)) {
      const tested = test(row);
      if (typeof tested === "boolean" ? tested : yield* tested) bits[row >>> 3] |= 1 << (row & 7);
    }
    if (pace.isStep(row)) yield;
  }
  return bitsColumn(bits, length, valid);
}

/** Makes a value from an operand: once for a constant, and for each row otherwise. */
export function madeOnce<Made extends object>(
  lane: TextLane,
  make: (row: number) => Made | Steps<Made>,
): (row: number) => Steps<Made> {
  let cached: Made | null = null;
  return function* of(row) {
    if (cached !== null) return cached;
    const making = make(row);
    const value = "next" in making ? yield* making : making;
    if (lane.isConstant) cached = value;
    return value;
  };
}
