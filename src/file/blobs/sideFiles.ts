/**
 * Writes the side files of a data file. They hold blobs too large for the data file (blobPlacement.ts) and
 * lie in a directory beside it (blobDescriptors.ts), numbered from 1 in the order in which they are begun.
 * Columns with the same size bound share side files of several values, without padding between values.
 */

import type { Disk } from "../../io/disk/disk.js";
import { dirname } from "../../platform/native.js";
import type { SizePlacement } from "../container/blobPlacement.js";
import { FileAppender } from "../container/fileAppender.js";
import { type SidePosition, sideFileDirectory, sideFilePath } from "./blobDescriptors.js";

interface SideFile {
  readonly number: number;
  readonly file: FileAppender;
}

export class SideFiles {
  /** Number of files begun so far. */
  #count = 0;
  /** Files that can take more values, by their maximum size. */
  readonly #shared = new Map<number, SideFile>();
  /** The file that is being written for a single value. */
  #alone: FileAppender | null = null;

  constructor(
    private readonly disk: Disk,
    private readonly dataFilePath: string,
  ) {}

  /** Writes a value. Its memory must not change until all files are finished. */
  async put(value: Uint8Array, placement: SizePlacement): Promise<SidePosition> {
    if (value.length > placement.sharedBytes) {
      const { number, file } = await this.#begin();
      this.#alone = file;
      file.append(value);
      await file.finish();
      this.#alone = null;
      return { number, byteOffset: 0, isAlone: true };
    }
    const { number, file } = await this.#sharedFor(value.length, placement.sideFileBytes);
    const byteOffset = file.position;
    file.append(value);
    await file.relieve();
    return { number, byteOffset, isAlone: false };
  }

  /** Completes the files. They and their names then survive a power cut. */
  async finish(): Promise<void> {
    for (const { file } of this.#shared.values()) await file.finish();
    if (this.#count > 0) await this.disk.syncDirectory(sideFileDirectory(this.dataFilePath));
  }

  async abort(): Promise<void> {
    if (this.#count === 0) return;
    try {
      await this.#alone?.abandon();
      for (const { file } of this.#shared.values()) await file.abandon();
    } finally {
      await this.disk.removeTree(sideFileDirectory(this.dataFilePath));
    }
  }

  /** Returns the shared file with room for a value. A new file takes a value of any size. */
  async #sharedFor(valueBytes: number, fileBytes: number): Promise<SideFile> {
    const before = this.#shared.get(fileBytes);
    if (before !== undefined && before.file.position + valueBytes <= fileBytes) return before;
    await before?.file.finish();
    this.#shared.delete(fileBytes);
    const begun = await this.#begin();
    this.#shared.set(fileBytes, begun);
    return begun;
  }

  async #begin(): Promise<SideFile> {
    const number = ++this.#count;
    if (number === 1)
      await this.disk.makeDirectory(sideFileDirectory(this.dataFilePath), dirname(this.dataFilePath));
    return { number, file: await FileAppender.create(this.disk, sideFilePath(this.dataFilePath, number)) };
  }
}
