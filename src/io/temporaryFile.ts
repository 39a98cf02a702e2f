/**
 * Files for work in progress that exceeds memory. They have the names of temporary files, so that a cleanup
 * removes those of dead processes. Only the user of the process may read them.
 */

import { join } from "../platform/native.js";
import type { Disk, ReadHandle, WriteHandle } from "./disk/disk.js";
import { temporaryName } from "./names/temporaryNames.js";

/** A file that is written from front to back, and may be read meanwhile. */
export class TemporaryFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #writer: WriteHandle;
  #reader: ReadHandle | null = null;
  #byteLength = 0;

  private constructor(disk: Disk, filePath: string, writer: WriteHandle) {
    this.#disk = disk;
    this.#path = filePath;
    this.#writer = writer;
  }

  /** @param tableRoot directory of the file, unless the disk has another one for such files */
  static async create(disk: Disk, tableRoot: string): Promise<TemporaryFile> {
    const scratch = disk.scratch ?? { disk, path: tableRoot };
    const filePath = join(scratch.path, temporaryName());
    return new TemporaryFile(scratch.disk, filePath, await scratch.disk.create(filePath, "private"));
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  async append(pieces: readonly Uint8Array[]): Promise<void> {
    await this.#writer.write(pieces);
    for (const piece of pieces) this.#byteLength += piece.length;
  }

  /** Reads bytes that were written before, into fresh memory. */
  async read(byteOffset: number, length: number): Promise<Uint8Array> {
    this.#reader ??= await this.#disk.open(this.#path);
    if (this.#reader === null) throw new Error(`${this.#path} was removed while it was used`);
    return this.#reader.read(byteOffset, length);
  }

  async discard(): Promise<void> {
    try {
      await this.#writer.close();
      await this.#reader?.close();
    } finally {
      await this.#disk.remove(this.#path, this.#byteLength);
    }
  }
}
