/**
 * A disk that stands still when told to. Every call of every verb, those of open handles included, has a number, counted
 * from 0; the caller of one number is kept waiting before the call's effect or after it, until it is released. Nothing
 * else is held up, so that others can act on the same directory in between: what they find is what they would find of a
 * process that was suspended there.
 */

import type { Disk, ReadHandle, WriteHandle } from "../../src/io/disk/disk.js";
import type { Verb } from "./countingDisk.js";

export type PauseMoment = "before" | "after";

export class PausingDisk {
  /** What the engine under test is given. */
  readonly disk: Disk;
  /** What was called, e.g. "write /a/b", by number; the call that was stopped too. */
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
    this.disk = this.#wrapDisk(inner);
  }

  /** Calls since construction, or since the last `stopAt`. */
  get calls(): number {
    return this.log.length;
  }

  /** Lets the call of this number wait; numbers start at 0 again. */
  stopAt(callIndex: number, moment: PauseMoment): void {
    this.log.length = 0;
    this.#stopAt = callIndex;
    this.#moment = moment;
  }

  /** Lets it go on; no call waits from here on. */
  release(): void {
    this.#stopAt = -1;
    this.#release();
  }

  #wrapDisk(inner: Disk): Disk {
    return new Proxy(inner, {
      get: (target, member) => {
        const verb = Reflect.get(target, member);
        if (typeof verb !== "function") return verb;
        return (...operands: unknown[]) => {
          const path = String(member === "link" || member === "rename" ? operands[1] : operands[0]);
          return this.#call(member as Verb, path, async () => {
            const answer: unknown = await Reflect.apply(verb, target, operands);
            if (member === "open") return answer && this.#wrapReadHandle(path, answer as ReadHandle);
            if (member === "create") return this.#wrapWriteHandle(path, answer as WriteHandle);
            return answer;
          });
        };
      },
    });
  }

  #wrapReadHandle(path: string, handle: ReadHandle): ReadHandle {
    return {
      path: handle.path,
      size: handle.size,
      identity: handle.identity,
      takeTail: () => handle.takeTail?.() ?? null,
      read: (byteOffset, length, memory) =>
        this.#call("read", path, () => handle.read(byteOffset, length, memory)),
      close: () => this.#call("close", path, () => handle.close()),
    };
  }

  #wrapWriteHandle(path: string, handle: WriteHandle): WriteHandle {
    return {
      write: (chunks) => this.#call("write", path, () => handle.write(chunks)),
      sync: () => this.#call("sync", path, () => handle.sync()),
      close: () => this.#call("close", path, () => handle.close()),
    };
  }

  async #call<T>(verb: Verb, path: string, effect: () => Promise<T>): Promise<T> {
    const isStop = this.log.length === this.#stopAt;
    this.log.push(`${verb} ${path}`);
    if (!isStop) return effect();
    if (this.#moment === "before") {
      await this.#standStill();
      return effect();
    }
    try {
      return await effect();
    } finally {
      await this.#standStill();
    }
  }

  #standStill(): Promise<void> {
    this.#stop();
    return this.#released;
  }
}
