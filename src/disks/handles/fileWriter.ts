/** Writers of whole files below a directory handle. */

/** Writes whole files below the top directory. */
export interface FileWriter {
  /**
   * Creates a file that readers may see half written.
   * @param isSynced true if the bytes must survive a power cut
   * @returns false if the file exists
   */
  create(
    top: FileSystemDirectoryHandle,
    names: readonly string[],
    bytes: Uint8Array<ArrayBuffer>,
    isSynced: boolean,
  ): Promise<boolean>;
  /**
   * Writes a file that has its old content or the new one at any time, and survives a power cut.
   * @returns size and time of the new file; null if it was to be new and exists
   */
  put(
    top: FileSystemDirectoryHandle,
    names: readonly string[],
    bytes: Uint8Array<ArrayBuffer>,
    how: PutHow,
  ): Promise<FileTimes | null>;
}

/** Properties of an atomic write. */
export interface PutHow {
  /** True if the file must not exist. */
  readonly isNew: boolean;
  /** Web Lock under which the file gets its name; null: the caller keeps others away. */
  readonly lockName: string | null;
}

/** The part of a file's state that tells contents apart. */
export type FileTimes = Pick<File, "size" | "lastModified">;
