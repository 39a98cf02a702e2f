/**
 * A disk that counts what is asked of another: calls per verb, bytes, and every read. Looks for links are not counted:
 * how many there are depends on the time that has passed since the last ones.
 */
import type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  FileStat,
  ReadHandle,
  WriteHandle,
} from "../../src/io/disk/disk.js";

/** Verbs of `Disk`, and those of its handles. */
export type Verb = keyof Disk | "read" | "close" | "write" | "sync";

export class CountingDisk implements Disk {
  readonly #inner: Disk;
  #counts = new Map<Verb, number>();
  bytesRead = 0;
  bytesWritten = 0;
  /** In the order they were asked; `readFile` is one read from 0, and what comes along with an opening is one too. */
  reads: { path: string; byteOffset: number; length: number }[] = [];

  constructor(inner: Disk) {
    this.#inner = inner;
  }

  /** Calls of one verb since the last reset. */
  count(verb: Verb): number {
    return this.#counts.get(verb) ?? 0;
  }

  /** Calls of each verb since the last reset, without those that were not called. */
  get counts(): Partial<Record<Verb, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Calls of all verbs since the last reset. */
  get total(): number {
    let total = 0;
    for (const count of this.#counts.values()) total += count;
    return total;
  }

  reset(): void {
    this.#counts = new Map();
    this.bytesRead = 0;
    this.bytesWritten = 0;
    this.reads = [];
  }

  async readFile(path: string, maxBytes?: number): Promise<Uint8Array | null> {
    this.#note("readFile");
    const bytes = await this.#inner.readFile(path, maxBytes);
    if (bytes !== null) this.#noteRead(path, 0, bytes.length);
    return bytes;
  }

  async open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null> {
    this.#note("open");
    const handle = await this.#inner.open(path, tailBytes, allocate);
    return (
      handle && {
        path: handle.path,
        size: handle.size,
        identity: handle.identity,
        takeTail: () => {
          const tail = handle.takeTail?.() ?? null;
          if (tail !== null) this.#noteRead(path, handle.size - tail.length, tail.length);
          return tail;
        },
        read: (byteOffset, length, memory) => {
          this.#note("read");
          this.#noteRead(path, byteOffset, length);
          return handle.read(byteOffset, length, memory);
        },
        close: () => {
          this.#note("close");
          return handle.close();
        },
      }
    );
  }

  async create(path: string): Promise<WriteHandle> {
    this.#note("create");
    const handle = await this.#inner.create(path);
    return {
      write: (chunks) => {
        this.#note("write");
        for (const chunk of chunks) this.bytesWritten += chunk.length;
        return handle.write(chunks);
      },
      sync: () => {
        this.#note("sync");
        return handle.sync();
      },
      close: () => {
        this.#note("close");
        return handle.close();
      },
    };
  }

  async overwrite(path: string, bytes: Uint8Array): Promise<boolean> {
    this.#note("overwrite");
    const done = (await this.#inner.overwrite?.(path, bytes)) ?? false;
    if (done) this.bytesWritten += bytes.length;
    return done;
  }

  link(existingPath: string, newPath: string): Promise<void> {
    this.#note("link");
    return this.#inner.link(existingPath, newPath);
  }

  rename(fromPath: string, toPath: string): Promise<void> {
    this.#note("rename");
    return this.#inner.rename(fromPath, toPath);
  }

  remove(path: string): Promise<void> {
    this.#note("remove");
    return this.#inner.remove(path);
  }

  removeTree(path: string): Promise<void> {
    this.#note("removeTree");
    return this.#inner.removeTree(path);
  }

  removeEmptyDirectory(path: string): Promise<boolean> {
    this.#note("removeEmptyDirectory");
    return this.#inner.removeEmptyDirectory(path);
  }

  makeDirectory(path: string, within?: string): Promise<boolean> {
    this.#note("makeDirectory");
    return this.#inner.makeDirectory(path, within);
  }

  list(path: string): Promise<DirectoryEntry[] | null> {
    this.#note("list");
    return this.#inner.list(path);
  }

  stat(path: string): Promise<FileStat | null> {
    this.#note("stat");
    return this.#inner.stat(path);
  }

  realPath(path: string): Promise<string | null> {
    this.#note("realPath");
    return this.#inner.realPath(path);
  }

  isLink(path: string): Promise<boolean> {
    return this.#inner.isLink?.(path) ?? Promise.resolve(true);
  }

  syncFile(path: string): Promise<void> {
    this.#note("syncFile");
    return this.#inner.syncFile(path);
  }

  syncDirectory(path: string): Promise<void> {
    this.#note("syncDirectory");
    return this.#inner.syncDirectory(path);
  }

  #note(verb: Verb): void {
    this.#counts.set(verb, this.count(verb) + 1);
  }

  #noteRead(path: string, byteOffset: number, length: number): void {
    this.bytesRead += length;
    this.reads.push({ path, byteOffset, length });
  }
}
