/**
 * Writes a new file front to back. Bytes gather until they are worth a write; while one write runs, the next
 * one gathers. The caller must not change appended memory until its write has ended.
 */

import type { Disk, WriteHandle } from "../../io/disk/disk.js";
import { BUFFER_ALIGNMENT } from "./container.js";
import { align } from "./tailEncoder.js";

/** Bytes gathered before they are handed to the disk. */
const WRITE_BYTES = 1024 * 1024;

const PADDING = new Uint8Array(BUFFER_ALIGNMENT);

export class FileAppender {
  #position = 0;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  /** Callbacks for the end of the next write. */
  #queuedCalls: (() => void)[] = [];
  #inFlight: Promise<void> = Promise.resolve();
  #isWriting = false;
  #open = true;

  private constructor(private readonly handle: WriteHandle) {}

  /** Creates the file, whose name must be free. */
  static async create(disk: Disk, path: string): Promise<FileAppender> {
    return new FileAppender(await disk.create(path));
  }

  /** File position of the next byte appended. */
  get position(): number {
    return this.#position;
  }

  /** True if a write runs, for which the next one would wait, or has failed. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Queues bytes. The caller must call {@link relieve} every now and then. */
  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#position += bytes.length;
  }

  /** Queues zeros up to the next multiple of 64. */
  pad(): void {
    this.append(PADDING.subarray(0, align(this.#position) - this.#position));
  }

  /** Calls back once all bytes appended so far are written; never after a failure. */
  whenWritten(call: () => void): void {
    if (this.handle.takesChunksAtOnce !== true) return;
    if (this.#queuedBytes > 0) this.#queuedCalls.push(call);
    else this.#inFlight.then(call, () => undefined);
  }

  /** Starts to write the queued bytes if they are enough for a write, once the previous write has ended. */
  async relieve(): Promise<void> {
    if (this.#queuedBytes >= WRITE_BYTES) await this.#submit();
  }

  /** Writes the rest and closes the file. Its bytes survive a power cut; the caller must sync its name. */
  async finish(): Promise<void> {
    await this.#submit();
    await this.#inFlight;
    await this.handle.sync();
    this.#open = false;
    await this.handle.close();
  }

  /** Gives up. The caller must remove the file. */
  async abandon(): Promise<void> {
    // The awaited write has thrown, or is throwing, the failure.
    await this.#inFlight.catch(() => undefined);
    if (!this.#open) return;
    this.#open = false;
    if (this.handle.discard !== undefined) await this.handle.discard();
    else await this.handle.close();
  }

  async #submit(): Promise<void> {
    await this.#inFlight;
    const chunks = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    const calls = this.#queuedCalls;
    this.#queuedCalls = [];
    this.#isWriting = true;
    this.#inFlight = this.handle.write(chunks).then(() => {
      this.#isWriting = false;
      for (const call of calls) call();
    });
    // The next submit awaits the failure; until then nobody listens.
    this.#inFlight.catch(() => undefined);
  }
}
