/**
 * Names the process that holds a lock. The name is that of an entry in the lock's directory:
 *
 *     owner-<host>-<boot>-<pid namespace>-<pid>-<start>-<random>
 *
 *     host            12 hex digits of a digest of the machine's id and host name
 *     boot            12 hex digits of a digest of the kernel's boot id; 0 if the platform has none
 *     pid namespace   inode of the process's pid namespace; 0 if the platform has none
 *     pid             decimal
 *     start           start of the process in clock ticks since the boot; 0 if the platform hides it
 *     random          16 hex digits, so that no two holds have the same name
 *
 * From these parts a waiter on the same machine can tell that the owner is dead, without waiting for the lock
 * to go stale. If a part is unknown, the owner counts as alive. The name `fencing-…` has the same parts, for
 * the process that fences off an overruled holder (staleLocks.ts). An owner with an impossible pid names
 * nobody: the lock is kept and free (heldLock.ts).
 */

import os from "node:os";
import fs from "fs-extra";
import { ageClockMs } from "../../async/timers.js";
import { codeOf } from "../disk/errno.js";
import { sha256 } from "../names/sha256.js";

/** Role of the process that an entry names. */
export type EntryKind = "owner" | "fencing";

const UNKNOWN = "0";
/** Pid of no process: the largest number that the system accepts, and far above the pids that it assigns. */
const NOBODY_PID = 2 ** 31 - 1;
const HAS_PID_NAMESPACES = process.platform === "linux" || process.platform === "android";

interface NamedProcess {
  readonly kind: EntryKind;
  readonly host: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly start: string;
}

let currentProcess: Omit<NamedProcess, "kind"> | undefined;

/** Makes a unique name for a lock that this process is about to take. */
export const newOwnerName = (): string => newName("owner");

/** Makes a name for the entry of a holder that this process is about to fence off. */
export const newFencingName = (): string => newName("fencing");

/** Makes a name for the entry of a kept lock. All processes consider its owner dead. */
export const newKeptName = (): string => newName("owner", { pid: NOBODY_PID, start: UNKNOWN });

/** Returns true if an entry belongs to a kept lock, which is free. */
export const isKeptName = (name: string): boolean => parseName(name)?.pid === NOBODY_PID;

function newName(kind: EntryKind, instead: Partial<NamedProcess> = {}): string {
  currentProcess ??= describeProcess();
  const { host, boot, pidNamespace, pid, start } = { ...currentProcess, ...instead };
  // `randomUUID` draws from a buffer that the runtime fills in bulk.
  const random = crypto.randomUUID().replaceAll("-", "").slice(16);
  return `${kind}-${host}-${boot}-${pidNamespace}-${pid}-${start}-${random}`;
}

/** Returns the role of the process that an entry names; null if the entry names none. */
export const entryKindOf = (name: string): EntryKind | null => parseName(name)?.kind ?? null;

/**
 * Returns true if the process that an entry names has certainly ended.
 * @param renewedMs latest time when the process showed that it runs, by its own clock
 */
export function isDeadProcess(name: string, renewedMs: number): boolean {
  const named = parseName(name);
  currentProcess ??= describeProcess();
  if (named?.pid === NOBODY_PID) return true;
  if (named === null || named.host !== currentProcess.host) return false;
  if (named.boot !== currentProcess.boot) {
    // Another machine may have the same id and name. A lock of a running process there is younger than
    // this machine's boot.
    const isKnown = named.boot !== UNKNOWN && currentProcess.boot !== UNKNOWN;
    return isKnown && renewedMs < ageClockMs() - os.uptime() * 1000;
  }
  if (named.pidNamespace !== currentProcess.pidNamespace) return false;
  // If two containers hide their namespaces, the same pid is a different process in each.
  if (currentProcess.pidNamespace === UNKNOWN && HAS_PID_NAMESPACES) return false;
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

function describeProcess(): Omit<NamedProcess, "kind"> {
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

/** Returns the first network interface's address, which distinguishes machines without a machine id. */
function networkAddress(): string {
  const interfaces = Object.entries(os.networkInterfaces()).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, addresses = []] of interfaces) {
    const card = addresses.find(({ internal, mac }) => !internal && /[1-9a-f]/i.test(mac));
    if (card !== undefined) return card.mac;
  }
  return "";
}

const digest = (text: string): string => sha256(text).slice(0, 12);

/** Returns true if a process runs. A zombie does not; a later process has another start time. */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (codeOf(error) === "ESRCH") return false;
  }
  const stat = statOf(pid);
  if (stat === null) return true;
  if (stat.state === "Z" || stat.state === "X") return false;
  return start === UNKNOWN || stat.start === start;
}

/** Reads the state and the start time of a Linux process, in clock ticks since the boot. */
function statOf(pid: number): { readonly state: string; readonly start: string } | null {
  const text = readText(`/proc/${pid}/stat`);
  // The program's name comes second, in parentheses, and may contain spaces and parentheses.
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
    // Without the file the part is unknown, and the owner counts as alive.
    return null;
  }
}
