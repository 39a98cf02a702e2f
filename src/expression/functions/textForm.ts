/** Functions of texts and whole numbers that run in steps over UTF-8 bytes. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { perRow } from "../kernels/arithmetic.js";
import { TextLane, textRows, wholeNumbers } from "../kernels/textRows.js";
import type { GrowingTexts } from "../values/growing.js";
import type { Operand, ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { INT64, STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, taking } from "./form.js";

class Arguments {
  readonly #operands: readonly Operand[];
  readonly #lanes: readonly (TextLane | null)[];

  constructor(kinds: string, operands: readonly Operand[]) {
    this.#operands = operands;
    this.#lanes = operands.map((operand, index) => (kinds[index] === "t" ? new TextLane(operand) : null));
  }

  get lanes(): readonly TextLane[] {
    return this.#lanes.filter((lane) => lane !== null);
  }

  text(index: number): TextLane {
    return this.#lanes[index] as TextLane;
  }

  optionalText(index: number): TextLane | null {
    return this.#lanes[index] ?? null;
  }

  numbers(index: number): (row: number) => number {
    return wholeNumbers(this.#operands[index]);
  }

  optionalNumbers(index: number): ((row: number) => number) | null {
    return index < this.#operands.length ? this.numbers(index) : null;
  }
}

/** @param kinds texts and whole numbers, as for {@link taking} */
export function ofTexts(
  kinds: string,
  type: ValueType,
  compute: (operands: Arguments, length: number, valid: Validity | null) => Steps<Column>,
): FunctionDefinition {
  const letters = kinds.replace("?", "");
  return taking(kinds, (types) => ({
    operands: types.map((_, index) => (letters[index] === "t" ? STRING : INT64)),
    type,
    kernel: (operands, length, valid) => compute(new Arguments(letters, operands), length, valid),
  }));
}

/**
 * A function of the same kind that makes texts.
 * @param name for the error about a result that is too long; null if there is no maximum
 */
export const makingTexts = (
  name: string | null,
  kinds: string,
  write: (operands: Arguments) => (row: number, texts: GrowingTexts) => Steps<void>,
): FunctionDefinition =>
  ofTexts(kinds, STRING, (operands, length, valid) =>
    textRows(name, operands.lanes, length, valid, write(operands)),
  );

/** A kernel that computes short values row by row. */
export function rowKernel(
  types: readonly ValueType[],
  type: ValueType,
  compute: (operands: readonly Scalar[]) => Scalar,
): ValueKernel {
  return (operands, length, valid) => {
    const readers = operands.map((operand, index) => scalarReader(operand, types[index]));
    const values = new Array<Scalar>(operands.length);
    return perRow(type, length, valid, (row) => {
      for (let index = 0; index < readers.length; index++) values[index] = readers[index](row);
      return compute(values);
    });
  };
}
