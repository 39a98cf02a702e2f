/**
 * Defines the disk, through which the engine makes all its file-system calls. `DiskImplementation` is what a
 * disk provides; NodeDisk is the local file system, `tiltyard/disks` has others, and programs may write their
 * own. `Disk` is what the engine calls: completeDisk.ts adds to an implementation what it lacks. Paths are
 * absolute and in the platform's syntax. A missing file gives null. Other failures throw an error with the
 * code of the platform, such as EEXIST, ENOENT, ENOTDIR, ENOTEMPTY, EISDIR and ENOSPC.
 */

import type { DiskLocks } from "./locks.js";

/** Result of a stat. `identity` changes whenever another file replaces this one. */
export interface FileStat {
  /** Kind of the file; of a link, the kind of its target. */
  readonly kind: "file" | "directory" | "other";
  /** Length of the file in bytes. */
  readonly size: number;
  /** Nanoseconds since the epoch when the content changed; coarse on some file systems. */
  readonly modifiedNs: bigint;
  /** Nanoseconds since the epoch when the inode changed (content, name or link count). */
  readonly changedNs: bigint;
  /** Nanoseconds since the epoch when the file was made; 0 if the file system does not record it. */
  readonly birthNs: bigint;
  /** Device and inode in one string, equal for all names of one file. */
  readonly inode: string;
  /**
   * Inode, size, modification time and change time in one string. Equal strings mean equal bytes, because
   * nobody can set the change time.
   */
  readonly identity: string;
  /**
   * Number of names of a file. If the file system counts the links of a directory, the number grows with each
   * subdirectory.
   */
  readonly links: number;
}

/** An entry of a directory. */
export interface DirectoryEntry {
  /** Name of the entry within the directory. */
  readonly name: string;
  /** Kind of the entry; of a link, the kind of its target, or `other` without a target. */
  readonly kind: "file" | "directory" | "other";
}

/** Pieces of a file and their positions in memory, in three lists of one length. */
export interface ReadPieces {
  /** Offsets of the first byte of each piece in the file. */
  readonly byteOffsets: Float64Array;
  /** Length of each piece in bytes. */
  readonly lengths: Float64Array;
  /** Position of each piece's first byte in the target. */
  readonly positions: Float64Array;
}

/** An open file that any number of callers may read at any position. */
export interface ReadHandle {
  /** Path that was opened; for messages. */
  readonly path: string;
  /** Bytes in the file when it was opened. */
  readonly size: number;
  /** Identity as in {@link FileStat}, when the file was opened. */
  readonly identity: string;
  /** Returns the last bytes, if `open` read them as well; null from the second call on. Optional. */
  takeTail?(): Uint8Array | null;
  /**
   * Reads exactly `length` bytes, 8-byte aligned. Fails if the file is shorter.
   * @param memory `length` bytes, private or shared with threads, that the disk may fill and return. Default:
   *   fresh memory. The memory belongs to this call until it settles; after a failure, a late write may still
   *   reach it
   */
  read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array>;
  /**
   * Reads many pieces into the caller's memory, in any order and concurrently. If the file is shorter, fails
   * and leaves the target half filled. The target belongs to this call until it settles. Returns undefined if
   * all bytes are read already. Optional: without it, the engine calls `read` for each piece.
   */
  readInto?(target: Uint8Array, pieces: ReadPieces): Promise<void> | undefined;
  /** Closes the file; no other call may follow. */
  close(): Promise<void>;
}

/** A new file that one caller writes from front to back. */
export interface WriteHandle {
  /** True if chunks are free once `write` resolves. Default: they are free once the file is closed. */
  readonly takesChunksAtOnce?: true;
  /**
   * Appends all chunks, in order. Resolves when the file system has accepted all bytes. Chunks may lie in
   * shared memory.
   */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Resolves when the bytes so far would survive a power cut. Does nothing with durability "none". */
  sync(): Promise<void>;
  /** Closes the file; no other call may follow. */
  close(): Promise<void>;
  /**
   * Gives the file up, in place of `close`. A file that would appear only when it is closed does not appear.
   * Optional: without it, the engine closes the file and removes it.
   */
  discard?(): Promise<void>;
}

