/**
 * A new file, written front to back: bytes gather until they are worth a write, and while one write is under way the
 * next one gathers. Memory that was handed in is the file's until the write behind it has ended.
 */

import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { align, BUFFER_ALIGNMENT } from "./container.js";

/** Bytes gathered before they are handed to the disk. */
const WRITE_BYTES = 1024 * 1024;

const PADDING = new Uint8Array(BUFFER_ALIGNMENT);

export class FileAppender {
  readonly #handle: WriteHandle;
  #position = 0;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #inFlight: Promise<void> = Promise.resolve();
  #open = true;

  private constructor(handle: WriteHandle) {
    this.#handle = handle;
  }

  /** Creates the file, under a name that is free. */
  static async create(disk: Disk, path: string): Promise<FileAppender> {
    return new FileAppender(await disk.create(path));
  }

  /** Where the next byte will lie. */
  get position(): number {
    return this.#position;
  }

  /** Puts bytes in line; {@link relieve} is to be called every now and then. */
  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#position += bytes.length;
  }

  /** Puts zeros in line, up to the next multiple of 64. */
  pad(): void {
    this.append(PADDING.subarray(0, align(this.#position) - this.#position));
  }

  /** Begins to write what is in line if that is enough for a write, which waits for the one before. */
  async relieve(): Promise<void> {
    if (this.#queuedBytes >= WRITE_BYTES) await this.#submit();
  }

  /** Writes all and closes the file; its bytes survive a power cut then, its name is the caller's to sync. */
  async finish(): Promise<void> {
    await this.#submit();
    await this.#inFlight;
    await this.#handle.sync();
    this.#open = false;
    await this.#handle.close();
  }

  /** Gives up; the file is the caller's to remove. */
  async abandon(): Promise<void> {
    // What failed has been, or is being, thrown where the write was awaited.
    await this.#inFlight.catch(() => undefined);
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }

  async #submit(): Promise<void> {
    await this.#inFlight;
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#inFlight = this.#handle.write(chunks);
    // It is awaited by the next submit; until then nobody listens.
    this.#inFlight.catch(() => undefined);
  }
}
