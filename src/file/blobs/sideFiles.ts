/**
 * The side files of a data file that is being written: blobs that are too big for it (blobPlacement.ts), in a directory
 * beside it (blobDescriptors.ts). They are numbered from 1 in the order they are begun in. Columns with the same bound
 * of a side file share the one that several values go into; nothing is between these.
 */

import type { Disk } from "../../io/disk/disk.js";
import { dirname } from "../../platform/native.js";
import type { SizePlacement } from "../container/blobPlacement.js";
import { FileAppender } from "../container/fileAppender.js";
import { sideDirectory, sideFilePath } from "./blobDescriptors.js";

/** Where a value was put. */
export interface SidePosition {
  /** Of the file. */
  readonly number: number;
  readonly byteOffset: number;
  /** The file has this value only. */
  readonly isAlone: boolean;
}

interface SideFile {
  readonly number: number;
  readonly file: FileAppender;
}

export class SideFiles {
  readonly #disk: Disk;
  readonly #dataFilePath: string;
  /** Files begun so far. */
  #count = 0;
  /** Those that take more values, by the bytes they may have. */
  readonly #shared = new Map<number, SideFile>();
  /** Being written for one value. */
  #alone: FileAppender | null = null;

  constructor(disk: Disk, dataFilePath: string) {
    this.#disk = disk;
    this.#dataFilePath = dataFilePath;
  }

  /** Writes a value, whose memory nobody may write into until all is finished. */
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

  /** Completes the files; they and their names survive a power cut then. */
  async finish(): Promise<void> {
    for (const { file } of this.#shared.values()) await file.finish();
    if (this.#count > 0) await this.#disk.syncDirectory(sideDirectory(this.#dataFilePath));
  }

  /** Gives up and removes the files. */
  async abort(): Promise<void> {
    if (this.#count === 0) return;
    try {
      await this.#alone?.abandon();
      for (const { file } of this.#shared.values()) await file.abandon();
    } finally {
      await this.#disk.removeTree(sideDirectory(this.#dataFilePath));
    }
  }

  /** A file with room for a value, if it has others. */
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
      await this.#disk.makeDirectory(sideDirectory(this.#dataFilePath), dirname(this.#dataFilePath));
    return { number, file: await FileAppender.create(this.#disk, sideFilePath(this.#dataFilePath, number)) };
  }
}
