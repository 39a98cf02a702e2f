/** A disk whose calls are counted as requests to a store: get, put, head, list, delete, copy and rename. */

import type { Disk, ReadHandle, WriteHandle } from "../../io/disk/disk.js";
import { recorded } from "./recorder.js";

const byteLengthOf = (bytes: Uint8Array | null): number => bytes?.byteLength ?? 0;

const totalLength = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0);

/** Returns a disk that counts the calls of another one. */
export function meteredDisk(disk: Disk): Disk {
  return {
    ...(disk.hasLinks !== undefined && { hasLinks: disk.hasLinks }),
    ...(disk.locks !== undefined && { locks: disk.locks }),
    ...(disk.scratch !== undefined && { scratch: disk.scratch }),
    ...(disk.isPrivate !== undefined && { isPrivate: disk.isPrivate }),
    ...(disk.isReadOnly !== undefined && { isReadOnly: disk.isReadOnly }),
    ...(disk.hasDirectories !== undefined && { hasDirectories: disk.hasDirectories }),
    ...(disk.hasRename !== undefined && { hasRename: disk.hasRename }),
    ...(disk.putIfAbsent !== undefined && {
      putIfAbsent: (path, chunks) =>
        recorded(
          "put",
          async () => (await disk.putIfAbsent?.(path, chunks)) ?? false,
          () => totalLength(chunks),
        ),
    }),
    ...(disk.replaceIf !== undefined && {
      replaceIf: (path, chunks, identity) =>
        recorded(
          "put",
          async () => (await disk.replaceIf?.(path, chunks, identity)) ?? null,
          () => totalLength(chunks),
        ),
    }),
    readFile: (path, maxBytes) => recorded("get", () => disk.readFile(path, maxBytes), byteLengthOf),
    async open(path, tailBytes, allocate) {
      const handle = await recorded("head", () => disk.open(path, tailBytes, allocate));
      return handle === null ? null : meteredReads(handle);
    },
    create: async (path, access) => meteredWrites(await recorded("put", () => disk.create(path, access))),
    ...(disk.overwrite !== undefined && {
      overwrite: (path, bytes) =>
        recorded(
          "put",
          async () => (await disk.overwrite?.(path, bytes)) === true,
          () => bytes.byteLength,
        ),
    }),
    link: (existingPath, newPath) => recorded("copy", () => disk.link(existingPath, newPath)),
    rename: (fromPath, toPath) => recorded("rename", () => disk.rename(fromPath, toPath)),
    remove: (path, byteLength) => recorded("delete", () => disk.remove(path, byteLength)),
    removeTree: (path) => recorded("delete", () => disk.removeTree(path)),
    removeEmptyDirectory: (path) => disk.removeEmptyDirectory(path),
    makeDirectory: (path, within) => disk.makeDirectory(path, within),
    list: (path) => recorded("list", () => disk.list(path)),
    ...(disk.watchDirectory !== undefined && {
      watchDirectory: (path, onChange) => disk.watchDirectory?.(path, onChange) ?? null,
    }),
    stat: (path) => recorded("head", () => disk.stat(path)),
    realPath: (path) => disk.realPath(path),
    ...(disk.isLink !== undefined && { isLink: async (path) => (await disk.isLink?.(path)) === true }),
    ...(disk.uriOf !== undefined && { uriOf: (path) => disk.uriOf?.(path) ?? path }),
    ...(disk.pathOf !== undefined && { pathOf: (uri) => disk.pathOf?.(uri) ?? null }),
    syncFile: (path) => disk.syncFile(path),
    syncDirectory: (path) => disk.syncDirectory(path),
  };
}

function meteredReads(handle: ReadHandle): ReadHandle {
  const { path, size, identity } = handle;
  return {
    ...{ path, size, identity },
    ...(handle.takeTail !== undefined && { takeTail: () => handle.takeTail?.() ?? null }),
    read: (byteOffset, length, memory) =>
      recorded(
        "get",
        () => handle.read(byteOffset, length, memory),
        () => length,
      ),
    close: () => handle.close(),
  };
}

function meteredWrites(handle: WriteHandle): WriteHandle {
  return {
    write: (chunks) =>
      recorded(
        "put",
        () => handle.write(chunks),
        () => totalLength(chunks),
      ),
    sync: () => handle.sync(),
    close: () => handle.close(),
    ...(handle.discard !== undefined && { discard: async () => handle.discard?.() }),
  };
}
