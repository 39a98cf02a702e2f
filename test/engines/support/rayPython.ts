/** Python with a Ray cluster; its module's functions `start` and `stop` begin and end it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Python } from "./python.js";

export class RayPython implements AsyncDisposable {
  readonly #python: Python;
  readonly #directory: string;

  private constructor(python: Python, directory: string) {
    this.#python = python;
    this.#directory = directory;
  }

  static async start(environment: string, module: string): Promise<RayPython> {
    // Sockets of the cluster lie in it, whose paths have about a hundred characters at most.
    const directory = await mkdtemp(join(tmpdir(), "ray-"));
    const started = new RayPython(await Python.start(environment, module), directory);
    try {
      await started.call("start", directory);
      return started;
    } catch (error) {
      await started.#end();
      throw error;
    }
  }

  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.#python.call<Result>(name, ...args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.call("stop");
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    await this.#python[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
