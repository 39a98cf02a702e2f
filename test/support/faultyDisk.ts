/**
 * A disk on which one call fails, by its number from 0. The calls of open handles count.
 *
 * - "before": nothing happens.  "after": it happens, and is reported as failed.
 * - "short": a write leaves the first half of its bytes; any other call fails as in "before".
 *
 * With `dead` every later call fails too, as after the death of the process. With a root, `loseUnsynced()`
 * restores what a power cut leaves, see durableImage.ts.
 */

import type { Disk, ReadHandle, WriteHandle } from "../../src/io/disk/disk.js";
import { DurableImage } from "./durableImage.js";
import { type Verb, withMembers, wrapCalls } from "./wrappedDisk.js";

export type FaultMode = "before" | "after" | "short";

export class InjectedFault extends Error {
  readonly code = "EIO";
  constructor(verb: Verb, path: string, callIndex: number) {
    super(`EIO: injected fault at call ${callIndex}, ${verb} '${path}'`);
    this.name = "InjectedFault";
  }
}

export interface FaultyDiskOptions {
  /** Tracks what is durable below this directory. All changes there must use this disk. */
  readonly root?: string;
}

type Effect = () => Promise<unknown>;

class Faults {
  /** Calls so far. */
  calls = 0;
  /** Calls, e.g. "write /a/b"; the failed one too. */
  readonly log: string[] = [];
  /** True if the fault has happened. */
  tripped = false;
  readonly #image: DurableImage | null;
  readonly #open = new Set<{ close(): Promise<void> }>();
  #failAt = -1;
  #mode: FaultMode = "before";
  #dead = false;

  constructor({ root }: FaultyDiskOptions) {
    this.#image = root === undefined ? null : new DurableImage(root);
  }

  /** Makes one call fail, counted from 0 since construction or the last `heal`. */
  failAt(callIndex: number, mode: FaultMode = "before", options: { readonly dead?: boolean } = {}): void {
    this.#failAt = callIndex;
    this.#mode = mode;
    this.#dead = options.dead ?? false;
  }

  /** Ends all faults; numbers start at 0 again. */
  heal(): void {
    this.#failAt = -1;
    this.calls = 0;
    this.log.length = 0;
    this.tripped = false;
  }

  /** The process starts anew, on a machine that went on: closes open handles, and heals. */
  async restart(): Promise<void> {
    for (const handle of this.#open) await handle.close();
    this.#open.clear();
    this.heal();
  }

  /** Simulates a power cut: unsynced bytes are lost, and unsynced names too unless `survives` is true. */
  async loseUnsynced(survives: (path: string) => boolean = () => false): Promise<void> {
    if (this.#image === null) throw new Error("a faulty disk without a root keeps no account of syncs");
    await this.restart();
    this.#image.restore(survives);
  }

  /** Closes open handles and removes the account of syncs. */
  async dispose(): Promise<void> {
    await this.restart();
    this.#image?.dispose();
  }

  wrap(inner: Disk): Disk {
    return wrapCalls(inner, async (verb, operands, make) => {
      const path = String(operands[verb === "link" || verb === "rename" ? 1 : 0]);
      const effect = this.#effectOf(inner, verb as Verb, operands as string[], async () => make(...operands));
      const torn = async () => {
        const [content, bytes] = [await inner.readFile(path), operands[1] as Uint8Array];
        content?.set(bytes.subarray(0, bytes.length >>> 1));
        return content !== null && this.#overwrite(path, () => make(path, content) as Promise<boolean>);
      };
      const answer = await this.#call(verb as Verb, path, effect, verb === "overwrite" ? torn : undefined);
      const isHandle = answer !== null && (verb === "open" || verb === "create");
      return isHandle ? this.#wrapHandle(path, answer as ReadHandle | WriteHandle) : answer;
    });
  }

  /** Returns a call of the inner disk that tells the account of syncs. */
  #effectOf(inner: Disk, verb: Verb, [path, toPath]: readonly string[], make: Effect): Effect {
    const image = this.#image;
    const track = async () => {
      const handle = (await make()) as ReadHandle | WriteHandle | null;
      if (handle !== null) this.#open.add(handle);
      if (verb === "create") image?.created(path);
      return handle;
    };
    if (verb === "open" || verb === "create") return track;
    if (image === null) return make;
    const then = (tell: (answer: unknown) => void) => async () => {
      const answer = await make();
      tell(answer);
      return answer;
    };
    switch (verb) {
      case "overwrite":
        return () => this.#overwrite(path, make as () => Promise<boolean>);
      case "link":
        return then(() => image.linked(path, toPath));
      case "rename":
        return then(() => image.renamed(path, toPath));
      case "remove":
      case "removeTree":
        return async () => {
          const isPresent = (await inner.stat(path)) !== null;
          await make();
          if (isPresent) image.removed(path);
        };
      case "removeEmptyDirectory":
        return then((isRemoved) => isRemoved && image.removed(path));
      case "makeDirectory": {
        // Reported as failed, the directories are there, and nothing says that they will stay.
        const isDurable = !(this.calls === this.#failAt && this.#mode === "after");
        return then(() => image.directoryMade(path, isDurable));
      }
      case "syncFile":
        return then(() => image.fileSynced(path));
      case "syncDirectory":
        return then(() => image.directorySynced(path));
      default:
        return make;
    }
  }

  /** "short" leaves the first half of the new bytes and the second of the old. */
  async #overwrite(path: string, make: () => Promise<boolean>): Promise<boolean> {
    const isDone = await (this.#image?.withoutStoredName(path, make) ?? make());
    if (isDone) this.#image?.overwritten(path);
    return isDone;
  }

  #wrapHandle(path: string, handle: ReadHandle | WriteHandle): object {
    const wrapped = wrapCalls(handle, (verb, operands, make) => {
      if (verb === "takeTail") return make();
      const effect = async () => {
        if (verb === "close") this.#open.delete(handle);
        const answer = await make(...operands);
        if (verb === "sync") this.#image?.fileSynced(path);
        return answer;
      };
      const writeHalf = async () => make(firstHalf(operands[0] as Uint8Array[]));
      return this.#call(verb as Verb, path, effect, verb === "write" ? writeHalf : undefined);
    });
    return withMembers(wrapped, { readInto: undefined, takesChunksAtOnce: undefined });
  }

  async #call(verb: Verb, path: string, effect: Effect, shortEffect?: Effect): Promise<unknown> {
    const callIndex = this.calls++;
    this.log.push(`${verb} ${path}`);
    const fault = new InjectedFault(verb, path, callIndex);
    if (this.tripped && this.#dead) throw fault;
    if (callIndex !== this.#failAt) return effect();
    this.tripped = true;
    if (this.#mode === "after") await effect();
    if (this.#mode === "short" && shortEffect !== undefined) await shortEffect();
    throw fault;
  }
}

export type FaultyDisk = Disk & Required<Pick<Disk, "overwrite">> & Faults;

export function faultyDisk(inner: Disk, options: FaultyDiskOptions = {}): FaultyDisk {
  const faults = new Faults(options);
  // Looks for links have no number: how many there are depends on the time.
  return withMembers(withMembers(faults.wrap(inner), { isLink: undefined }), faults) as FaultyDisk;
}

function firstHalf(chunks: readonly Uint8Array[]): Uint8Array[] {
  let left = 0;
  for (const chunk of chunks) left += chunk.length;
  left >>>= 1;
  const half: Uint8Array[] = [];
  for (const chunk of chunks) {
    half.push(chunk.subarray(0, Math.min(left, chunk.length)));
    left -= half[half.length - 1].length;
  }
  return half;
}