/** Makes memory that starts at the beginning of an ArrayBuffer. */
export type AllocateTail = (byteLength: number) => Uint8Array;

/** Directory for files that exceed memory and are removed after use. */
export interface ScratchDirectory {
  /** Disk of the directory. A file on it may be read while it is written. */
  readonly disk: Disk;
  /** Path of the directory, which exists. */
  readonly path: string;
}

/** Stat of a disk that need not know everything. See {@link FileStat} for the members. */
export type StoredStat = Pick<FileStat, "kind" | "size"> & Partial<FileStat>;

/** Calls that read. */
interface ReadVerbs {
  /**
   * Opens a file for reading; null if it does not exist. Only regular files can be opened: a symbolic link
   * fails with a `LinkedFileError`, anything else with a `CorruptFileError`.
   * @param tailBytes number of bytes at the end of the file that the caller reads first. A disk may read them
   *   at once, which saves a call
   * @param allocate makes the memory for the tail if the tail is the whole file. Default: memory of its own
   */
  open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null>;
  /**
   * Lists the entries of a directory, in any order; null if it does not exist. A file that was written before
   * the call is in the list.
   */
  list(path: string): Promise<DirectoryEntry[] | null>;
}

/** Calls that a disk has or that the engine replaces by other calls. */
interface ReplaceableVerbs {
  /**
   * Reads a whole file; null if it does not exist. Fails if the file is longer than `maxBytes`, and for the
   * same reasons as `open`. Default: opens the file and reads it.
   */
  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null>;
  /**
   * Creates a new file; fails with EEXIST if the name exists. A disk may notice that only in `close`. Readers
   * may see the file as soon as it is created, or only after `close`. Default: collects the bytes, and calls
   * `putIfAbsent`.
   * @param access "private": only the user of the process may read it. Default: the access that the process
   *   gives new files
   */
  create(path: string, access?: "private"): Promise<WriteHandle>;
  /** Removes a directory and all below it, or a file; does nothing if the path does not exist. */
  removeTree(path: string): Promise<void>;
  /** Removes an empty directory. Returns false if the directory does not exist or holds an entry. */
  removeEmptyDirectory(path: string): Promise<boolean>;
  /**
   * Makes a directory and its missing parents. On return, the new directories survive a power cut (not with
   * durability "none"). Default: the disk has no directories, and a directory exists while files lie below
   * it.
   * @param within directory on the way that is never made; the call fails with ENOENT if it does not exist
   * @returns true if the directory did not exist
   */
  makeDirectory(path: string, within?: string): Promise<boolean>;
  /** Returns the path without symbolic links; null if it does not exist. Default: the path itself. */
  realPath(path: string): Promise<string | null>;
  /**
   * Makes the bytes of an existing file survive a power cut, no matter who wrote them. Default: they do
   * anyway.
   */
  syncFile(path: string): Promise<void>;
  /**
   * Makes the names in a directory survive a power cut; does nothing if the platform cannot or need not.
   * Default: does nothing.
   */
  syncDirectory(path: string): Promise<void>;
}

/** Calls without which the engine refuses some operations. */
interface WriteVerbs {
  /** Gives an existing file a second name; fails with EEXIST if that name exists. */
  link(existingPath: string, newPath: string): Promise<void>;
  /** Renames, and replaces a file that has the new name. Commits never use it. */
  rename(fromPath: string, toPath: string): Promise<void>;
  /**
   * Removes a file; does nothing if it does not exist.
   * @param byteLength length of the file, if the caller knows it: removing a large one may take long
   */
  remove(path: string, byteLength?: number): Promise<void>;
}

