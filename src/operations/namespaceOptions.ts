/** Options of a namespace. They are checked and copied when it is opened. */

import { MAX_TIMER_MS } from "../async/timers.js";
import { InvalidInputError } from "../errors.js";
import { formatFieldPath } from "../ident.js";
import type { DiskImplementation } from "../io/disk/disk.js";
import { pathOfFileUrl } from "../io/names/fileUrls.js";
import type { ClusterExecutor } from "../namespace/clusters.js";
import type { DirectoryNamespaceOptions } from "../namespace/options.js";
import { recordOf } from "../operationTable.js";
import { checkOptionMembers, isObject, shortly } from "../optionMembers.js";
import { resolve } from "../platform/native.js";
import { type RegisteredFunction, registerFunctions } from "../write/userFunctions.js";

/** Names of all options. Others are refused: a misspelt option would silently mean its default. */
const OPTION_NAMES: Readonly<Record<keyof DirectoryNamespaceOptions | "disk", true>> = recordOf(
  true,
  "root durability authorize functions clusters onWarning lock workers startWorker vectorCacheBytes",
  "metadataCacheBytes indexCacheBytes allowedBases dataStorageVersion manifestNaming groupInserts upkeep",
  "jobs disk",
);

/** Checked options of a context. */
export interface ContextOptions
  extends Omit<DirectoryNamespaceOptions, "root" | "allowedBases" | "functions" | "clusters"> {
  /** Absolute path. */
  readonly root: string;
  /** Absolute paths. */
  readonly allowedBases?: readonly string[] | undefined;
  readonly functions?: ReadonlyMap<string, RegisteredFunction> | undefined;
  readonly clusters?: ReadonlyMap<string, ClusterExecutor> | undefined;
  /** Another implementation of the disk. */
  readonly disk?: DiskImplementation | undefined;
}

/**
 * Returns a checked copy of the options, with absolute directories.
 * @param input unchecked
 * @throws InvalidInputError naming the option, its value and the allowed values; UnsupportedError for a
 *   function with an unsupported output type
 */
export function contextOptionsOf(
  input: DirectoryNamespaceOptions & { readonly disk?: DiskImplementation },
): ContextOptions {
  checkNamespaceOptions(input);
  const { disk } = input;
  // The paths of such a disk are not those of this machine, as in a bucket.
  const top = disk && (disk.hasLinks === false || disk.realPath === undefined) ? "/" : "";
  return {
    ...input,
    root: directoryOf(input.root, "root", top),
    allowedBases: input.allowedBases?.map((base) => directoryOf(base, "allowedBases", top)),
    functions: registerFunctions(input.functions),
    clusters: registerClusters(input.clusters),
    lock: input.lock === undefined ? undefined : { ...input.lock },
  };
}

function checkNamespaceOptions(options: DirectoryNamespaceOptions): void {
  if (typeof options === "string") {
    throw new InvalidInputError(
      `options: must be an object, as in { root: ${JSON.stringify(options)} }, not a text`,
    );
  }
  checkOptionMembers("options", options, Object.keys(OPTION_NAMES));
  const {
    root,
    durability,
    dataStorageVersion,
    manifestNaming,
    lock,
    authorize,
    onWarning,
    workers,
    allowedBases,
  } = options;
  checkDirectory(root, "root");
  if (allowedBases !== undefined) {
    if (!Array.isArray(allowedBases)) {
      throw new InvalidInputError(
        `allowedBases: must be a list of paths of directories, not ${shortly(allowedBases)}`,
      );
    }
    for (const [index, base] of allowedBases.entries()) checkDirectory(base, `allowedBases[${index}]`);
  }
  checkChoice(durability, "durability", ["fsync", "none"]);
  checkChoice(options.jobs, "jobs", ["wait", "cancel"]);
  checkChoice(dataStorageVersion, "dataStorageVersion", ["2.0", "2.1", "2.2"]);
  checkChoice(manifestNaming, "manifestNaming", ["V1", "V2"]);
  if (lock !== undefined) checkOptionMembers("lock", lock, ["staleMs", "retries"]);
  if (lock?.staleMs !== undefined && !(lock.staleMs >= 2000)) {
    throw new InvalidInputError(
      `lock.staleMs: must be at least 2000 milliseconds, not ${shortly(lock.staleMs)}`,
    );
  }
  if (lock?.retries !== undefined && !(lock.retries >= 0)) {
    throw new InvalidInputError(
      `lock.retries: must be a number of attempts, at least 0, not ${shortly(lock.retries)}`,
    );
  }
  if (authorize !== undefined && typeof authorize !== "function") {
    throw new InvalidInputError(`authorize: must be a function, not ${shortly(authorize)}`);
  }
  if (onWarning !== undefined && typeof onWarning !== "function") {
    throw new InvalidInputError(`onWarning: must be a function, not ${shortly(onWarning)}`);
  }
  if (workers !== undefined && !(Number.isSafeInteger(workers) && workers >= 0)) {
    throw new InvalidInputError(`workers: must be an integer of at least 0, not ${shortly(workers)}`);
  }
  if (options.groupInserts !== undefined && typeof options.groupInserts !== "boolean") {
    throw new InvalidInputError(`groupInserts: must be true or false, not ${shortly(options.groupInserts)}`);
  }
  if (options.startWorker !== undefined && typeof options.startWorker !== "function") {
    throw new InvalidInputError(`startWorker: must be a function, not ${shortly(options.startWorker)}`);
  }
  checkUpkeep(options.upkeep);
  checkDisk((options as { readonly disk?: unknown }).disk);
  for (const name of ["vectorCacheBytes", "metadataCacheBytes", "indexCacheBytes"] as const) {
    const bytes: unknown = options[name];
    if (bytes === undefined || (typeof bytes === "number" && bytes >= 0)) continue;
    throw new InvalidInputError(`${name}: must be a number of bytes, at least 0, not ${shortly(bytes)}`);
  }
}

