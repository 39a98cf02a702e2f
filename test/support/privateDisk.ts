/**
 * A disk like the private file system of a browser, whose files are those of a local directory. Directories
 * have no times, files cannot be renamed, and locks last until they are released.
 */

import type { DiskImplementation, StoredStat } from "tiltyard/disks";
import { webLocks } from "../../src/disks/handles/webLocks.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { directoryStore } from "./directoryStore.js";

export interface PrivateDisk extends DiskImplementation {
  /** Calls so far, as verb and path, in their order. */
  readonly calls: string[];
}

/** Returns a disk that records its calls. */
export function privateDisk(): PrivateDisk {
  const calls: string[] = [];
  const node = new NodeDisk({ durability: "none" });
  const store = directoryStore();
  const stat = async (path: string): Promise<StoredStat | null> => {
    const seen = await node.stat(path);
    if (seen?.kind !== "file") return seen && { kind: "directory", size: 0 };
    const { kind, size, modifiedNs, identity } = seen;
    return { kind, size, modifiedNs, identity };
  };
  const verbs: DiskImplementation = {
    open: store.open,
    list: store.list,
    stat,
    create: store.create,
    async putIfAbsent(path, chunks) {
      if ((await store.putIfAbsent?.(path, chunks)) !== true) return false;
      return (await stat(path))?.identity ?? true;
    },
    replaceIf: store.replaceIf,
    remove: (path) => node.remove(path),
    removeTree: (path) => node.removeTree(path),
    removeEmptyDirectory: (path) => node.removeEmptyDirectory(path),
    makeDirectory: (path, within) => node.makeDirectory(path, within),
  };
  const recorded = Object.entries(verbs).map(([verb, call]) => [
    verb,
    (...operands: unknown[]) => {
      calls.push(`${verb} ${operands[0]}`);
      return Reflect.apply(call as () => unknown, verbs, operands);
    },
  ]);
  return {
    ...(Object.fromEntries(recorded) as DiskImplementation),
    calls,
    isPrivate: true,
    hasLinks: false,
    locks: Object.assign(webLocks("", null), { areKept: true } as const),
  };
}
