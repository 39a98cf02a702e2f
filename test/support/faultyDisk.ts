/**
 * A disk that fails when told to. Every call of every verb, those of open handles included, has a number,
 * counted from 0; one number can be made to fail, in one of these ways:
 *
 * - "before": nothing happened.  "after": it happened, and was reported as failed all the same.
 * - "short": a write leaves the first half of its bytes; any other call is as in "before".
 *
 * With `dead` every later call fails too, before its effect: the process is gone, it cleans nothing up.
 *
 * Given a root, the disk also knows what a power cut would leave of it: `loseUnsynced()` forgets open
 * handles and restores that, see durableImage.ts. The same calls always give the same outcome.
 */
import type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  FileStat,
  ReadHandle,
  WriteHandle,
} from "../../src/io/disk/disk.js";
import type { Verb } from "./countingDisk.js";
import { DurableImage } from "./durableImage.js";

export type FaultMode = "before" | "after" | "short";

/** What a failed call rejects with. */
export class InjectedFault extends Error {
  readonly code = "EIO";
  constructor(verb: Verb, path: string, callIndex: number) {
    super(`EIO: injected fault at call ${callIndex}, ${verb} '${path}'`);
    this.name = "InjectedFault";
  }
}

export interface FaultyDiskOptions {
  /** Keep account of what is durable below this directory. All changes there must come through this disk. */
  readonly root?: string;
  /**
   * Whether what the inner disk's `makeDirectory` made is durable when it returns, as the contract of `Disk`
   * has it with durability "fsync". Default true.
   */
  readonly durableDirectories?: boolean;
}

export class FaultyDisk implements Disk {
  /** Calls so far. */
  calls = 0;
  /** What was called, e.g. "write /a/b"; the failed call too. */
  readonly log: string[] = [];
  /** Whether the fault has happened. */
  tripped = false;
  readonly #inner: Disk;
  readonly #image: DurableImage | null;
  readonly #durableDirectories: boolean;
  readonly #open = new Set<{ close(): Promise<void> }>();
  #failAt = -1;
  #mode: FaultMode = "before";
  #dead = false;

  constructor(inner: Disk, options: FaultyDiskOptions = {}) {
    this.#inner = inner;
    this.#image = options.root === undefined ? null : new DurableImage(options.root);
    this.#durableDirectories = options.durableDirectories ?? true;
  }

  /** Makes the call with this number fail, counted from 0 since construction or the last `heal`. */
  failAt(callIndex: number, mode: FaultMode = "before", options: { readonly dead?: boolean } = {}): void {
    this.#failAt = callIndex;
    this.#mode = mode;
    this.#dead = options.dead ?? false;
  }

  /** Nothing fails any more; numbers start at 0 again. */
  heal(): void {
    this.#failAt = -1;
    this.calls = 0;
    this.log.length = 0;
    this.tripped = false;
  }

