/** The worker that writes files of the private file system in place. */

import { clearTimeout, setTimeout } from "../../async/timers.js";
import type { FileTimes, FileWriter, PutHow } from "./fileWriter.js";

/** A file to write, as the worker gets it. */
interface Task {
  readonly id: number;
  readonly names: readonly string[];
  readonly bytes: Uint8Array;
  readonly how: PutHow | CreateHow;
}

/** Properties of a new file that readers may see half written. */
interface CreateHow {
  readonly isSynced: boolean;
}

/** Answer of the worker: the file that it wrote, null if there is none, or an error. */
interface Answer {
  readonly id: number;
  readonly written?: FileTimes | null;
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
  interface AccessHandle {
    getSize(): number;
    write(bytes: Uint8Array, options: Readonly<Record<"at", number>>): number;
    flush(): void;
    close(): void;
  }
  type FileHandle = FileSystemFileHandle & {
    createSyncAccessHandle(): Promise<AccessHandle>;
    move(name: string): Promise<void>;
  };
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
  /** Fills a file that is new or empty; returns null if it has bytes. */
  const fill = async (
    directory: FileSystemDirectoryHandle,
    name: string,
    bytes: Uint8Array,
    isSynced: boolean,
  ): Promise<FileHandle | null> => {
    const handle = (await directory.getFileHandle(name, { create: true })) as FileHandle;
    const access = await handle.createSyncAccessHandle();
    try {
      if (access.getSize() > 0) return null;
      for (let done = 0; done < bytes.length; ) {
        const written = access.write(bytes.subarray(done), { at: done });
        if (written <= 0) throw new DOMException("no byte was written", "QuotaExceededError");
        done += written;
      }
      if (isSynced) access.flush();
    } catch (error) {
      access.close();
      // The failed write tells more.
      await directory.removeEntry(name).catch(() => undefined);
      throw error;
    }
    access.close();
    return handle;
  };
  const isThere = (directory: FileSystemDirectoryHandle, name: string): Promise<boolean> =>
    directory.getFileHandle(name).then(
      () => true,
      (error: DOMException) => {
        if (error.name === "NotFoundError") return false;
        if (error.name === "TypeMismatchError") return true;
        throw error;
      },
    );
  const put = async (
    directory: FileSystemDirectoryHandle,
    name: string,
    bytes: Uint8Array,
    { isNew, lockName }: PutHow,
  ): Promise<FileTimes | null> => {
    const temporaryName = `.tmp-${crypto.randomUUID()}`;
    const filling = fill(directory, temporaryName, bytes, true);
    // The lock and the look at the name take about as long as the bytes.
    const publish = async (): Promise<FileTimes | null> => {
      const [handle, isTaken] = await Promise.all([filling, isNew && isThere(directory, name)]);
      if (isTaken || handle === null) return null;
      const file = handle.getFile();
      await handle.move(name);
      const { size, lastModified } = await file;
      return { size, lastModified };
    };
    let written: FileTimes | null = null;
    try {
      written = await (lockName === null ? publish() : navigator.locks.request(lockName, publish));
    } finally {
      if (written === null) {
        await filling.catch(() => undefined);
        await directory.removeEntry(temporaryName).catch(() => undefined);
      }
    }
    return written;
  };
  const write = async ({ names, bytes, how }: Task): Promise<FileTimes | null> => {
    const directory = await open(names.slice(0, -1));
    const name = names[names.length - 1];
    if ("isNew" in how) return put(directory, name, bytes, how);
    const made = await fill(directory, name, bytes, how.isSynced);
    return made && { size: bytes.length, lastModified: 0 };
  };
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
        (written) => scope.postMessage({ id: data.id, written }),
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
    { resolve: (written: FileTimes | null) => void; reject: (error: unknown) => void }
  >();
  let lastId = 0;
  const failAll = (error: unknown) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const answerTo = (id: number): Promise<FileTimes | null> =>
    new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker.onmessage = ({ data: { id, written, name, message } }: MessageEvent<Answer>) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (name === undefined) call?.resolve(written ?? null);
    else call?.reject(new DOMException(message, name));
  };
  worker.onerror = (event) => failAll(uncertain(`the worker that writes failed: ${event.message}`));
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
  const ask = (names: readonly string[], bytes: Uint8Array<ArrayBuffer>, how: Task["how"]) => {
    const id = ++lastId;
    const answer = answerTo(id);
    worker.postMessage({ id, names: [...base, ...names], bytes, how } satisfies Task, [bytes.buffer]);
    return answer;
  };
  return {
    create: async (_top, names, bytes, isSynced) => (await ask(names, bytes, { isSynced })) !== null,
    put: (_top, names, bytes, how) => ask(names, bytes, how),
    end() {
      worker.terminate();
      failAll(uncertain("the disk was closed during a write"));
    },
  };
}

/** Error of files that the worker may have written. */
const uncertain = (message: string): Error => Object.assign(new Error(message), { code: "EUNCERTAIN" });
