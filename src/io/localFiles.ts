/**
 * Reads and writes files of the host by path. Unlike a disk of tables (io/disk), it follows symbolic links
 * and takes pipes and devices.
 */

import fs from "node:fs/promises";
import path from "node:path";
import { codeOf } from "./disk/errno.js";
import { temporaryName } from "./names/temporaryNames.js";

/** A file that is read at any position. */
export interface LocalFile {
  /** Length in bytes; null for a pipe or device, which has none. */
  readonly size: number | null;
  /**
   * Returns `length` bytes; fewer at the end of the file.
   * @param byteOffset null: after the bytes of the call before
   */
  read(byteOffset: number | null, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens a file.
 * @throws the error of the platform
 */
export async function openLocalFile(filePath: string): Promise<LocalFile> {
  const handle = await fs.open(filePath, "r");
  const read = async (byteOffset: number | null, length: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const position = byteOffset === null ? null : byteOffset + filled;
      const { bytesRead } = await handle.read(bytes, filled, length - filled, position);
      filled += bytesRead;
      // A pipe gives what it has.
      if (bytesRead === 0 || byteOffset === null) break;
    }
    return bytes.subarray(0, filled);
  };
  try {
    const stat = await handle.stat();
    // Reading a directory fails with EISDIR on some platforms only.
    if (stat.isDirectory()) throw Object.assign(new Error("it is a directory"), { code: "EISDIR" });
    return { size: stat.isFile() ? stat.size : null, read, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A file that is written from front to back, and that appears under its name only once it is complete. */
export interface LocalFileWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Syncs the file and gives it its name, in place of an older file of that name. */
  publish(): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

/**
 * Starts to write a file. A pipe or device is written directly.
 * @throws the error of the platform
 */
export async function createLocalFile(filePath: string): Promise<LocalFileWriter> {
  const existing = await statOf(filePath);
  const isSpecial = existing !== null && !existing.isFile();
  // The target of a symbolic link is replaced, not the link.
  const target = existing === null || isSpecial ? filePath : await fs.realpath(filePath);
  const temporaryPath = isSpecial ? filePath : path.join(path.dirname(target), temporaryName());
  const handle = await fs.open(temporaryPath, isSpecial ? "w" : "wx", existing?.mode);
  const discard = async (): Promise<void> => {
    await handle.close();
    if (!isSpecial) await fs.rm(temporaryPath, { force: true });
  };
  return {
    async write(bytes) {
      for (let written = 0; written < bytes.byteLength; ) {
        written += (await handle.write(bytes, written, bytes.byteLength - written)).bytesWritten;
      }
    },
    async publish() {
      if (isSpecial) return handle.close();
      try {
        await handle.sync();
        await handle.close();
        await fs.rename(temporaryPath, target);
      } catch (error) {
        await discard().catch(() => undefined);
        throw error;
      }
      await syncDirectory(path.dirname(target));
    },
    discard,
  };
}

async function statOf(filePath: string) {
  try {
    return await fs.stat(filePath);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** Makes names durable. Some platforms cannot sync a directory; there, names are durable without it. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await fs.open(directory, "r").catch(() => null);
  if (handle === null) return;
  try {
    await handle.sync();
  } catch {
    // The file is complete and has its name.
  } finally {
    await handle.close();
  }
}
