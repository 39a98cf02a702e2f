/** Directories and files in memory, by their paths. All of it is synchronous. */

import { ageClockMs } from "../async/timers.js";
import type { FileStat } from "../io/disk/disk.js";
import { diskError } from "../io/disk/errno.js";
import { dirname, resolve, sep } from "../platform/native.js";
import { FileContent } from "./memoryFile.js";
import { namesOfPath } from "./paths/pathNames.js";

/** Maximum bytes of a name in UTF-8, as on most file systems. */
const MAX_NAME_BYTES = 255;

const encoder = new TextEncoder();

export interface MemoryFile {
  readonly kind: "file";
  readonly inode: number;
  readonly birthNs: bigint;
  readonly content: FileContent;
  /** Number of names. */
  links: number;
  /** True if the bytes count as used: until the file has lost its last name. */
  isCounted: boolean;
  modifiedNs: bigint;
  changedNs: bigint;
}

export interface MemoryDirectory {
  readonly kind: "directory";
  readonly inode: number;
  readonly birthNs: bigint;
  readonly entries: Map<string, MemoryNode>;
  readonly watchers: Set<() => void>;
  modifiedNs: bigint;
  changedNs: bigint;
}

export type MemoryNode = MemoryFile | MemoryDirectory;

/** A directory, and the name of an entry in it that may exist. */
interface EntryLocation {
  readonly parent: MemoryDirectory;
  readonly name: string;
}

export class MemoryTree {
  readonly #top: MemoryDirectory;
  #lastInode = 0;
  #lastNs = 0n;

  constructor() {
    this.#top = this.newDirectory();
  }

  /** Returns the current time, later than any before: equal times would mean equal bytes. */
  now(): bigint {
    const clockNs = BigInt(Math.floor(ageClockMs())) * 1_000_000n;
    this.#lastNs = clockNs > this.#lastNs ? clockNs : this.#lastNs + 1n;
    return this.#lastNs;
  }

  newFile(): MemoryFile {
    const birthNs = this.now();
    const times = { birthNs, modifiedNs: birthNs, changedNs: this.now() };
    const inode = ++this.#lastInode;
    return { kind: "file", inode, content: new FileContent(), links: 0, isCounted: true, ...times };
  }

  newDirectory(): MemoryDirectory {
    const birthNs = this.now();
    const times = { birthNs, modifiedNs: birthNs, changedNs: this.now() };
    const inode = ++this.#lastInode;
    return { kind: "directory", inode, entries: new Map(), watchers: new Set(), ...times };
  }

  /** Returns the node at a path; null if there is none. */
  find(path: string): MemoryNode | null {
    let node: MemoryNode = this.#top;
    for (const name of namesOfPath(path)) {
      const next: MemoryNode | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
      if (next === undefined) return null;
      node = next;
    }
    return node;
  }

  /** Returns the location of an entry. Fails with ENOENT or ENOTDIR unless its directory exists. */
  locate(path: string, syscall: string): EntryLocation {
    const names = namesOfPath(path);
    const name = names.pop();
    if (name === undefined) throw diskError("EBUSY", syscall, path);
    if (encoder.encode(name).length > MAX_NAME_BYTES) throw diskError("ENAMETOOLONG", syscall, path);
    let parent: MemoryNode | undefined = this.#top;
    for (const step of names) {
      parent = parent.kind === "directory" ? parent.entries.get(step) : undefined;
      if (parent === undefined) throw diskError("ENOENT", syscall, path);
    }
    if (parent.kind !== "directory") throw diskError("ENOTDIR", syscall, path);
    return { parent, name };
  }

  /** Adds an entry. The caller has checked that the name is free. */
  add({ parent, name }: EntryLocation, node: MemoryNode): void {
    parent.entries.set(name, node);
    if (node.kind === "file") node.links++;
    node.changedNs = this.now();
    this.#noteChange(parent);
  }

  /** Removes an entry. @returns the node that has lost its last name, or null */
  detach({ parent, name }: EntryLocation): MemoryNode | null {
    const node = parent.entries.get(name);
    if (node === undefined) return null;
    parent.entries.delete(name);
    node.changedNs = this.now();
    this.#noteChange(parent);
    if (node.kind === "file") return --node.links === 0 ? node : null;
    for (const notify of node.watchers) notify();
    return node;
  }

  #noteChange(directory: MemoryDirectory): void {
    directory.modifiedNs = directory.changedNs = this.now();
    for (const notify of directory.watchers) notify();
  }
}

/** Returns the stat of a node. */
export function statOf(node: MemoryNode): FileStat {
  const { kind, birthNs, modifiedNs, changedNs } = node;
  const size = kind === "file" ? node.content.byteLength : 0;
  const inode = `0:${node.inode}`;
  const identity = `${inode}:${size}:${modifiedNs}:${changedNs}`;
  const links = kind === "file" ? node.links : 1;
  return { kind, size, birthNs, modifiedNs, changedNs, inode, identity, links };
}

/** True if a path is a directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  const [inner, outer] = [resolve(path), resolve(directory)];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** Returns the directories on the way to a path, the topmost first. */
export function waysTo(path: string): string[] {
  const way: string[] = [];
  for (let each = resolve(path); ; each = dirname(each)) {
    way.unshift(each);
    if (dirname(each) === each) return way;
  }
}