/** Calls, and properties of the disk, that are absent without a default of the engine. */
interface OptionalVerbs {
  /**
   * Creates a whole file, complete and durable; returns false and changes nothing if the name exists. Of any
   * number of callers, on any machines, exactly one wins. A call whose answer is lost finds out what
   * happened. If it cannot, it fails with the code EUNCERTAIN. Default: creates a temporary file, and calls
   * `link` or, under the lock of all writers, `rename`.
   * @returns the identity of the new file, or true if the disk would need another call to learn it
   */
  putIfAbsent?(path: string, chunks: readonly Uint8Array[]): Promise<boolean | string>;
  /**
   * Replaces a whole file: readers see the old bytes or the new ones. Durable on return.
   * @param identity identity of the file's current content. If the file has another one, or is missing, the
   *   call returns null and changes nothing. Null: replaces any content, and creates a missing file
   * @returns the new identity. Default: creates a temporary file and calls `rename`
   */
  replaceIf?(path: string, chunks: readonly Uint8Array[], identity: string | null): Promise<string | null>;
  /**
   * Overwrites an existing file of exactly that length. Returns false and changes nothing if there is no such
   * file. A reader may see a mix of old and new bytes.
   */
  overwrite?(path: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Calls back when entries of a directory may have changed. Calls may be missing and may come in vain. The
   * watch does not keep the process alive.
   * @returns a function that ends the watch; null if the directory cannot be watched
   */
  watchDirectory?(path: string, onChange: () => void): (() => void) | null;
  /** Returns true if the path itself is a symbolic link, of any kind that the platform has. */
  isLink?(path: string): Promise<boolean>;
  /**
   * Returns the address under which other engines find a file or directory, such as `s3://bucket/t.lance`.
   * Locations in answers and base paths in manifests have this form. Default: the path.
   */
  uriOf?(path: string): string;
  /** Returns the path of an address; null if it is not on this disk. A disk has it if it has `uriOf`. */
  pathOf?(uri: string): string | null;
  /**
   * Locks of directories. Default: lease files, made by `putIfAbsent`, `replaceIf` and `remove`. A disk that
   * lacks one of these, but has `rename` and `makeDirectory`, is taken for the local file system, with the
   * locks of NodeDisk. Any other disk takes no lock.
   */
  readonly locks?: DiskLocks;
  /** Directory for sorting and grouping on disk. Default: that of the table, on this disk. */
  readonly scratch?: ScratchDirectory;
  /**
   * False if the disk has no symbolic links. Paths then mean what they say, and the engine asks no file
   * system where they lead. Default: it may have some, on the local file system.
   */
  readonly hasLinks?: false;
  /**
   * True if no other engine uses the disk. Then versions count up without gaps, so a version without a
   * successor is the latest one, and the engine lists versions less often. It also writes no files that only
   * other engines need: transactions beside their manifests.
   */
  readonly isPrivate?: true;
  /** True if the disk cannot write. Then the engine makes no call that writes. */
  readonly isReadOnly?: true;
}

/**
 * A disk as a program provides it. Only `open` and `list` are required. `docs/disks.md` says what the engine
 * does without each other call.
 */
export interface DiskImplementation
  extends ReadVerbs,
    Partial<ReplaceableVerbs>,
    Partial<WriteVerbs>,
    OptionalVerbs {
  /** Returns the stat of a path; null if it does not exist. Default: opens a file, or lists a directory. */
  stat?(path: string): Promise<StoredStat | null>;
}

/** The file-system calls of the engine. A call that the disk lacks throws a `MissingVerbError`. */
export interface Disk extends ReadVerbs, ReplaceableVerbs, WriteVerbs, OptionalVerbs {
  /** Returns the stat of a path; null if it does not exist. */
  stat(path: string): Promise<FileStat | null>;
  /** False if a directory exists exactly while files lie below it, and has no times of its own. */
  readonly hasDirectories?: false;
  /** False if `rename` and `link` are missing. */
  readonly hasRename?: false;
}
