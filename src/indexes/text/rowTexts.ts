/** Texts of rows and their tokens. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { Steps } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import type { Analyzer } from "./analyzer.js";

/**
 * Passes the tokens of a row's texts to `use`, in steps. Positions continue from one text to the next.
 * @param use receives the arguments of {@link Analyzer.tokens} and the index of the text
 */
export function* documentTokens(
  analyzer: Analyzer,
  texts: readonly string[],
  use: (token: string, position: number, start: number, end: number, text: number) => void,
): Steps<void> {
  let base = 0;
  for (const [number, text] of texts.entries()) {
    let last = -1;
    yield* analyzer.steps(text, (token, position, start, end) => {
      last = Math.max(last, position);
      use(token, base + position, start, end, number);
    });
    base += last + 1;
  }
}

/** Texts of rows: one, a list, or none. */
export class RowTexts {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(private readonly column: Column) {}

  of(row: number): readonly string[] {
    const column = this.column;
    if (column.kind === "null" || !isValid(column.validity, row)) return [];
    if (column.kind === "variable") return [this.#text(column, row)];
    if (column.kind !== "list") throw new InternalError(`a column of kind ${column.kind} cannot hold text`);
    const { items, offsets } = column;
    if (items.kind !== "variable") return [];
    const texts: string[] = [];
    const end = Number(offsets[row + 1]);
    for (let item = Number(offsets[row]); item < end; item++) {
      if (isValid(items.validity, item)) texts.push(this.#text(items, item));
    }
    return texts;
  }

  /** Returns the bytes of a row's only text; null for no text or a list. */
  bytesOf(row: number): { readonly bytes: Uint8Array; readonly start: number; readonly end: number } | null {
    const column = this.column;
    if (column.kind !== "variable" || !isValid(column.validity, row)) return null;
    const { offsets, bytes } = column;
    return { bytes, start: Number(offsets[row]), end: Number(offsets[row + 1]) };
  }

  /** Returns the list indices of a row's texts, without nulls; null if the column holds no lists. */
  numbersOf(row: number): readonly number[] | null {
    const column = this.column;
    if (column.kind !== "list") return null;
    const start = Number(column.offsets[row]);
    const all = Array.from({ length: Number(column.offsets[row + 1]) - start }, (_, item) => item);
    return all.filter((item) => isValid(column.items.validity, start + item));
  }

  #text({ offsets, bytes }: Extract<Column, { kind: "variable" }>, row: number): string {
    return this.#decoder.decode(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1])));
  }
}