  /** The process is gone and starts anew, the machine went on: closes what was left open, and heals. */
  async restart(): Promise<void> {
    for (const handle of this.#open) await handle.close();
    this.#open.clear();
    this.heal();
  }

  /**
   * Power was cut: restarts with what was synced. Changes of names that were not synced are undone, except
   * those of paths for which `survives` answers true; bytes that were not synced are gone in any case.
   */
  async loseUnsynced(survives: (path: string) => boolean = () => false): Promise<void> {
    if (this.#image === null) throw new Error("a FaultyDisk without a root keeps no account of syncs");
    await this.restart();
    this.#image.restore(survives);
  }

  /** Closes what is open and removes what the account of syncs kept. */
  async dispose(): Promise<void> {
    await this.restart();
    this.#image?.dispose();
  }

  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    return this.#call("readFile", path, () => this.#inner.readFile(path, maxBytes));
  }

  async open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null> {
    const handle = await this.#call("open", path, async () => {
      const opened = await this.#inner.open(path, tailBytes, allocate);
      if (opened !== null) this.#open.add(opened);
      return opened;
    });
    return (
      handle && {
        path: handle.path,
        size: handle.size,
        identity: handle.identity,
        takeTail: () => handle.takeTail?.() ?? null,
        read: (byteOffset, length, memory) =>
          this.#call("read", path, () => handle.read(byteOffset, length, memory)),
        close: () => this.#close(path, handle),
      }
    );
  }

  async create(path: string): Promise<WriteHandle> {
    const handle = await this.#call("create", path, async () => {
      const created = await this.#inner.create(path);
      this.#open.add(created);
      this.#image?.created(path);
      return created;
    });
    return {
      write: (chunks) =>
        this.#call(
          "write",
          path,
          () => handle.write(chunks),
          () => handle.write(firstHalf(chunks)),
        ),
      sync: () =>
        this.#call("sync", path, async () => {
          await handle.sync();
          this.#image?.fileSynced(path);
        }),
      close: () => this.#close(path, handle),
    };
  }

  /** "short" leaves the first half of the new bytes and the second of the old. */
  overwrite(path: string, bytes: Uint8Array): Promise<boolean> {
    const overwriteWith = async (content: Uint8Array) => {
      const overwrite = async () => (await this.#inner.overwrite?.(path, content)) ?? false;
      const done = await (this.#image?.withoutStoredName(path, overwrite) ?? overwrite());
      if (done) this.#image?.overwritten(path);
      return done;
    };
    const torn = async () => {
      const content = await this.#inner.readFile(path);
      content?.set(bytes.subarray(0, bytes.length >>> 1));
      return content !== null && overwriteWith(content);
    };
    return this.#call("overwrite", path, () => overwriteWith(bytes), torn);
  }

  link(existingPath: string, newPath: string): Promise<void> {
    return this.#call("link", newPath, async () => {
      await this.#inner.link(existingPath, newPath);
      this.#image?.linked(existingPath, newPath);
    });
  }

  rename(fromPath: string, toPath: string): Promise<void> {
    return this.#call("rename", toPath, async () => {
      await this.#inner.rename(fromPath, toPath);
      this.#image?.renamed(fromPath, toPath);
    });
  }

  remove(path: string): Promise<void> {
    return this.#call("remove", path, async () => {
      const present = this.#image !== null && (await this.#inner.stat(path)) !== null;
      await this.#inner.remove(path);
      if (present) this.#image?.removed(path);
    });
  }

  removeTree(path: string): Promise<void> {
    return this.#call("removeTree", path, async () => {
      const present = this.#image !== null && (await this.#inner.stat(path)) !== null;
      await this.#inner.removeTree(path);
      if (present) this.#image?.removed(path);
    });
  }

  removeEmptyDirectory(path: string): Promise<boolean> {
    return this.#call("removeEmptyDirectory", path, async () => {
      const removed = await this.#inner.removeEmptyDirectory(path);
      if (removed) this.#image?.removed(path);
      return removed;
    });
  }

  makeDirectory(path: string, within?: string): Promise<boolean> {
    // Reported as failed, the directories are there, and nothing says that they will stay.
    const durable = this.#durableDirectories && !(this.calls === this.#failAt && this.#mode === "after");
    return this.#call("makeDirectory", path, async () => {
      const made = await this.#inner.makeDirectory(path, within);
      this.#image?.directoryMade(path, durable);
      return made;
    });
  }

  list(path: string): Promise<DirectoryEntry[] | null> {
    return this.#call("list", path, () => this.#inner.list(path));
  }

  stat(path: string): Promise<FileStat | null> {
    return this.#call("stat", path, () => this.#inner.stat(path));
  }

  realPath(path: string): Promise<string | null> {
    return this.#call("realPath", path, () => this.#inner.realPath(path));
  }

  syncFile(path: string): Promise<void> {
    return this.#call("syncFile", path, async () => {
      await this.#inner.syncFile(path);
      this.#image?.fileSynced(path);
    });
  }

  syncDirectory(path: string): Promise<void> {
    return this.#call("syncDirectory", path, async () => {
      await this.#inner.syncDirectory(path);
      this.#image?.directorySynced(path);
    });
  }

  #close(path: string, handle: { close(): Promise<void> }): Promise<void> {
    return this.#call("close", path, async () => {
      this.#open.delete(handle);
      await handle.close();
    });
  }

  async #call<T>(
    verb: Verb,
    path: string,
    effect: () => Promise<T>,
    shortEffect?: () => Promise<T>,
  ): Promise<T> {
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
