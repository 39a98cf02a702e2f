/**
 * Texts that are decoded for one call of a function. They are as many bytes as the column has, and each is looked at once:
 * memory of their own would have V8 collect garbage again and again for the sake of memory outside its heap, which costs more
 * than all else that a backfill does beside the calls. So the memory is lent again for the next call.
 *
 * Whoever keeps a vector beyond the call finds its memory detached, and gets an error from it, never other texts.
 */

import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import type { ScratchMemory } from "../../io/memory/scratch.js";

export class LentTexts {
  readonly #scratch: ScratchMemory;
  readonly #lent: ArrayBuffer[] = [];

  constructor(scratch: ScratchMemory) {
    this.#scratch = scratch;
  }

  /** The column, with its texts decoded where it has them as codes. */
  decode(column: Column): Column {
    return decodedColumn(column, (byteLength) => {
      const memory = this.#scratch.lend(byteLength);
      this.#lent.push(memory.buffer);
      return memory;
    });
  }

  /** Once nothing that is needed lies in the memory. */
  giveBack(): void {
    for (const memory of this.#lent) {
      this.#scratch.giveBack(new Uint8Array(structuredClone(memory, { transfer: [memory] })));
    }
    this.#lent.length = 0;
  }
}

/** A column without codes. */
export function decodedColumn(
  column: Column,
  allocate: (byteLength: number) => Uint8Array<ArrayBuffer> = (byteLength) => new Uint8Array(byteLength),
): Column {
  if (column.kind !== "variable" || column.coded === undefined) return column;
  const { length, validity, coded } = column;
  const decoded = coded.decode(coded.offsets.slice(), coded.codes, allocate);
  return { kind: "variable", length, validity, ...decoded } satisfies VariableColumn;
}
