/** Writes files of the private file system by the worker of the page. */

import type { FileTimes, FileWriter } from "./fileWriter.js";
import { STREAMS } from "./streamWriter.js";
import { startWriter } from "./writerWorker.js";

/** Writes by a worker, or by streams where none can start. */
export class OwnedWriter implements FileWriter {
  readonly #base: readonly string[];
  #worker: Promise<FileWriter & { end(): void }> | null = null;
  #hasWorkers = true;

  constructor(base: readonly string[]) {
    this.#base = base;
  }

  create(...parameters: Parameters<FileWriter["create"]>): Promise<boolean> {
    return this.#write((writer) => writer.create(...parameters));
  }

  put(...parameters: Parameters<FileWriter["put"]>): Promise<FileTimes | null> {
    return this.#write((writer) => writer.put(...parameters));
  }

  /** Calls the writer at once when it has started: a worker that has ended never answers. */
  async #write<T>(write: (writer: FileWriter) => Promise<T>): Promise<T> {
    while (this.#hasWorkers) {
      const worker = (this.#worker ??= startWriter(this.#base));
      let started: FileWriter;
      try {
        started = await worker;
      } catch {
        // A policy of the page forbids such workers, or the browser has no access handles.
        this.#hasWorkers = false;
        break;
      }
      // `close` may have ended the worker while it started.
      if (this.#worker === worker) return write(started);
    }
    return write(STREAMS);
  }

  close(): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.then((started) => started.end()).catch(() => undefined);
  }
}
