/** Folders that a user drops on the page or picks, as disks that only read. */

import { fileListDisk } from "../../../disks/fileListDisk.ts";
import { directoryHandleDisk } from "../../../disks/handles/directoryHandleDisk.ts";
import type { DiskImplementation } from "../../../io/disk/disk.ts";
import { openDisk, type TableSource, tableNameOf } from "./tableSource.ts";

/** Directory that every table has. */
const VERSIONS = "_versions";

/** A dropped item, with a call that the types lack. */
interface HandleItem extends DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}
/** Global object of a browser that asks for folders. */
interface PickingWindow {
  showDirectoryPicker?(): Promise<FileSystemDirectoryHandle>;
}

/** True if the browser asks for a folder itself. Others have a field for files. */
export const canPickFolder = (): boolean => "showDirectoryPicker" in globalThis;

/** Asks the user for a folder. Null: the user chose none. */
export async function pickFolder(): Promise<TableSource | null> {
  try {
    const handle = await (globalThis as PickingWindow).showDirectoryPicker?.();
    return handle === undefined ? null : openHandle(handle);
  } catch (error) {
    if ((error as Error).name === "AbortError") return null;
    throw error;
  }
}

/**
 * Opens the folder that was dropped. Items can be asked only while the event is handled, so the first step is
 * synchronous.
 * @throws Error with a message for people
 */
export async function openDropped(items: DataTransferItemList): Promise<TableSource> {
  const files = [...items].filter(({ kind }) => kind === "file") as HandleItem[];
  const [first] = files;
  if (first === undefined || files.length > 1) throw new Error("Drop one folder on the page.");
  const entry = first.webkitGetAsEntry();
  const pending = first.getAsFileSystemHandle?.();
  // Pages of some addresses get files in place of handles.
  const handle = await pending?.catch(() => null);
  if (handle?.kind === "directory") return openHandle(handle as FileSystemDirectoryHandle);
  if (entry === null || !entry.isDirectory) throw new Error("Drop a folder, not a file.");
  return openFiles(await filesBelow(entry as FileSystemDirectoryEntry));
}

/** Opens a folder by its handle: a directory of tables, or the directory of one table. */
async function openHandle(handle: FileSystemDirectoryHandle): Promise<TableSource> {
  const disk = directoryHandleDisk(handle);
  // The private file system of a browser has no name.
  return openFolder(disk, handle.name === "" ? "folder" : handle.name);
}

/**
 * Opens the folder that files lie in.
 * @throws Error with a message for people
 */
export async function openFiles(files: Iterable<File>): Promise<TableSource> {
  const list = [...files];
  const name = list[0]?.webkitRelativePath.split("/")[0] ?? "";
  if (name === "") throw new Error("The folder has no files.");
  return openFolder(fileListDisk(list), name);
}

async function openFolder(disk: DiskImplementation, name: string): Promise<TableSource> {
  const entries = (await disk.list("/")) ?? [];
  const isTable = entries.some((entry) => entry.name === VERSIONS && entry.kind === "directory");
  if (!isTable) return openDisk(disk, name, null);
  const table = validName(tableNameOf(name) ?? name);
  return openDisk(parentDisk(disk, `${table}.lance`), name, table);
}

/** Returns a name that the engine allows for a table. Folders may have any name. */
const validName = (name: string): string => name.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 200);

/** Returns a disk whose top has one directory, with what lies at the top of another disk. */
function parentDisk(disk: DiskImplementation, directory: string): DiskImplementation {
  const prefix = `/${directory}`;
  const inner = (path: string): string | null => {
    if (path === prefix) return "/";
    return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : null;
  };
  const asked = async <Answer>(
    path: string,
    ask: ((path: string) => Promise<Answer | null>) | undefined,
  ): Promise<Answer | null> => {
    const innerPath = inner(path);
    return innerPath === null ? null : ((await ask?.(innerPath)) ?? null);
  };
  return {
    isReadOnly: true,
    hasLinks: false,
    open: (path) => asked(path, (each) => disk.open(each)),
    async stat(path) {
      if (path === "/") return { kind: "directory", size: 0 };
      return asked(path, disk.stat?.bind(disk));
    },
    async list(path) {
      if (path === "/") return [{ name: directory, kind: "directory" }];
      return asked(path, (each) => disk.list(each));
    },
  };
}

/** Lists the files below an entry, each with its path. */
async function filesBelow(top: FileSystemDirectoryEntry): Promise<File[]> {
  const files: File[] = [];
  const directories = [top];
  for (let directory = directories.pop(); directory !== undefined; directory = directories.pop()) {
    for (const entry of await entriesOf(directory)) {
      if (entry.isDirectory) directories.push(entry as FileSystemDirectoryEntry);
      else files.push(await fileOf(entry as FileSystemFileEntry));
    }
  }
  return files;
}

async function entriesOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    // A reader returns a part of the entries at a time, and none at the end.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return entries;
    entries.push(...part);
  }
}

async function fileOf(entry: FileSystemFileEntry): Promise<File> {
  const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
  // Files of a drop lack the path that those of a field have.
  return Object.defineProperty(file, "webkitRelativePath", { value: entry.fullPath.slice(1) });
}
