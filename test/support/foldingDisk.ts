/**
 * A disk on which several names are one, as on Windows and macOS, over one on which they are not. Below a directory,
 * every part of a path leads to the entry whose name the file system would take it for; what is made gets the name that
 * the file system would give it. The rules are written down here anew, from what the systems document, and share
 * nothing with the engine's own idea of them.
 */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { Disk } from "../../src/io/disk/disk.js";

export interface FileSystem {
  readonly name: string;
  /** What a name becomes before it is looked up or made. */
  given(name: string): string;
  /** Equal for names of one entry. */
  key(name: string): string;
  /** Whether nothing can have the name. */
  isDevice(name: string): boolean;
}

/** Upper case without context, code unit by code unit, for letters whose capital is one unit. */
const upCased = (name: string): string =>
  Array.from({ length: name.length }, (_, index) => {
    const upper = name[index].toUpperCase();
    return upper.length === 1 ? upper : name[index];
  }).join("");

const DEVICES = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(\.|$)/i;

/** Windows: case by a table of capitals; dots and spaces at the end are cut off; no normalisation. */
const ntfs: FileSystem = {
  name: "NTFS",
  given: (name) => name.replace(/[. ]+$/, ""),
  key: upCased,
  isDevice: (name) => DEVICES.test(name),
};

/** macOS: names are kept as they are given, and compared without regard to case and normal form. */
const apfs: FileSystem = {
  name: "APFS",
  given: (name) => name,
  key: (name) => name.normalize("NFD").toLowerCase().toUpperCase().toLowerCase().normalize("NFD"),
  isDevice: () => false,
};

/** macOS before: names are stored decomposed, and characters that can't be seen don't count. */
const hfs: FileSystem = {
  name: "HFS+",
  given: (name) => name.normalize("NFD"),
  key: (name) =>
    name
      .normalize("NFD")
      .replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "")
      .toLowerCase(),
  isDevice: () => false,
};

export const fileSystems: readonly FileSystem[] = [ntfs, apfs, hfs];

/** Calls that make or rename entries: each looks for the names that are there, and no other may come in between. */
const MAKING: ReadonlySet<string> = new Set(["create", "link", "rename", "makeDirectory"]);
let lastTurn: Promise<unknown> = Promise.resolve();

/** Names fold below the directories that `makeTempDir` makes. */
const INSIDE = /^(.*[\\/]tiltyard-test-[^\\/]+)[\\/](.+)$/;

/** @param inner finds everything by its own name only */
export function foldingDisk<D extends Disk>(inner: D, fileSystem: FileSystem): D {
  return new Proxy(inner, {
    get(target, verb) {
      const value = Reflect.get(target, verb);
      if (typeof value !== "function") return value;
      const isMaking = MAKING.has(String(verb));
      const call = async (first: string, ...rest: unknown[]) => {
        const path = resolveOn(fileSystem, first);
        if (isMaking) refuseDevice(fileSystem, path);
        if (verb === "link" || verb === "rename") {
          const [second, ...others] = rest as [string, ...unknown[]];
          const found = resolveOn(fileSystem, second);
          // Renamed to another spelling of its name, an entry takes that.
          const to = found === path ? join(dirname(found), fileSystem.given(basename(second))) : found;
          refuseDevice(fileSystem, to);
          return Reflect.apply(value, target, [path, to, ...others]);
        }
        return Reflect.apply(value, target, [path, ...rest]);
      };
      if (!isMaking) return call;
      return (...operands: [string, ...unknown[]]) => {
        const turn = lastTurn.then(() => call(...operands));
        lastTurn = turn.catch(() => undefined);
        return turn;
      };
    },
  });
}

/** Where a path leads on a file system: to what is there, or to what would be made. */
export function resolveOn(fileSystem: FileSystem, path: string): string {
  const [, base, below] = INSIDE.exec(path) ?? [];
  if (base === undefined) return path;
  let resolved = base;
  for (const part of below.split(sep)) {
    const name = fileSystem.given(part);
    resolved = join(
      resolved,
      existsSync(join(resolved, name)) ? name : (alikeIn(fileSystem, resolved, name) ?? name),
    );
  }
  return resolved;
}

function alikeIn(fileSystem: FileSystem, directory: string, name: string): string | undefined {
  const key = fileSystem.key(name);
  return namesIn(directory).find((other) => fileSystem.key(other) === key);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    // Nothing lies in what is not there, or is a file.
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