/** Checks that the option `disk` has the calls that every disk has. @throws InvalidInputError */
function checkDisk(disk: unknown): void {
  if (disk === undefined) return;
  const { open, list } = isObject(disk) ? (disk as Readonly<Record<string, unknown>>) : {};
  if (typeof open === "function" && typeof list === "function") return;
  throw new InvalidInputError(`disk: must be a disk, with the functions open and list, not ${shortly(disk)}`);
}

/** Checks the option `upkeep`. @throws InvalidInputError */
function checkUpkeep(upkeep: unknown): void {
  if (upkeep === undefined || typeof upkeep === "boolean") return;
  if (!isObject(upkeep)) {
    throw new InvalidInputError(`upkeep: must be true, false or { intervalMs }, not ${shortly(upkeep)}`);
  }
  checkOptionMembers("upkeep", upkeep, ["intervalMs"]);
  const { intervalMs } = upkeep as { readonly intervalMs?: unknown };
  if (intervalMs === undefined) return;
  const isTime = Number.isSafeInteger(intervalMs) && (intervalMs as number) >= 100;
  if (!isTime || (intervalMs as number) > MAX_TIMER_MS) {
    throw new InvalidInputError(
      `upkeep.intervalMs: must be an integer from 100 to ${MAX_TIMER_MS}, not ${shortly(intervalMs)}`,
    );
  }
}

/**
 * Checks that an option is absent or one of the choices.
 * @throws InvalidInputError
 */
export function checkChoice(value: unknown, option: string, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  const choiceList = choices.map((choice) => JSON.stringify(choice)).join(" or ");
  throw new InvalidInputError(`${option}: must be ${choiceList}, not ${shortly(value)}`);
}

/**
 * Checks the option `clusters`.
 * @param clusters unchecked
 * @throws InvalidInputError naming the cluster and the member
 */
function registerClusters(clusters: unknown): ReadonlyMap<string, ClusterExecutor> {
  if (clusters === undefined) return new Map();
  if (!isObject(clusters)) {
    throw new InvalidInputError("clusters: must be an object with an executor for each name");
  }
  for (const [name, executor] of Object.entries(clusters)) {
    const label = `clusters.${formatFieldPath([name])}`;
    const { run, manifests } = isObject(executor) ? (executor as Partial<ClusterExecutor>) : {};
    if (typeof run !== "function") {
      throw new InvalidInputError(`${label}: must be an executor, with a function run`);
    }
    const areTexts = Array.isArray(manifests) && manifests.every((each) => typeof each === "string");
    if (manifests !== undefined && !areTexts) {
      throw new InvalidInputError(`${label}.manifests: must be a list of names`);
    }
  }
  return new Map(Object.entries(clusters));
}

/** Returns a path or URL as text, else undefined. URLs of any realm are recognised by their members. */
function placeText(input: unknown): string | undefined {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null) return undefined;
  const { href, protocol } = input as Partial<URL>;
  return typeof href === "string" && typeof protocol === "string" ? href : undefined;
}

/**
 * Checks that a path or URL names a directory of this machine.
 * @throws InvalidInputError
 */
function checkDirectory(input: unknown, option: string): void {
  const location = placeText(input);
  const refuse = (reason: string) =>
    new InvalidInputError(`${option}: must be the path of a directory${reason}`);
  if (location === undefined) throw refuse(` or a file: URL, not ${shortly(input)}`);
  if (location === "") throw refuse(", which is not empty");
  if (location.includes("\0")) throw refuse(" without zero bytes");
  // A single letter is a drive of Windows.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(location)?.[1].toLowerCase();
  const isUrl = typeof input !== "string" || /^[^/:]+:\/\//.test(location);
  if (isUrl && scheme !== "file") {
    throw refuse(` of the disk, or a file: URL: ${location.slice(0, 200)} is neither. ${adviceFor(scheme)}`);
  }
  if (/^~(?:$|[/\\])/.test(location)) {
    throw refuse(
      `: ${location.slice(0, 200)} begins with a ~, which only shells resolve; os.homedir() names that directory`,
    );
  }
}

/** Advises a caller whose directory has an address of another scheme. */
const adviceFor = (scheme: string | undefined): string =>
  scheme === "s3+ddb"
    ? "s3+ddb is not supported: commits to buckets use conditional puts, not DynamoDB"
    : scheme === "s3" || scheme === "s3a"
      ? "For a bucket, pass the option disk: s3Disk({ bucket, prefix }) of tiltyard/disks, and the root /"
      : "Tables in an object store can be copied here first";

/**
 * Returns the absolute path of a directory.
 * @param input path, or `file:` URL
 * @param top where relative paths begin; empty for the working directory
 * @throws InvalidInputError naming the option, for a URL that is not a directory of this machine
 */
function directoryOf(input: string | URL, option: string, top: string): string {
  const location = placeText(input) ?? "";
  if (!/^file:/i.test(location)) return resolve(top, location);
  let path: string;
  try {
    path = pathOfFileUrl(location);
  } catch (cause) {
    throw new InvalidInputError(`${option}: ${location} is not the URL of a directory on this machine`, {
      cause,
    });
  }
  if (path.includes("\0")) throw new InvalidInputError(`${option}: must be the path of a directory`);
  return path;
}
