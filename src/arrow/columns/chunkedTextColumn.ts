/** Columns of variable width whose values still lie as the chunks of a page hold them. */

import type { ChunkedTexts } from "./chunkedTexts.js";
import type { Validity, VariableColumn } from "./column.js";

/** A column whose values are gathered when they are first looked at; that may throw a CorruptFileError. */
export function chunkedTextColumn(
  texts: ChunkedTexts,
  length: number,
  validity: Validity | null,
): VariableColumn {
  let gathered: ReturnType<ChunkedTexts["gather"]> | null = null;
  const gather = () => {
    gathered ??= texts.gather();
    return gathered;
  };
  const column: VariableColumn = {
    kind: "variable",
    length,
    validity,
    get offsets() {
      return gather().offsets;
    },
    get bytes() {
      return gather().bytes;
    },
  };
  // Not enumerable: a copy with other members has values, and must not have the chunks or codes of others beside them.
  Object.defineProperty(column, "texts", { value: texts });
  if (texts.symbols !== null) Object.defineProperty(column, "coded", { get: () => gather().coded });
  return column;
}
