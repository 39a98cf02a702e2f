/** The worker that writes files of the private file system in place. */

import { clearTimeout, setTimeout } from "../../async/timers.js";
import type { FileWriter, WriteHow } from "./directoryHandleDisk.js";

/** A file to write, as the worker gets it. */
interface Task {
  readonly id: number;
  readonly names: readonly string[];
  readonly chunks: readonly Uint8Array[];
  /** Properties of the write; null: overwrites a file of the same length in place. */
  readonly how: WriteHow | null;
}

/** Answer of the worker: whether it wrote the file, or the name and message of an error. */
interface Answer {
  readonly id: number;
  readonly isWritten?: boolean;
  readonly name?: string;
  readonly message?: string;
}

/** Milliseconds after which a worker that has not answered counts as forbidden. */
const START_MS = 5000;

/**
 * Program of the worker. It uses nothing outside itself, because its text is the script.
 * @param scope the worker's global object
 */
function runWriter(scope: {
  onmessage: ((event: { readonly data: Task }) => void) | null;
  postMessage(answer: Answer): void;
}): void {
  const directories = new Map<string, Promise<FileSystemDirectoryHandle>>();
  const open = async (names: readonly string[]): Promise<FileSystemDirectoryHandle> => {
    const key = JSON.stringify(names);
    const opened = directories.get(key);
    if (opened !== undefined) return opened;
    const opening =
      names.length === 0
        ? navigator.storage.getDirectory()
        : open(names.slice(0, -1)).then((parent) =>
            parent.getDirectoryHandle(names[names.length - 1], { create: true }),
          );
    directories.set(key, opening);
    if (directories.size > 1000) directories.delete(directories.keys().next().value ?? "");
    return opening;
  };
  const accessTo = (handle: FileSystemFileHandle): Promise<AccessHandle> =>
    (handle as unknown as { createSyncAccessHandle(): Promise<AccessHandle> }).createSyncAccessHandle();
  const writeAll = (access: AccessHandle, chunks: readonly Uint8Array[]): void => {
    let offset = 0;
    for (const chunk of chunks) {
      for (let done = 0; done < chunk.length; ) {
        const written = access.write(chunk.subarray(done), { at: offset });
        if (written <= 0) throw new DOMException("no byte was written", "QuotaExceededError");
        done += written;
        offset += written;
      }
    }
  };
  const overwrite = async (
    directory: FileSystemDirectoryHandle,
    { names, chunks }: Task,
  ): Promise<boolean> => {
    const handle = await directory.getFileHandle(names[names.length - 1]).catch(() => null);
    if (handle === null) return false;
    // Another tab writes the file at this moment.
    const access = await accessTo(handle).catch(() => null);
    if (access === null) return false;
    try {
      const byteLength = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      if (access.getSize() !== byteLength) return false;
      writeAll(access, chunks);
      return true;
    } finally {
      access.close();
    }
  };
  const write = async (task: Task): Promise<boolean> => {
    const { names, chunks, how } = task;
    const directory = await open(names.slice(0, -1));
    const name = names[names.length - 1];
    if (how === null) return overwrite(directory, task);
    if (how.isNew) {
      const present = await directory.getFileHandle(name).catch((error: DOMException) => error.name);
      if (typeof present !== "string" || present === "TypeMismatchError") return false;
    }
    const newName = how.isAtomic ? `.tmp-${crypto.randomUUID()}` : name;
    const handle = await directory.getFileHandle(newName, { create: true });
    const access = await accessTo(handle);
    try {
      if (!how.isNew && !how.isAtomic) access.truncate(0);
      writeAll(access, chunks);
      if (how.isSynced) access.flush();
    } catch (error) {
      access.close();
      // The failed write tells more.
      await directory.removeEntry(newName).catch(() => undefined);
      throw error;
    }
    access.close();
    if (how.isAtomic) await (handle as unknown as { move(name: string): Promise<void> }).move(name);
    return true;
  };
  interface AccessHandle {
    getSize(): number;
    truncate(size: number): void;
    write(bytes: Uint8Array, options: Readonly<Record<"at", number>>): number;
    flush(): void;
    close(): void;
  }
  scope.onmessage = ({ data }) => {
    const attempt = () => write(data);
    attempt()
      .catch((error: DOMException) => {
        // Another tab may have removed a directory whose handle is kept.
        if (error.name !== "NotFoundError") throw error;
        directories.clear();
        return attempt();
      })
      .then(
        (isWritten) => scope.postMessage({ id: data.id, isWritten }),
        (error: DOMException) => scope.postMessage({ id: data.id, name: error.name, message: error.message }),
      );
  };
  const file = FileSystemFileHandle.prototype as object;
  const canWrite = "createSyncAccessHandle" in file && "move" in file;
  scope.postMessage(
    canWrite ? { id: 0 } : { id: 0, name: "NotSupportedError", message: "no access handles" },
  );
}

/**
 * Starts the worker.
 * @param base directory of the disk in the private file system
 * @throws if the page may not start it, or it cannot write
 */
export async function startWriter(base: readonly string[]): Promise<FileWriter & { end(): void }> {
  // Some bundlers name functions by a helper outside.
  const script = new Blob([`const __name = (named) => named; (${runWriter})(globalThis);`], {
    type: "text/javascript",
  });
  const url = URL.createObjectURL(script);
  const worker = new Worker(url);
  const waiting = new Map<
    number,
    { resolve: (isWritten: boolean) => void; reject: (error: unknown) => void }
  >();
  let lastId = 0;
  const failAll = (error: unknown) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const answerTo = (id: number): Promise<boolean> =>
    new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker.onmessage = ({ data: { id, isWritten, name, message } }: MessageEvent<Answer>) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (name === undefined) call?.resolve(isWritten === true);
    else call?.reject(new DOMException(message, name));
  };
  worker.onerror = (event) => failAll(new Error(`the worker that writes failed: ${event.message}`));
  const timer = setTimeout(() => failAll(new Error("the worker does not start")), START_MS);
  try {
    await answerTo(0);
  } catch (error) {
    worker.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
    URL.revokeObjectURL(url);
  }
  const ask = (names: readonly string[], chunks: readonly Uint8Array[], how: WriteHow | null) => {
    const id = ++lastId;
    const answer = answerTo(id);
    worker.postMessage({ id, names: [...base, ...names], chunks, how } satisfies Task);
    return answer;
  };
  return {
    write: (_top, names, chunks, how) => ask(names, chunks, how),
    overwrite: (names, bytes) => ask(names, [bytes], null),
    end() {
      worker.terminate();
      failAll(new Error("the disk was closed"));
    },
  };
}
