/**
 * A disk on which the caller of one call waits before or after its effect. Calls are numbered from 0, those
 * of open handles included. Other calls continue.
 */

import type { Disk } from "../../src/io/disk/disk.js";
import { type DiskCall, wrapDisk } from "./wrappedDisk.js";

export type PauseMoment = "before" | "after";

export class PausingDisk {
  /** The disk for the engine under test. */
  readonly disk: Disk;
  /** Calls since the last `stopAt`, e.g. "write /a/b"; the stopped call too. */
  readonly log: string[] = [];
  /** Resolves when the call is reached, or never. */
  readonly stopped: Promise<void>;
  readonly #released: Promise<void>;
  #stop: () => void = () => undefined;
  #release: () => void = () => undefined;
  #stopAt = -1;
  #moment: PauseMoment = "before";

  constructor(inner: Disk) {
    this.stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
    this.disk = wrapDisk(inner, (call) => this.#call(call));
  }

  get calls(): number {
    return this.log.length;
  }

  /** Lets the call of this number wait; numbers start at 0 again. */
  stopAt(callIndex: number, moment: PauseMoment): void {
    this.log.length = 0;
    this.#stopAt = callIndex;
    this.#moment = moment;
  }

  /** Lets the stopped call continue; no later call waits. */
  release(): void {
    this.#stopAt = -1;
    this.#release();
  }

  async #call({ verb, path, make }: DiskCall): Promise<unknown> {
    const isStop = this.log.length === this.#stopAt;
    this.log.push(`${verb} ${path}`);
    if (isStop && this.#moment === "before") await this.#standStill();
    try {
      return await make();
    } finally {
      if (isStop && this.#moment === "after") await this.#standStill();
    }
  }

  #standStill(): Promise<void> {
    this.#stop();
    return this.#released;
  }
}
