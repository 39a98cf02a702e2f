/** Writes files by the streams of browsers, which every thread may open. */

import { temporaryName } from "../../io/names/temporaryNames.js";
import type { FileTimes, FileWriter } from "./fileWriter.js";
import { directoryOf, nameOf } from "./handleEntries.js";
import { exclusivelyBy, lockManager } from "./webLocks.js";

/** Writes by streams. */
export const STREAMS: FileWriter = {
  async create(top, names, bytes) {
    if (await exists(top, names)) return false;
    await writeWhole(await fileHandle(top, names, true), bytes);
    return true;
  },
  put(top, names, bytes, { isNew, lockName }) {
    const put = async (): Promise<FileTimes | null> => {
      const isThere = await exists(top, names);
      if (isNew && isThere) return null;
      // A new file has its name before its bytes, so it gets another name first.
      if (isThere || !(await writeAndMove(top, names, bytes))) {
        await writeWhole(await fileHandle(top, names, true), bytes);
      }
      return (await fileHandle(top, names, false)).getFile();
    };
    return lockName === null ? put() : exclusivelyBy(lockManager())(lockName, put);
  },
};

/**
 * Returns the handle of a file.
 * @param create true: makes a missing file, which is empty, and the directories above it
 */
export async function fileHandle(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  create: boolean,
): Promise<FileSystemFileHandle> {
  const directory = await directoryOf(top, names.slice(0, -1), create);
  return directory.getFileHandle(names[names.length - 1], { create });
}

/** Writes bytes to a stream. */
export async function writeChunks(
  stream: FileSystemWritableFileStream,
  chunks: readonly Uint8Array[],
): Promise<void> {
  for (const chunk of chunks) await stream.write(chunk as Uint8Array<ArrayBuffer>);
}

async function writeWhole(handle: FileSystemFileHandle, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const stream = await handle.createWritable();
  try {
    await stream.write(bytes);
  } catch (error) {
    // The failed write tells more.
    await stream.abort().catch(() => undefined);
    throw error;
  }
  await stream.close();
}

/** A handle of a browser that can move files. */
type Movable = FileSystemFileHandle & { move?(name: string): Promise<void> };

/** Writes a file under a temporary name, and moves it; returns false if the browser cannot move files. */
async function writeAndMove(
  top: FileSystemDirectoryHandle,
  names: readonly string[],
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const parents = names.slice(0, -1);
  const temporary = temporaryName();
  const handle: Movable = await fileHandle(top, [...parents, temporary], true);
  try {
    if (handle.move === undefined) return false;
    await writeWhole(handle, bytes);
    await handle.move(names[names.length - 1]);
    return true;
  } catch (error) {
    // Some browsers move only files of the private file system.
    if (nameOf(error) === "NotAllowedError" || nameOf(error) === "AbortError") return false;
    throw error;
  } finally {
    const directory = await directoryOf(top, parents, false);
    await directory.removeEntry(temporary).catch(() => undefined);
  }
}

async function exists(top: FileSystemDirectoryHandle, names: readonly string[]): Promise<boolean> {
  try {
    await fileHandle(top, names, false);
    return true;
  } catch (error) {
    if (nameOf(error) === "TypeMismatchError") return true;
    if (nameOf(error) === "NotFoundError") return false;
    throw error;
  }
}
