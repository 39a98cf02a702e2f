/**
 * The file-system calls of Node.js, each written once in its two forms: at once on this thread, and on the thread pool.
 * callRoute.ts chooses. All fail as the platform does, except that they wait out a shortage of descriptors.
 */

// Not the versions of fs-extra: those would wait for descriptors on their own, and idle files would not be closed to
// make room (shortage.ts).
import fs, { open, promises, readdir } from "node:fs";
import { deferred } from "../../async/deferred.js";
import { onPool, shortCalls } from "./callRoute.js";
import { isMissing } from "./errno.js";

/** A read or write of cached bytes up to this size is a short call: it costs less than the trip to a pool thread. */
export const MAX_INLINE_BYTES = 128 * 1024;
/** The removal of a file up to this size is a short call. One of 300 MiB was seen to take a quarter of a second. */
const MAX_INLINE_REMOVED_BYTES = 4 * 1024 * 1024;

/**
 * @param mode of a file that is made: who may do what with it
 * @returns the descriptor
 */
export const openFile = (filePath: string, flags: number | string, mode = 0o666): Promise<number> =>
  shortCalls.run(
    () => fs.openSync(filePath, flags, mode),
    (done) => open(filePath, flags, mode, done),
  );

export const closeFile = (fd: number): Promise<void> =>
  shortCalls.run(
    () => fs.closeSync(fd),
    (done) => fs.close(fd, (error) => done(error, undefined)),
  );

export const statDescriptor = (fd: number): Promise<fs.Stats> =>
  shortCalls.run(
    () => fs.fstatSync(fd),
    (done) => fs.fstat(fd, done),
  );

/** Reads at most `length` bytes, as one call. @returns bytes that were read; 0 at the end of the file */
export function readDescriptor(
  fd: number,
  target: Uint8Array,
  position: number,
  length: number,
  byteOffset: number,
): Promise<number> {
  const pooled = (done: (error: NodeJS.ErrnoException | null, bytesRead: number) => void) =>
    fs.read(fd, target, position, length, byteOffset, done);
  if (length > MAX_INLINE_BYTES) return onPool(pooled);
  return shortCalls.run(() => fs.readSync(fd, target, position, length, byteOffset), pooled);
}

/** @returns bytes that were written: all, or as many as the file system took */
export function writeVectors(
  fd: number,
  vectors: Uint8Array[],
  byteCount: number,
  position: number,
): Promise<number> {
  const pooled = (done: (error: NodeJS.ErrnoException | null, written: number) => void) =>
    fs.writev(fd, vectors, position, done);
  if (byteCount > MAX_INLINE_BYTES) return onPool(pooled);
  return shortCalls.run(() => fs.writevSync(fd, vectors, position), pooled);
}

/** Syncs data and size only: what a later read needs, without a journal write for the times. */
export const syncData = (fd: number, filePath: string): Promise<void> =>
  onPool<void>((done) => fs.fdatasync(fd, (error) => done(error, undefined))).catch((refusal) =>
    syncByHandle(fd, filePath, refusal),
  );

export const syncAll = (fd: number, filePath: string): Promise<void> =>
  onPool<void>((done) => fs.fsync(fd, (error) => done(error, undefined))).catch((refusal) =>
    syncByHandle(fd, filePath, refusal),
  );

/**
 * Where Node runs with permissions taken away, it syncs no descriptors, but files that it opened as an object. What is
 * synced is the file, whichever way it was opened, as long as it is the same one.
 */
async function syncByHandle(fd: number, filePath: string, refusal: NodeJS.ErrnoException): Promise<void> {
  if (refusal.code !== "ERR_ACCESS_DENIED") throw refusal;
  const isDirectory = fs.fstatSync(fd).isDirectory();
  const handle = await promises.open(filePath, process.platform === "win32" && !isDirectory ? "r+" : "r");
  try {
    const [ours, theirs] = [fs.fstatSync(fd, { bigint: true }), await handle.stat({ bigint: true })];
    if (ours.ino !== theirs.ino || ours.dev !== theirs.dev) throw refusal;
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function withDescriptor(
  filePath: string,
  flags: number,
  call: (fd: number, filePath: string) => Promise<void>,
): Promise<void> {
  const fd = await openFile(filePath, flags);
  try {
    await call(fd, filePath);
  } finally {
    await closeFile(fd);
  }
}

export const linkFile = (existingPath: string, newPath: string): Promise<void> =>
  shortCalls.run(
    () => fs.linkSync(existingPath, newPath),
    (done) => fs.link(existingPath, newPath, (error) => done(error, undefined)),
  );

/** Its renames wait, on Windows, until other programs have closed the file. Loaded with the first of them. */
const patient = deferred(() => import("fs-extra"));

export const renamePath = (fromPath: string, toPath: string): Promise<void> =>
  shortCalls.run(
    () => fs.renameSync(fromPath, toPath),
    (done) =>
      void patient.get().then(
        ({ default: { rename } }) => rename(fromPath, toPath, (error) => done(error, undefined)),
        (error) => done(error, undefined),
      ),
  );

/** @param byteLength of the file, as far as it is known: the system gives back the room of its bytes before it returns */
export function unlink(filePath: string, byteLength = 0): Promise<void> {
  const pooled = (done: (error: NodeJS.ErrnoException | null, value: undefined) => void) =>
    fs.unlink(filePath, (error) => done(error, undefined));
  return byteLength > MAX_INLINE_REMOVED_BYTES
    ? onPool(pooled)
    : shortCalls.run(() => fs.unlinkSync(filePath), pooled);
}

/** Looks at the path itself, not at what a link leads to. */
export const isSymbolicLink = (filePath: string): Promise<boolean> =>
  shortCalls.run<boolean>(
    () => fs.lstatSync(filePath).isSymbolicLink(),
    (done) => fs.lstat(filePath, (error, stats) => done(error, stats?.isSymbolicLink() ?? false)),
  );

export const readDirectory = (directory: string): Promise<fs.Dirent[]> =>
  shortCalls.run(
    () => fs.readdirSync(directory, { withFileTypes: true }),
    (done) => readdir(directory, { withFileTypes: true }, done),
  );

export const makeOneDirectory = (directory: string): Promise<void> =>
  shortCalls.run(
    () => void fs.mkdirSync(directory),
    (done) => fs.mkdir(directory, (error) => done(error, undefined)),
  );

export const removeOneDirectory = (directory: string): Promise<void> =>
  shortCalls.run(
    () => fs.rmdirSync(directory),
    (done) => fs.rmdir(directory, (error) => done(error, undefined)),
  );

/** Null where there is nothing under that path. */
export const statOrNull = (filePath: string): Promise<fs.BigIntStats | null> =>
  statAs(filePath, (stats) => stats);

/**
 * As {@link statOrNull}, with the stats converted. This is the commonest of all calls: an await in it would cost as
 * much as the call.
 */
export function statAs<T>(filePath: string, convert: (stats: fs.BigIntStats) => T): Promise<T | null> {
  return shortCalls.run<T | null>(
    () => {
      try {
        const stats = fs.statSync(filePath, { bigint: true, throwIfNoEntry: false });
        return stats === undefined ? null : convert(stats);
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    (done) =>
      fs.stat(filePath, { bigint: true }, (error, stats) => {
        if (error === null || error === undefined) done(null, convert(stats));
        else if (isMissing(error)) done(null, null);
        else done(error, null);
      }),
  );
}
