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

  async create(...parameters: Parameters<FileWriter["create"]>): Promise<boolean> {
    const writer = await this.#start();
    return writer.create(...parameters);
  }

  async put(...parameters: Parameters<FileWriter["put"]>): Promise<FileTimes | null> {
    const writer = await this.#start();
    return writer.put(...parameters);
  }

  async #start(): Promise<FileWriter> {
    if (!this.#hasWorkers) return STREAMS;
    this.#worker ??= startWriter(this.#base);
    try {
      return await this.#worker;
    } catch {
      // A policy of the page forbids such workers, or the browser has no access handles.
      this.#hasWorkers = false;
      return STREAMS;
    }
  }

  close(): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.then((started) => started.end()).catch(() => undefined);
  }
}
