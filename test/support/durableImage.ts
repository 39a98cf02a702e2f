/**
 * The state of a directory tree after a power cut, as in LevelDB's fault-injection environment.
 *
 * Each directory has its names now and at its last sync, and each file its number of synced bytes. A store
 * beside the tree links every file, so that an unsynced removal can be undone. Callers report all changes.
 */
import fs from "node:fs";
import path from "node:path";
import { LOCK_NAME } from "../../src/io/lock/lease.js";

interface FileNode {
  readonly kind: "file";
  /** Its second name in the store. */
  readonly stored: string;
  syncedBytes: number;
}

interface DirectoryNode {
  readonly kind: "directory";
  readonly current: Map<string, Node>;
  readonly durable: Map<string, Node>;
}

type Node = FileNode | DirectoryNode;

export class DurableImage {
  readonly #root: string;
  readonly #store: string;
  readonly #tree: DirectoryNode = newDirectory();
  #storedCount = 0;

  /** @param root An existing directory; its parent receives the store, which `dispose` removes. */
  constructor(root: string) {
    this.#root = path.resolve(root);
    this.#store = fs.mkdtempSync(`${this.#root}-store-`);
    this.#adopt(this.#root, this.#tree);
  }

  dispose(): void {
    fs.rmSync(this.#store, { recursive: true, force: true });
  }

  created(filePath: string): void {
    const [parent, name] = this.#place(filePath);
    parent.current.set(name, this.#newFile(filePath, 0));
  }

  /** Until the next sync, a power cut may leave any bytes. */
  overwritten(filePath: string): void {
    const [parent, name] = this.#place(filePath);
    const node = parent.current.get(name);
    if (node?.kind === "file") node.syncedBytes = 0;
  }

  /** Calls `work` while the file lacks its name in the store: disks overwrite only files with one name. */
  async withoutStoredName<T>(filePath: string, work: () => Promise<T>): Promise<T> {
    const [parent, name] = this.#place(filePath);
    const node = parent.current.get(name);
    if (node?.kind !== "file") return work();
    fs.unlinkSync(node.stored);
    try {
      return await work();
    } finally {
      fs.linkSync(filePath, node.stored);
    }
  }

  linked(existingPath: string, newPath: string): void {
    const [fromParent, fromName] = this.#place(existingPath);
    const [toParent, toName] = this.#place(newPath);
    const node = fromParent.current.get(fromName);
    if (node !== undefined) toParent.current.set(toName, node);
  }

  renamed(fromPath: string, toPath: string): void {
    if (!isInLock(toPath)) this.linked(fromPath, toPath);
    this.removed(fromPath);
  }

  removed(anyPath: string): void {
    if (isInLock(anyPath)) return;
    const [parent, name] = this.#place(anyPath);
    parent.current.delete(name);
  }

  /** @param durable true if the names of the directory and its parents are synced */
  directoryMade(directory: string, durable: boolean): void {
    let node = this.#tree;
    for (const name of this.#names(directory)) {
      let child = node.current.get(name);
      if (child?.kind !== "directory") {
        child = newDirectory();
        node.current.set(name, child);
      }
      if (durable) node.durable.set(name, child);
      node = child;
    }
  }

  fileSynced(filePath: string): void {
    const [parent, name] = this.#place(filePath);
    const node = parent.current.get(name);
    if (node?.kind === "file") node.syncedBytes = fs.statSync(node.stored).size;
  }

  directorySynced(directory: string): void {
    const node = this.#find(directory);
    if (node === undefined) return;
    node.durable.clear();
    for (const [name, child] of node.current) node.durable.set(name, child);
  }

  /**
   * Turns the tree into the state after a power cut, without the unsynced changes of names for which
   * `survives` is false.
   */
  restore(survives: (anyPath: string) => boolean): void {
    fs.rmSync(this.#root, { recursive: true, force: true });
    fs.mkdirSync(this.#root);
    this.#rebuild(this.#root, this.#tree, survives);
  }

  #rebuild(directory: string, node: DirectoryNode, survives: (anyPath: string) => boolean): void {
    const names = [...new Set([...node.durable.keys(), ...node.current.keys()])].sort();
    const after = new Map<string, Node>();
    for (const name of names) {
      const durable = node.durable.get(name);
      const current = node.current.get(name);
      const child = durable === current || survives(path.join(directory, name)) ? current : durable;
      if (child !== undefined) after.set(name, child);
    }
    node.current.clear();
    node.durable.clear();
    for (const [name, child] of after) {
      node.current.set(name, child);
      node.durable.set(name, child);
      const childPath = path.join(directory, name);
      if (child.kind === "directory") {
        fs.mkdirSync(childPath);
        this.#rebuild(childPath, child, survives);
      } else {
        if (fs.statSync(child.stored).size > child.syncedBytes)
          fs.truncateSync(child.stored, child.syncedBytes);
        fs.linkSync(child.stored, childPath);
      }
    }
  }

  #adopt(directory: string, node: DirectoryNode): void {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
      const entryPath = path.join(directory, entry.name);
      let child: Node;
      if (entry.isDirectory()) {
        child = newDirectory();
        this.#adopt(entryPath, child);
      } else {
        child = this.#newFile(entryPath, fs.statSync(entryPath).size);
      }
      node.current.set(entry.name, child);
      node.durable.set(entry.name, child);
    }
  }

  #newFile(filePath: string, syncedBytes: number): FileNode {
    const stored = path.join(this.#store, String(this.#storedCount++));
    fs.linkSync(filePath, stored);
    return { kind: "file", stored, syncedBytes };
  }

  #names(anyPath: string): string[] {
    const relative = path.relative(this.#root, path.resolve(anyPath));
    if (relative.startsWith("..")) throw new Error(`${anyPath} is not below ${this.#root}`);
    return relative === "" ? [] : relative.split(path.sep);
  }

  #find(directory: string): DirectoryNode | undefined {
    let node: Node | undefined = this.#tree;
    for (const name of this.#names(directory)) {
      node = node?.kind === "directory" ? node.current.get(name) : undefined;
    }
    return node?.kind === "directory" ? node : undefined;
  }

  #place(anyPath: string): [DirectoryNode, string] {
    const parent = this.#find(path.dirname(anyPath));
    if (parent === undefined) throw new Error(`the directory of ${anyPath} was not made through this disk`);
    return [parent, path.basename(anyPath)];
  }
}

/** Locks bypass the disk that reports changes: a file that is moved into one counts as removed. */
const isInLock = (anyPath: string): boolean => anyPath.includes(`${path.sep}${LOCK_NAME}${path.sep}`);

function newDirectory(): DirectoryNode {
  return { kind: "directory", current: new Map(), durable: new Map() };
}
