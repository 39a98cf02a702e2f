/**
 * A read-only disk of files that a user picked, dropped or sent to a page: `File` objects with their paths.
 *
 *     <input type="file" webkitdirectory>
 *
 *     const ns = new DirectoryNamespace({ root: "/", disk: fileListDisk(input.files) });
 *
 * A path is the file's `webkitRelativePath`, below `/`. If all files lie in one folder, its content appears
 * directly below `/` as well, so that `/` is the folder that the user picked.
 */

import { CorruptFileError, InvalidInputError } from "../errors.js";
import type { DirectoryEntry, DiskImplementation, ReadHandle, StoredStat } from "../io/disk/disk.js";
import { shortly } from "../optionMembers.js";
import { blobHandle, identityOfFile } from "./handles/blobReads.js";
import { namesOfPath } from "./paths/pathNames.js";

/** Files with paths: a FileList, or any list of File objects. */
export type PickedFiles = Iterable<File> | ArrayLike<File>;

interface Folder {
  readonly entries: Map<string, Folder | File>;
}

/**
 * Returns a read-only disk of files.
 * @throws InvalidInputError if one of them is not a File
 */
export function fileListDisk(files: PickedFiles): DiskImplementation {
  if (typeof files !== "object" || files === null)
    throw new InvalidInputError(`files: must be a list of files, not ${shortly(files)}`);
  const top: Folder = { entries: new Map() };
  for (const [index, file] of Array.from(files as ArrayLike<File>).entries()) {
    if (!(typeof file?.slice === "function" && typeof file.name === "string")) {
      throw new InvalidInputError(`files[${index}]: must be a File, not ${shortly(file)}`);
    }
    const path = file.webkitRelativePath === "" ? file.name : (file.webkitRelativePath ?? file.name);
    addFile(top, namesOfPath(path), file);
  }
  showContent(top);
  const find = (path: string): Folder | File | null => {
    let node: Folder | File = top;
    for (const name of namesOfPath(path)) {
      const next: Folder | File | undefined = isFolder(node) ? node.entries.get(name) : undefined;
      if (next === undefined) return null;
      node = next;
    }
    return node;
  };
  return {
    isReadOnly: true,
    hasLinks: false,
    async open(path): Promise<ReadHandle | null> {
      const node = find(path);
      if (node === null) return null;
      if (isFolder(node)) throw new CorruptFileError(path, 0, "it is not a regular file");
      return blobHandle(path, node);
    },
    async stat(path): Promise<StoredStat | null> {
      const node = find(path);
      if (node === null) return null;
      // A list of files never changes.
      if (isFolder(node))
        return { kind: "directory", size: 0, modifiedNs: 0n, changedNs: 0n, identity: path };
      const { size, lastModified } = node;
      const modifiedNs = BigInt(lastModified) * 1_000_000n;
      return { kind: "file", size, modifiedNs, identity: identityOfFile(node) };
    },
    async list(path): Promise<DirectoryEntry[] | null> {
      const node = find(path);
      if (node === null || !isFolder(node)) return null;
      return Array.from(node.entries, ([name, entry]) => ({
        name,
        kind: isFolder(entry) ? "directory" : "file",
      }));
    },
  };
}

const isFolder = (node: Folder | File): node is Folder => "entries" in node;

function addFile(top: Folder, names: readonly string[], file: File): void {
  let folder = top;
  for (const name of names.slice(0, -1)) {
    const present = folder.entries.get(name);
    const next: Folder = present !== undefined && isFolder(present) ? present : { entries: new Map() };
    folder.entries.set(name, next);
    folder = next;
  }
  const name = names.at(-1);
  if (name !== undefined) folder.entries.set(name, file);
}

/** Shows the content of the only folder beside the folder. */
function showContent(top: Folder): void {
  const [[, only] = []] = top.entries;
  if (top.entries.size !== 1 || only === undefined || !isFolder(only)) return;
  for (const [name, entry] of only.entries) if (!top.entries.has(name)) top.entries.set(name, entry);
}
