/**
 * The process that holds a lock, as the name of an entry in the lock's directory:
 *
 *   owner-<host>-<boot>-<pid namespace>-<pid>-<start>-<random>
 *
 *   host            12 hex digits of a digest of the machine's id and host name
 *   boot            12 hex digits of a digest of the kernel's boot id; 0 where the platform has none
 *   pid namespace   inode of the process's pid namespace; 0 where the platform has none
 *   pid             decimal
 *   start           when the process started, in clock ticks since the boot; 0 where the platform does not tell
 *   random          16 hex digits, so that no two holdings have one name
 *
 * With these a waiter on the same machine can tell that the owner is dead, instead of waiting for its lock to
 * go stale. Where anything is unknown the owner counts as alive. A name `fencing-…` has the same parts, for
 * the process that fences off a holder that was overruled (staleLocks.ts). An owner whose pid no process can
 * have is nobody: the lock was released, and kept for the next who takes it (heldLock.ts).
 */

import os from "node:os";
import fs from "fs-extra";
import { ageClockMs } from "../../async/timers.js";
import { codeOf } from "../disk/errno.js";
import { sha256 } from "../names/sha256.js";

/** The role of the process that an entry names. */
export type EntryKind = "owner" | "fencing";

const UNKNOWN = "0";
/** The largest pid that a process can be asked about by; no system counts as far. */
const NOBODY_PID = 2 ** 31 - 1;
const HAS_PID_NAMESPACES = process.platform === "linux" || process.platform === "android";

/** The parts of a name. */
interface NamedProcess {
  readonly kind: EntryKind;
  readonly host: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly start: string;
}

/** The process this code runs in; found out once. */
let own: Omit<NamedProcess, "kind"> | undefined;

/** A name for the lock that this process is about to take; no other holding of any lock has it. */
export const newOwnerName = (): string => newName("owner");

/** A name for the entry of a holder that this process is about to fence off. */
export const newFencingName = (): string => newName("fencing");

/** A name for the entry of a lock that is kept: every process finds its owner dead. */
export const newKeptName = (): string => newName("owner", { pid: NOBODY_PID, start: UNKNOWN });

/** True if an entry is of a lock that is kept, and so free. */
export const isKeptName = (name: string): boolean => parseName(name)?.pid === NOBODY_PID;

function newName(kind: EntryKind, instead: Partial<NamedProcess> = {}): string {
  own ??= ownRecord();
  const { host, boot, pidNamespace, pid, start } = { ...own, ...instead };
  // The runtime draws random bytes for many of them at once.
  const random = crypto.randomUUID().replaceAll("-", "").slice(16);
  return `${kind}-${host}-${boot}-${pidNamespace}-${pid}-${start}-${random}`;
}

/** The role of the process that an entry of a lock's directory names; null where the entry names none. */
export const entryKindOf = (name: string): EntryKind | null => parseName(name)?.kind ?? null;

/**
 * True if the process that an entry names can no longer be running. False where that is unknown.
 * @param renewedMs when the process last showed that it runs, by its own clock
 */
export function isDeadProcess(name: string, renewedMs: number): boolean {
  const named = parseName(name);
  own ??= ownRecord();
  if (named?.pid === NOBODY_PID) return true;
  if (named === null || named.host !== own.host) return false;
  if (named.boot !== own.boot) {
    // Another machine may have the same id and name. If its process runs, its lock is younger than this
    // machine's boot.
    const isKnown = named.boot !== UNKNOWN && own.boot !== UNKNOWN;
    return isKnown && renewedMs < ageClockMs() - os.uptime() * 1000;
  }
  if (named.pidNamespace !== own.pidNamespace) return false;
  // In two containers whose namespaces are hidden from them, the same pid is a different process in each.
  if (own.pidNamespace === UNKNOWN && HAS_PID_NAMESPACES) return false;
  return !isRunning(named.pid, named.start);
}

function parseName(name: string): NamedProcess | null {
  const parts =
    /^(owner|fencing)-([0-9a-f]{12})-([0-9a-f]{12}|0)-(\d{1,20})-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}$/.exec(
      name,
    );
  if (parts === null) return null;
  const [, kind, host, boot, pidNamespace, pid, start] = parts;
  return { kind: kind as EntryKind, host, boot, pidNamespace, pid: Number(pid), start };
}

function ownRecord(): Omit<NamedProcess, "kind"> {
  const machineId = readText("/etc/machine-id") ?? readText("/var/lib/dbus/machine-id") ?? networkAddress();
  const bootId = readText("/proc/sys/kernel/random/boot_id");
  return {
    host: digest(`${machineId}\0${os.hostname()}`),
    boot: bootId === null ? UNKNOWN : digest(bootId),
    pidNamespace: pidNamespaceOf() ?? UNKNOWN,
    pid: process.pid,
    start: statOf(process.pid)?.start ?? UNKNOWN,
  };
}

/**
 * The first network interface's address: it tells machines of the same name apart where the platform keeps no
 * id.
 */
function networkAddress(): string {
  const interfaces = Object.entries(os.networkInterfaces()).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, addresses = []] of interfaces) {
    const found = addresses.find(({ internal, mac }) => !internal && /[1-9a-f]/i.test(mac));
    if (found !== undefined) return found.mac;
  }
  return "";
}

const digest = (text: string): string => sha256(text).slice(0, 12);

/**
 * A process that ended, but that its parent has not yet waited for, does not run. Another process that was
 * given the same pid has another start time.
 */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (codeOf(error) === "ESRCH") return false;
  }
  const found = statOf(pid);
  if (found === null) return true;
  if (found.state === "Z" || found.state === "X") return false;
  return start === UNKNOWN || found.start === start;
}

/** What Linux tells of a process: its state, and when it started, in clock ticks since the boot. */
function statOf(pid: number): { readonly state: string; readonly start: string } | null {
  const text = readText(`/proc/${pid}/stat`);
  // The name of the program comes second, in parentheses, and may hold spaces and parentheses.
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, start] = [fields?.[0], fields?.[19]];
  return state !== undefined && start !== undefined && /^\d+$/.test(start) ? { state, start } : null;
}

function pidNamespaceOf(): string | null {
  try {
    return /^pid:\[(\d+)\]$/.exec(fs.readlinkSync("/proc/self/ns/pid"))?.[1] ?? null;
  } catch {
    // Not Linux, or a sandbox without /proc: the namespace is unknown.
    return null;
  }
}

function readText(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8").trim();
  } catch {
    // A platform without the file tells nothing; then the owner counts as alive.
    return null;
  }
}
