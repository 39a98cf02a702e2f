/** Sorted rows that wait in temporary files. A run is written block by block, and read back likewise. */

import type { Column } from "../../arrow/columns/column.js";
import { decodeBlock, encodeBlock } from "../../arrow/columns/columnBlock.js";
import type { BatchRows } from "../scan/scan.js";

/** A temporary file. Reads come after the last write. */
export interface SpillFile {
  readonly byteLength: number;
  append(pieces: readonly Uint8Array[]): Promise<void>;
  /** Returns new memory, aligned to 8 bytes. */
  read(byteOffset: number, length: number): Promise<Uint8Array>;
  /** Closes and removes the file. */
  discard(): Promise<void>;
}

/** Makes a temporary file. @throws a typed error if there can be none */
export type MakeSpillFile = () => Promise<SpillFile>;

interface Block {
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly rowCount: number;
}

/** Sorted rows in a file. */
export class Run {
  readonly #file: SpillFile;
  readonly #columnCount: number;
  readonly #blocks: Block[] = [];

  constructor(file: SpillFile, columnCount: number) {
    this.#file = file;
    this.#columnCount = columnCount;
  }

  /** Adds a block of rows, which is read back as one block. */
  async append({ columns, rowCount }: BatchRows): Promise<void> {
    const byteOffset = this.#file.byteLength;
    await this.#file.append(encodeBlock(columns));
    this.#blocks.push({ byteOffset, byteLength: this.#file.byteLength - byteOffset, rowCount });
  }

  /** Yields the blocks, in order. */
  async *blocks(): AsyncGenerator<BatchRows> {
    for (const { byteOffset, byteLength, rowCount } of this.#blocks) {
      const bytes = await this.#file.read(byteOffset, byteLength);
      const columns: Column[] = decodeBlock(bytes, this.#columnCount);
      yield { columns, rowCount };
    }
  }
}
