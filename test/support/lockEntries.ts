/** Locks as other processes may leave them. */

import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { LOCK_NAME } from "../../src/io/lock/heldLock.js";
import { isKeptName, newOwnerName } from "../../src/io/lock/lockOwner.js";

/** The parts of an owner's name. */
export interface OwnerParts {
  readonly host?: string;
  readonly boot?: string;
  readonly pidNamespace?: string;
  readonly pid?: number | string;
  readonly start?: string;
}

/** A process number that none can have. */
export const NO_PID = 4194305;

/** An owner like this process, but for some parts. */
export function ownerNamed(parts: OwnerParts): string {
  const [kind, host, boot, pidNamespace, pid, start, random] = newOwnerName().split("-");
  const named = { host, boot, pidNamespace, pid, start, ...parts };
  return [kind, named.host, named.boot, named.pidNamespace, named.pid, named.start, random].join("-");
}

/** An owner on this machine that is dead. */
export const deadOwner = (): string => ownerNamed({ pid: NO_PID, start: "1" });

/** An owner on another machine, of which nothing can be known here. */
export const foreignOwner = (): string =>
  ownerNamed({ host: "0123456789ab", boot: "0", pid: 1234, start: "0" });

/** What fences off a holder, named like an owner. */
export const fencingNamed = (owner: string): string => owner.replace(/^owner/, "fencing");

/** Puts entries into a directory's lock, which is made. */
export async function putInLock(directory: string, ...entries: readonly string[]): Promise<void> {
  await mkdir(path.join(directory, LOCK_NAME), { recursive: true });
  for (const entry of entries) await mkdir(path.join(directory, LOCK_NAME, entry), { recursive: true });
}

/** Names of what is in a directory's lock; null where there is none. */
export const entriesOfLock = (directory: string): Promise<string[] | null> =>
  readdir(path.join(directory, LOCK_NAME)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });

/** Whether a lock, by its own path, is one that its last holder released and keeps for a moment: a free one. */
export async function isKeptLock(lockPath: string): Promise<boolean> {
  const entries = await readdir(lockPath).catch(() => []);
  return entries.length > 0 && entries.every(isKeptName);
}

/** Whether a path is that of a lock, or lies in one: a lock may be kept for a moment after a change. */
export const isInLock = (entryPath: string): boolean => entryPath.split(/[/\\]/).includes(LOCK_NAME);
