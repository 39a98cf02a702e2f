/** Options of a namespace: checked when it is opened, and kept as they were then. */

import { InvalidInputError } from "../errors.js";
import type { Disk } from "../io/disk/disk.js";
import { pathOfFileUrl } from "../io/names/fileUrls.js";
import type { ClusterExecutor } from "../namespace/clusters.js";
import type { DirectoryNamespaceOptions } from "../namespace/options.js";
import { checkOptionMembers, shortly } from "../optionMembers.js";
import { resolve } from "../platform/native.js";
import { type RegisteredFunction, registerFunctions } from "../write/userFunctions.js";
import { registerClusters } from "./registeredClusters.js";

/** The names of all options: a misspelt option would silently mean its default. */
const OPTION_NAMES: Readonly<Record<keyof DirectoryNamespaceOptions | "disk", true>> = {
  root: true,
  durability: true,
  authorize: true,
  functions: true,
  clusters: true,
  onWarning: true,
  lock: true,
  workers: true,
  vectorCacheBytes: true,
  allowedBases: true,
  dataStorageVersion: true,
  manifestNaming: true,
  disk: true,
};

/** What a context is opened with. */
export interface ContextOptions
  extends Omit<DirectoryNamespaceOptions, "root" | "allowedBases" | "functions" | "clusters"> {
  /** An absolute path. */
  readonly root: string;
  /** Absolute paths. */
  readonly allowedBases?: readonly string[] | undefined;
  readonly functions?: ReadonlyMap<string, RegisteredFunction> | undefined;
  readonly clusters?: ReadonlyMap<string, ClusterExecutor> | undefined;
  /** For tests: another implementation of the disk. */
  readonly disk?: Disk | undefined;
}

/**
 * The options of a namespace as they are now, with absolute directories.
 * @param given unchecked
 * @throws InvalidInputError naming the option, its value, and what it may be; UnsupportedError for the output of a function
 *   that tables can't have
 */
export function contextOptionsOf(
  given: DirectoryNamespaceOptions & { readonly disk?: Disk },
): ContextOptions {
  checkNamespaceOptions(given);
  return {
    ...given,
    root: directoryOf(given.root, "root"),
    allowedBases: given.allowedBases?.map((base) => directoryOf(base, "allowedBases")),
    functions: registerFunctions(given.functions),
    clusters: registerClusters(given.clusters),
    lock: given.lock === undefined ? undefined : { ...given.lock },
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
    vectorCacheBytes,
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
  if (vectorCacheBytes !== undefined && !(vectorCacheBytes >= 0)) {
    throw new InvalidInputError(
      `vectorCacheBytes: must be a number of bytes, at least 0, not ${shortly(vectorCacheBytes)}`,
    );
  }
}

/** @throws InvalidInputError unless an option is absent or one of some texts */
export function checkChoice(value: unknown, option: string, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  const listed = choices.map((choice) => JSON.stringify(choice)).join(" or ");
  throw new InvalidInputError(`${option}: must be ${listed}, not ${shortly(value)}`);
}

/** A path or URL as text; undefined for anything else. URLs are told by their members, as another realm has its own. */
function placeText(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  if (typeof given !== "object" || given === null) return undefined;
  const { href, protocol } = given as Partial<URL>;
  return typeof href === "string" && typeof protocol === "string" ? href : undefined;
}

/** @throws InvalidInputError for what names no directory of this machine */
function checkDirectory(given: unknown, option: string): void {
  const location = placeText(given);
  const refuse = (reason: string) =>
    new InvalidInputError(`${option}: must be the path of a directory${reason}`);
  if (location === undefined) throw refuse(` or a file: URL, not ${shortly(given)}`);
  if (location === "") throw refuse(", which is not empty");
  if (location.includes("\0")) throw refuse(" without zero bytes");
  // One letter is a drive of Windows.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(location)?.[1].toLowerCase();
  const isUrl = typeof given !== "string" || /^[^/:]+:\/\//.test(location);
  if (isUrl && scheme !== "file") {
    throw refuse(
      ` on this machine, or a file: URL: ${location.slice(0, 200)} is neither. Tables in an object store can be copied here first`,
    );
  }
  if (/^~(?:$|[/\\])/.test(location)) {
    throw refuse(
      `: ${location.slice(0, 200)} begins with a ~, which only shells resolve; os.homedir() names that directory`,
    );
  }
}

/**
 * @param given a path, or a `file:` URL
 * @throws InvalidInputError naming the option, for a URL of no directory on this machine
 */
function directoryOf(given: string | URL, option: string): string {
  const location = placeText(given) ?? "";
  if (!/^file:/i.test(location)) return resolve(location);
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
