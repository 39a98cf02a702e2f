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
