/** Locks as other processes leave them. */

import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { isKeptName, newOwnerName } from "../../src/io/lock/lockOwner.js";

export interface OwnerParts {
  readonly host?: string;
  readonly boot?: string;
  readonly pidNamespace?: string;
  readonly pid?: number | string;
  readonly start?: string;
}

/** A process number that no process can have. */
export const NO_PID = 4194305;

/** An owner like this process, except for some parts. */
export function ownerNamed(parts: OwnerParts): string {
  const [kind, host, boot, pidNamespace, pid, start, random] = newOwnerName().split("-");
  const named = { host, boot, pidNamespace, pid, start, ...parts };
  return [kind, named.host, named.boot, named.pidNamespace, named.pid, named.start, random].join("-");
}

/** A dead owner on this machine. */
export const deadOwner = (): string => ownerNamed({ pid: NO_PID, start: "1" });

/** An owner on another machine, whose state is unknown. */
export const foreignOwner = (): string =>
  ownerNamed({ host: "0123456789ab", boot: "0", pid: 1234, start: "0" });

/** Name of the entry that fences off an owner. */
export const fencingNamed = (owner: string): string => owner.replace(/^owner/, "fencing");

/** Creates a directory's lock with these entries. */
export async function putInLock(directory: string, ...entries: readonly string[]): Promise<void> {
  await mkdir(path.join(directory, LOCK_NAME), { recursive: true });
  for (const entry of entries) await mkdir(path.join(directory, LOCK_NAME, entry), { recursive: true });
}

/** Names of the entries in a directory's lock, or null without a lock. */
export const entriesOfLock = (directory: string): Promise<string[] | null> =>
  readdir(path.join(directory, LOCK_NAME)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });

/** True if the last holder released the lock and keeps it for a moment: it is free. */
export async function isKeptLock(lockPath: string): Promise<boolean> {
  const entries = await readdir(lockPath).catch(() => []);
  return entries.length > 0 && entries.every(isKeptName);
}
