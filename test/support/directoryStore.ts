/**
 * A disk like an object store whose objects are files of the local disk, so that tests and other engines see
 * them there. It shows no directories of its own, and cannot rename, link or tell inodes.
 */

import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DiskImplementation, WriteHandle } from "tiltyard/disks";
import { codeOf } from "../../src/io/disk/errno.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";

const TEMPORARY = ".object-";
let count = 0;

export function directoryStore(): DiskImplementation {
  const disk = new NodeDisk({ durability: "none" });
  const turns = new Map<string, Promise<unknown>>();
  /** Runs one change of an object after the other. */
  const inTurn = <T>(path: string, change: () => Promise<T>): Promise<T> => {
    const turn = (turns.get(path) ?? Promise.resolve()).then(change, change);
    turns.set(path, turn);
    return turn;
  };
  /** Writes a file beside the object, and gives it the object's name. */
  const write = async (
    path: string,
    chunks: readonly Uint8Array[],
    name: (temporary: string) => Promise<void>,
  ): Promise<void> => {
    for (;;) {
      const temporary = join(dirname(path), `${TEMPORARY}${process.pid}-${count++}`);
      try {
        await disk.makeDirectory(dirname(path));
        const handle = await disk.create(temporary);
        await handle.write(chunks);
        await handle.close();
        return await name(temporary);
      } catch (error) {
        // Another call has removed the empty directory.
        if (codeOf(error) !== "ENOENT") throw error;
      } finally {
        await rm(temporary, { force: true });
      }
    }
  };
  const identityOf = async (path: string): Promise<string | null> =>
    (await disk.stat(path))?.identity ?? null;
  const replace = async (path: string, chunks: readonly Uint8Array[]): Promise<string> => {
    await write(path, chunks, (temporary) => disk.rename(temporary, path));
    return (await identityOf(path)) ?? "";
  };
  return {
    open: (path, tailBytes, allocate) => disk.open(path, tailBytes, allocate),
    async stat(path) {
      const stat = await disk.stat(path);
      if (stat?.kind !== "file")
        return (await this.list(path)) === null ? null : { kind: "directory", size: 0 };
      const { kind, size, modifiedNs, identity } = stat;
      return { kind, size, modifiedNs, identity };
    },
    async list(path) {
      const entries = [];
      for (const entry of (await disk.list(path)) ?? []) {
        if (entry.name.startsWith(TEMPORARY)) continue;
        if (entry.kind !== "directory" || (await this.list(join(path, entry.name))) !== null)
          entries.push(entry);
      }
      return entries.length === 0 ? null : entries;
    },
    async create(path): Promise<WriteHandle> {
      const written: Uint8Array[] = [];
      return {
        takesChunksAtOnce: true,
        write: async (chunks) => void written.push(...chunks.map((chunk) => chunk.slice())),
        sync: async () => undefined,
        close: async () => void (await inTurn(path, () => replace(path, written))),
      };
    },
    putIfAbsent: (path, chunks) =>
      inTurn(path, async () => {
        try {
          await write(path, chunks, (temporary) => disk.link(temporary, path));
          return true;
        } catch (error) {
          if (codeOf(error) === "EEXIST") return false;
          throw error;
        }
      }),
    replaceIf: (path, chunks, identity) =>
      inTurn(path, async () => {
        if (identity !== null && (await identityOf(path)) !== identity) return null;
        return replace(path, chunks);
      }),
    remove: (path) =>
      inTurn(path, async () => {
        await disk.remove(path);
        for (let parent = dirname(path); ; parent = dirname(parent)) {
          try {
            await rmdir(parent);
          } catch {
            return; // It holds something, or another call removed it.
          }
        }
      }),
  };
}
