/**
 * A disk on which several names mean one entry, as on Windows and macOS. Its rules follow the systems'
 * documentation and share no code with the engine.
 */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { Disk } from "../../src/io/disk/disk.js";
import { wrapCalls } from "./wrappedDisk.js";

export interface FileSystem {
  readonly name: string;
  storedName(name: string): string;
  /** Equal for names of one entry. */
  key(name: string): string;
  /** True if no entry can have the name. */
  isDevice(name: string): boolean;
}

/** Upper case without context, for letters whose capital is one code unit. */
const upCased = (name: string): string =>
  Array.from({ length: name.length }, (_, index) => {
    const upper = name[index].toUpperCase();
    return upper.length === 1 ? upper : name[index];
  }).join("");

const DEVICES = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)/i;

/** Windows: case by a table of capitals; trailing dots and spaces are cut; no normalisation. */
const ntfs: FileSystem = {
  name: "NTFS",
  storedName: (name) => name.replace(/[. ]+$/, ""),
  key: upCased,
  isDevice: (name) => DEVICES.test(name),
};

/** macOS: keeps names, and compares them without case and normal form. */
const apfs: FileSystem = {
  name: "APFS",
  storedName: (name) => name,
  key: (name) => name.normalize("NFD").toLowerCase().toUpperCase().toLowerCase().normalize("NFD"),
  isDevice: () => false,
};

/** Older macOS: stores names decomposed, and ignores invisible characters. */
const hfs: FileSystem = {
  name: "HFS+",
  storedName: (name) => name.normalize("NFD"),
  key: (name) =>
    name
      .normalize("NFD")
      .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "")
      .toLowerCase(),
  isDevice: () => false,
};

export const fileSystems: readonly FileSystem[] = [ntfs, apfs, hfs];

/** Calls that make or rename entries run one at a time, because each reads the existing names first. */
const MAKING: ReadonlySet<string> = new Set(["create", "link", "rename", "makeDirectory"]);
let lastTurn: Promise<unknown> = Promise.resolve();

/** Names fold below the directories that `makeTempDir` makes. */
const INSIDE = /^(.*[\\/]tiltyard-test-[^\\/]+)[\\/](.+)$/;

/** @param inner a disk that folds no names */
export const foldingDisk = <D extends Disk>(inner: D, fileSystem: FileSystem): D =>
  wrapCalls(inner, (verb, [first, second, ...rest], make) => {
    const isMaking = MAKING.has(verb);
    const call = async (): Promise<unknown> => {
      const path = resolveOn(fileSystem, first as string);
      if (isMaking) refuseDevice(fileSystem, path);
      if (verb !== "link" && verb !== "rename") return make(path, second, ...rest);
      const target = resolveOn(fileSystem, second as string);
      // Renamed to another spelling of its name, an entry takes that.
      const to =
        target === path ? join(dirname(target), fileSystem.storedName(basename(second as string))) : target;
      refuseDevice(fileSystem, to);
      return make(path, to, ...rest);
    };
    if (!isMaking) return call();
    const turn = lastTurn.then(call);
    lastTurn = turn.catch(() => undefined);
    return turn;
  });

/** Returns the path of the entry that a path leads to, or of the one that it would make. */
export function resolveOn(fileSystem: FileSystem, path: string): string {
  const [, base, below] = INSIDE.exec(path) ?? [];
  if (base === undefined) return path;
  let resolved = base;
  for (const part of below.split(sep)) {
    const name = fileSystem.storedName(part);
    resolved = join(
      resolved,
      existsSync(join(resolved, name)) ? name : (alikeIn(fileSystem, resolved, name) ?? name),
    );
  }
  return resolved;
}

function alikeIn(fileSystem: FileSystem, directory: string, name: string): string | undefined {
  const key = fileSystem.key(name);
  return namesIn(directory).find((each) => fileSystem.key(each) === key);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    // A missing path or a file has no entries.
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

function refuseDevice(fileSystem: FileSystem, path: string): void {
  const [, , below = ""] = INSIDE.exec(path) ?? [];
  const device = below.split(sep).find((part) => fileSystem.isDevice(part));
  if (device === undefined) return;
  throw Object.assign(new Error(`ENOENT: ${device} is a device, '${path}'`), { code: "ENOENT" });
}
