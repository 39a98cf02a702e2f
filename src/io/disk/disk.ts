/**
 * The one door to the disk. Everything the engine does to files goes through these verbs, so that tests can
 * put a faulty or a counting disk in place of the real one. Paths are absolute and native to the platform.
 * A missing file is a value (`null`), any other failure is thrown as the platform reports it.
 */

/** What a stat tells. `identity` changes whenever the file is replaced by another. */
export interface FileStat {
  /** Of what kind it is; links are followed. */
  readonly kind: "file" | "directory" | "other";
  /** Bytes. */
  readonly size: number;
  /** Nanoseconds since the epoch; coarse on some file systems. */
  readonly modifiedNs: bigint;
  /** Nanoseconds since the epoch of the last change of the inode (content, name or link count). */
  readonly changedNs: bigint;
  /** Nanoseconds since the epoch when it was made; 0 where the file system keeps no such time. */
  readonly birthNs: bigint;
  /** Device and inode in one string: what two names of one file have in common. */
  readonly inode: string;
  /**
   * Inode, size, and the times of the last change of the content and of the inode, which nobody can set, in
   * one string: equal strings, same bytes.
   */
  readonly identity: string;
  /**
   * Number of names of a file. For a directory, where the file system counts its links: grows by one with
   * each directory made in it.
   */
  readonly links: number;
}

/** An entry of a directory. */
export interface DirectoryEntry {
  /** Its name, without the directory. */
  readonly name: string;
  /** Of what kind it is; of a link, of what kind its target is, and `other` where it has none. */
  readonly kind: "file" | "directory" | "other";
}

/** Pieces of a file, and where in memory each of them goes; three lists of one length. */
export interface ReadPieces {
  /** Offsets of the first byte of each piece in the file. */
  readonly byteOffsets: Float64Array;
  /** Bytes. */
  readonly lengths: Float64Array;
  /** Position in the target of each piece's first byte. */
  readonly positions: Float64Array;
}

/** An open file to read at any position, from any number of callers at once. */
export interface ReadHandle {
  /** As it was opened; for messages. */
  readonly path: string;
  /** Bytes in the file when it was opened. */
  readonly size: number;
  /** As in {@link FileStat}, when it was opened. */
  readonly identity: string;
  /**
   * The bytes that were read along with the opening, up to the file's end; null from the second call on. A
   * disk may lack this method.
   */
  takeTail?(): Uint8Array | null;
  /**
   * Reads exactly `length` bytes into fresh memory of its own (8-byte aligned); fails on a shorter file.
   * @param memory of `length` bytes, own or shared with threads, which a disk may use in place of fresh
   *   memory, and that belongs to this call until it settles. After it has failed, it may still be written to
   */
  read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array>;
  /**
   * Reads many pieces into memory of the caller, in any order and several at once; fails on a shorter file,
   * and then leaves the target half filled. Until it settles, the target belongs to this call; it returns
   * undefined where all bytes are read already. A disk may lack this method: `read` is called for each piece
   * then.
   */
  readInto?(target: Uint8Array, pieces: ReadPieces): Promise<void> | undefined;
  /** Lets go of the file; nothing else may be called afterwards. */
  close(): Promise<void>;
}

/** A new file being written front to back by one caller. */
export interface WriteHandle {
  /**
   * True if a write that has resolved looks at its chunks no more, so that their memory may be used again;
   * absent: it may, until the file is closed.
   */
  readonly takesChunksAtOnce?: true;
  /**
   * Appends all chunks, in order; resolves when all bytes were accepted. Chunks may lie in memory that
   * threads share.
   */
  write(chunks: readonly Uint8Array[]): Promise<void>;
  /** Resolves when the bytes written so far would survive a power cut (a no-op with durability "none"). */
  sync(): Promise<void>;
  /** Lets go of the file; nothing else may be called afterwards. */
  close(): Promise<void>;
}

/** Makes memory that begins an ArrayBuffer. */
export type AllocateTail = (byteLength: number) => Uint8Array;

/** What the engine does to files. Tests put another one in place of that of Node.js. */
export interface Disk {
  /** The whole file, or null where there is none. Fails above `maxBytes`, and as `open` does. */
  readFile(path: string, maxBytes?: number): Promise<Uint8Array | null>;
  /**
   * Opens a file for reading; null where there is no such file. Anything but a regular file fails at once: a
   * symbolic link with a `LinkedFileError`, all else with a `CorruptFileError`.
   * @param tailBytes number of bytes at the end of the file that are wanted first, all of a shorter file; a
   *   disk may read them along, which is one call instead of two
   * @param allocate makes the memory for these where they are the whole file; `takeTail` then returns all of
   *   it. Default, for longer files, and where a disk does not care: memory of their own
   */
  open(path: string, tailBytes?: number, allocate?: AllocateTail): Promise<ReadHandle | null>;
  /**
   * Creates a new file; fails with EEXIST where the name is taken.
   * @param access "private": other users of the machine may not read it. Default: as the process creates
   *   files
   */
  create(path: string, access?: "private"): Promise<WriteHandle>;
  /**
   * Overwrites the bytes of an existing file of exactly that length; false, with nothing done, where there is
   * no such file. A reader may see some of the old bytes and some of the new ones. A disk may lack this
   * method.
   */
  overwrite?(path: string, bytes: Uint8Array): Promise<boolean>;
  /** Gives an existing file a second name that must be free; fails with EEXIST where it is taken. */
  link(existingPath: string, newPath: string): Promise<void>;
  /** Renames, replacing a file under the new name. Never used to commit. */
  rename(fromPath: string, toPath: string): Promise<void>;
  /**
   * Removes a file; quiet where there is none.
   * @param byteLength of the file, where the caller knows it: a large one may take long
   */
  remove(path: string, byteLength?: number): Promise<void>;
  /** Removes a directory and all below it, or the file in its place; quiet where there is none. */
  removeTree(path: string): Promise<void>;
  /** Removes a directory that holds nothing; false, and quiet, where there is none or it holds something. */
  removeEmptyDirectory(path: string): Promise<boolean>;
  /**
   * Makes a directory and its parents; true when the directory itself was not there before. On return the
   * directories it made survive a power cut (not with durability "none").
   * @param within a directory on the way that is never made; the call fails with ENOENT where it is not there
   */
  makeDirectory(path: string, within?: string): Promise<boolean>;
  /** Entries of a directory in no order, or null where there is none. */
  list(path: string): Promise<DirectoryEntry[] | null>;
  /** Null where there is nothing under that path. */
  stat(path: string): Promise<FileStat | null>;
  /** The path without symbolic links, or null where there is nothing under it. */
  realPath(path: string): Promise<string | null>;
  /**
   * True if a path is itself a symbolic link, of any kind that the platform has; false where there is
   * nothing. A disk may lack this method.
   */
  isLink?(path: string): Promise<boolean>;
  /**
   * Makes the bytes of an existing file survive a power cut, no matter who wrote them; a no-op where
   * needless.
   */
  syncFile(path: string): Promise<void>;
  /** Makes the names in a directory survive a power cut; a no-op where the platform can't, or needn't. */
  syncDirectory(path: string): Promise<void>;
}
