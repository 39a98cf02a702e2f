/**
 * Declares each file-system call of Node.js once in its two forms: synchronous on this thread, and on the
 * thread pool. callRoute.ts chooses. Each call fails as the platform does, but waits during a shortage of
 * descriptors. Calls that open or change an entry of a directory are confined (confinement.ts).
 */

// fs-extra's versions would wait for descriptors themselves, and close no idle files to make room
// (shortage.ts).
import fs, { open, promises, readdir } from "node:fs";
import path from "node:path";
import { lazyModule } from "../../async/lazy.js";
import { type CallRoute, type Done, onPool, shortCalls } from "./callRoute.js";
import type { Confinement } from "./confinement.js";
import { isMissing } from "./errno.js";
import { outlastShortage } from "./shortage.js";

/** Bytes up to which a cached read or write is a short call: it costs less than the trip to a pool thread. */
export const MAX_INLINE_BYTES = 128 * 1024;
/** Bytes up to which removing a file is a short call. Removing 300 MiB has taken 250 ms. */
const MAX_INLINE_REMOVED_BYTES = 4 * 1024 * 1024;

/**
 * Makes a confined call on an entry of a directory.
 * @param route default: that of short calls
 */
export const onEntry = <T>(
  confinement: Confinement,
  entryPath: string,
  inline: (entry: string) => T,
  pooled: (entry: string, done: Done<T>) => void,
  route: CallRoute = shortCalls,
): Promise<T> =>
  route.runTogether(
    () => onEntryNow(confinement, entryPath, inline),
    () => onEntryOfPool(confinement, entryPath, (entry) => onPool<T>((done) => pooled(entry, done))),
  );

/** Like {@link onEntry}, with several synchronous calls. */
export const onEntryNow = <T>(confinement: Confinement, entryPath: string, calls: (entry: string) => T): T =>
  confinement.withinNow(path.dirname(entryPath), (alias) => calls(entryIn(alias, entryPath)));

/** Like {@link onEntry}, with several calls on the thread pool. */
export const onEntryOfPool = <T>(
  confinement: Confinement,
  entryPath: string,
  calls: (entry: string) => Promise<T>,
): Promise<T> => confinement.within(path.dirname(entryPath), (alias) => calls(entryIn(alias, entryPath)));

/** Returns the path of an entry below an alias of its directory. */
const entryIn = (alias: string, entryPath: string): string => path.join(alias, path.basename(entryPath));

/** Makes a confined call on two entries, usually of one directory. */
export const onTwoEntries = (
  confinement: Confinement,
  [first, second]: readonly [string, string],
  inline: (first: string, second: string) => void,
  pooled: (first: string, second: string, done: Done<void>) => void,
  route: CallRoute = shortCalls,
): Promise<void> => {
  const areTogether = path.dirname(first) === path.dirname(second);
  return route.runTogether(
    () =>
      confinement.withinNow(path.dirname(first), (alias) => {
        const call = (entry: string) => inline(entryIn(alias, first), entry);
        if (areTogether) call(entryIn(alias, second));
        else onEntryNow(confinement, second, call);
      }),
    () =>
      confinement.within(path.dirname(first), (alias) => {
        const call = (entry: string, done: Done<void>) => pooled(entryIn(alias, first), entry, done);
        if (areTogether) return onPool<void>((done) => call(entryIn(alias, second), done));
        return onEntryOfPool(confinement, second, (entry) => onPool<void>((done) => call(entry, done)));
      }),
  );
};

/**
 * Opens a file.
 * @param mode access rights of a file that this call makes
 * @returns the descriptor
 */
