/**
 * Lets another engine work on the files of a disk that it cannot open: the files are copied to the local
 * directories of the same paths, and what the other engine changed there is copied back.
 */

import * as fs from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Disk } from "../../../src/io/disk/disk.js";
import { tempDirs } from "../tempDir.js";
import { isLocal } from "./diskLimits.js";
import { suiteDisk } from "./suiteDisk.js";

/** Local files as they were after the last copy: identity on the disk, and time of the local change. */
interface Copied {
  readonly identity: string;
  modifiedMs: number;
}

const copies = new Map<string, Copied>();
let turn: Promise<unknown> = Promise.resolve();

/** Returns the paths of all files below a directory of the disk, with their identities. */
async function filesOnDisk(disk: Disk, directory: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    const path = join(directory, name);
    if (kind === "directory") {
      for (const [below, identity] of await filesOnDisk(disk, path)) files.set(below, identity);
    } else {
      const stat = await disk.stat(path);
      if (stat !== null) files.set(path, stat.identity);
    }
  }
  return files;
}

async function localFiles(directory: string): Promise<string[]> {
  const entries = await fs.readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

const modifiedMsOf = async (path: string): Promise<number> => (await fs.stat(path)).mtimeMs;

async function copyOut(disk: Disk, directory: string): Promise<void> {
  const onDisk = await filesOnDisk(disk, directory);
  for (const path of await localFiles(directory)) {
    if (onDisk.has(path)) continue;
    await fs.rm(path);
    copies.delete(path);
  }
  for (const [path, identity] of onDisk) {
    if (copies.get(path)?.identity === identity) continue;
    const bytes = await disk.readFile(path);
    if (bytes === null) continue;
    await fs.mkdir(dirname(path), { recursive: true });
    await fs.writeFile(path, bytes);
    copies.set(path, { identity, modifiedMs: await modifiedMsOf(path) });
  }
}

async function copyBack(disk: Disk, directory: string): Promise<void> {
  const present = new Set(await localFiles(directory));
  for (const path of [...copies.keys()].filter((each) => each.startsWith(join(directory, "/")))) {
    if (present.has(path)) continue;
    await disk.remove(path);
    copies.delete(path);
  }
  for (const path of present) {
    const modifiedMs = await modifiedMsOf(path);
    if (copies.get(path)?.modifiedMs === modifiedMs) continue;
    await disk.makeDirectory(dirname(path));
    const identity = await disk.replaceIf?.(path, [await fs.readFile(path)], null);
    copies.set(path, { identity: identity ?? "", modifiedMs });
  }
}

/** Returns the texts among values, and in plain objects and lists of them. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Runs work of another engine on the directories of tests that its operands name. */
export function mirrored<T>(operands: unknown, work: () => Promise<T>): Promise<T> {
  if (isLocal) return work();
  const texts = textsIn(operands);
  const directories = tempDirs().filter((directory) => texts.some((text) => text.startsWith(directory)));
  const run = async (): Promise<T> => {
    const disk = suiteDisk();
    for (const directory of directories) await copyOut(disk, directory);
    try {
      return await work();
    } finally {
      for (const directory of directories) await copyBack(disk, directory);
    }
  };
  const result = turn.then(run, run);
  turn = result.catch(() => undefined);
  return result;
}

/** Returns a module whose functions run on copies of the files. */
export const mirroredCalls = <Module extends object>(module: Module): Module =>
  isLocal
    ? module
    : new Proxy(module, {
        get(_, name) {
          const value = Reflect.get(module, name);
          if (typeof value !== "function" || /^[A-Z]/.test(String(name))) return value;
          return (...operands: unknown[]) =>
            mirrored(operands, async () => Reflect.apply(value, module, operands));
        },
      });