export const openFile = (
  confinement: Confinement,
  filePath: string,
  flags: number | string,
  mode = 0o666,
): Promise<number> =>
  onEntry(
    confinement,
    filePath,
    (entry) => fs.openSync(entry, flags, mode),
    (entry, done) => open(entry, flags, mode, done),
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

/**
 * Reads at most `length` bytes in one call.
 * @returns number of bytes read; 0 at the end of the file
 */
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

/** @returns number of bytes written: all, or as many as the file system took */
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

/** Syncs data and size only. A later read needs no more, and this saves a journal write for the times. */
export const syncData = (fd: number, filePath: string): Promise<void> =>
  onPool<void>((done) => fs.fdatasync(fd, (error) => done(error, undefined))).catch((refusal) =>
    syncByHandle(fd, filePath, refusal),
  );

export const syncAll = (fd: number, filePath: string): Promise<void> =>
  onPool<void>((done) => fs.fsync(fd, (error) => done(error, undefined))).catch((refusal) =>
    syncByHandle(fd, filePath, refusal),
  );

/** Syncs a file that Node's permission model refuses to sync by descriptor, by a second, checked handle. */
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

/** @param opening resolves to the file's descriptor */
export async function withDescriptor(
  opening: Promise<number>,
  filePath: string,
  call: (fd: number, filePath: string) => Promise<void>,
): Promise<void> {
  const fd = await opening;
  try {
    await call(fd, filePath);
  } finally {
    await closeFile(fd);
  }
}

/**
 * Opens a directory.
 * @returns the descriptor
 */
export const openDirectory = (confinement: Confinement, directory: string, flags: number): Promise<number> =>
  shortCalls.runTogether(
    () => confinement.withinNow(directory, (alias) => fs.openSync(alias, flags)),
    () => confinement.within(directory, (alias) => onPool<number>((done) => open(alias, flags, done))),
  );

export const linkFile = (confinement: Confinement, existingPath: string, newPath: string): Promise<void> =>
  onTwoEntries(confinement, [existingPath, newPath], fs.linkSync, (existing, entry, done) =>
    fs.link(existing, entry, (error) => done(error, undefined)),
  );

/** Package whose renames wait for other programs on Windows. The first rename loads it. */
const patient = lazyModule(() => import("fs-extra"));

export const renamePath = (confinement: Confinement, fromPath: string, toPath: string): Promise<void> =>
  onTwoEntries(
    confinement,
    [fromPath, toPath],
    fs.renameSync,
    (from, to, done) =>
      void patient.get().then(
        ({ default: { rename } }) => rename(from, to, (error) => done(error, undefined)),
        (error) => done(error, undefined),
      ),
  );

/**
 * @param byteLength length of the file, as far as the caller knows it: the system frees its blocks before it
 *   returns
 */
export function unlink(confinement: Confinement, filePath: string, byteLength = 0): Promise<void> {
  const pooled = (entry: string, done: Done<void>) => fs.unlink(entry, (error) => done(error, undefined));
  return byteLength > MAX_INLINE_REMOVED_BYTES
    ? outlastShortage(() =>
        onEntryOfPool(confinement, filePath, (entry) => onPool<void>((done) => pooled(entry, done))),
      )
    : onEntry(confinement, filePath, (entry) => fs.unlinkSync(entry), pooled);
}

/** Returns true if the path itself is a link. */
export const isSymbolicLink = (filePath: string): Promise<boolean> =>
  shortCalls.run<boolean>(
    () => fs.lstatSync(filePath).isSymbolicLink(),
    (done) => fs.lstat(filePath, (error, stats) => done(error, stats?.isSymbolicLink() ?? false)),
  );

export const readDirectory = (confinement: Confinement, directory: string): Promise<fs.Dirent[]> =>
  shortCalls.runTogether(
    () => confinement.withinNow(directory, (alias) => fs.readdirSync(alias, { withFileTypes: true })),
    () =>
      confinement.within(directory, (alias) =>
        onPool<fs.Dirent[]>((done) => readdir(alias, { withFileTypes: true }, done)),
      ),
  );

export const makeOneDirectory = (confinement: Confinement, directory: string): Promise<void> =>
  onEntry(
    confinement,
    directory,
    (entry) => void fs.mkdirSync(entry),
    (entry, done) => fs.mkdir(entry, (error) => done(error, undefined)),
  );

export const removeOneDirectory = (confinement: Confinement, directory: string): Promise<void> =>
  onEntry(
    confinement,
    directory,
    (entry) => fs.rmdirSync(entry),
    (entry, done) => fs.rmdir(entry, (error) => done(error, undefined)),
  );

/** Returns the stats of a path; null if it does not exist. */
export const statOrNull = (filePath: string): Promise<fs.BigIntStats | null> =>
  statAs(filePath, (stats) => stats);

/**
 * Like {@link statOrNull}, and converts the stats. It has no `await`, which would double the cost of this
 * most frequent call.
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
