/**
 * Defines every file and directory name of a table. `tableRoot` is the absolute directory of the table, or of
 * one of its branches, which has the same layout. Below it:
 *
 *     data/<24 binary digits><26 hex digits>.lance     data files
 *     _versions/<name>.manifest                        one manifest per version, named by scheme:
 *                                                        V1  the version in decimal
 *                                                        V2  2^64 - 1 - version as 20 digits: the latest
 *                                                            version sorts first
 *     _versions/latest_version_hint.json               the hint
 *     _versions/<name>.retired  .released              manifests of versions that are being removed
 *     _transactions/<read version>-<uuid>.txn          the change of each version
 *     _deletions/<fragment>-<read version>-<id>.arrow|.bin
 *     _indices/<uuid>/                                 one directory per index segment
 *     _refs/tags/<tag>.json  _refs/branches/<branch>.json   names percent-encoded
 *     tree/<branch>/                                   the branch's own directory
 *     _staging/                                        manifests that callers of createTableVersion staged
 *     _tiltyard/versions/<version>.json                record that a caller of createTableVersion attached
 *     _tiltyard/version_gaps.json                      the last gap in the version numbers
 *     _tiltyard/checkpoints/<name>                     values of running backfills
 *     _tiltyard/retired/<name>.manifest                name of `<name>.retired` in older releases
 *
 * The reference ignores `_tiltyard`.
 */

import { toHex } from "../../bytes/hex.js";
import { UnsupportedError } from "../../errors.js";
import { DELETION_FILE_TYPE, type DeletionFile } from "../../format/table.js";
import { foldName, isDeviceName } from "../../io/names/foldName.js";
import { join } from "../../platform/native.js";

/** Naming scheme of manifests; a table uses one. */
export type NamingScheme = "V1" | "V2";

/** Suffix of the files in `_versions` that readers treat as versions. */
export const MANIFEST_SUFFIX = ".manifest";
const V2_DIGITS = 20;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

export const dataDirectory = (tableRoot: string): string => join(tableRoot, "data");
export const versionsDirectory = (tableRoot: string): string => join(tableRoot, "_versions");
export const transactionsDirectory = (tableRoot: string): string => join(tableRoot, "_transactions");
export const deletionsDirectory = (tableRoot: string): string => join(tableRoot, "_deletions");
export const indicesDirectory = (tableRoot: string): string => join(tableRoot, "_indices");
export const refsDirectory = (tableRoot: string): string => join(tableRoot, "_refs");
export const tagsDirectory = (tableRoot: string): string => join(refsDirectory(tableRoot), "tags");
export const branchesDirectory = (tableRoot: string): string => join(refsDirectory(tableRoot), "branches");
export const branchDirectory = (tableRoot: string, branch: string): string =>
  join(tableRoot, "tree", ...branch.split("/"));
export const sideDirectory = (tableRoot: string): string => join(tableRoot, "_tiltyard");
/** Directory in which callers may stage manifests. */
export const stagingDirectory = (tableRoot: string): string => join(tableRoot, "_staging");
export const versionRecordsDirectory = (tableRoot: string): string =>
  join(sideDirectory(tableRoot), "versions");

/** Directory for values that a backfill has computed and not committed yet. */
export const checkpointsDirectory = (tableRoot: string): string =>
  join(sideDirectory(tableRoot), "checkpoints");

/** Directory for records of computed columns. */
export const computedDirectory = (tableRoot: string): string => join(sideDirectory(tableRoot), "computed");
export const fittingRecordPath = (tableRoot: string, fieldId: number): string =>
  join(computedDirectory(tableRoot), `${fieldId}.json`);

/** Directory of the signatures that LanceDB keeps of computed columns. */
export const refreshDirectory = (tableRoot: string): string => join(tableRoot, "_computed");

/** Parts of a table or branch in its directory; directories of nested branches may lie among them. */
export const TABLE_PARTS: readonly string[] = [
  "_versions",
  "_transactions",
  "data",
  "_deletions",
  "_indices",
  "_computed",
  "_tiltyard",
];

/** Parts that a table can have before its first version. */
export const CREATED_PARTS: readonly string[] = ["_versions", "_transactions", "data"];
export const retiredDirectory = (tableRoot: string): string => join(sideDirectory(tableRoot), "retired");

/** Directories with unique file names: the file's name, or its directory's, contains a random id. */
const UNIQUE_NAMES: readonly string[] = ["data", "_transactions", "_deletions", "_indices", "_computed"];
/** Directories whose file names may be reused by a later table or branch. */
const REPEATED_NAMES: readonly string[] = ["_versions", "_refs", "_tiltyard", "_staging", "tree"];

const PARTS: ReadonlySet<string> = new Set([...TABLE_PARTS, "_refs", "tree"].map(foldName));
const SIDE_START = foldName("_tiltyard");

/** Returns true if some file system treats a name as that of a directory with published files. */
export function isTablePart(name: string): boolean {
  const folded = foldName(name);
  return PARTS.has(folded) || folded.startsWith(SIDE_START);
}

/** Returns true if files below a part of a table have unique names; undefined for other directories. */
export function hasUniqueNames(directoryName: string): boolean | undefined {
  if (UNIQUE_NAMES.includes(directoryName)) return true;
  return REPEATED_NAMES.includes(directoryName) ? false : undefined;
}

// ------------------------------------------------------------------------------------- names from content

/** Usual form of file names, as most writers make them. */
const USUAL_NAME = /^[0-9A-Za-z_-]+\.[a-z]{1,8}$/;
const MAX_NAME_BYTES = 255;
/** Separators, streams and drives of Windows, and control characters. */
const UNFIT = /[/\\:\p{Cc}]/u;
/** Length beyond any device name. */
const MIN_USUAL_LENGTH = 24;

/**
 * Returns true if a text from a manifest is the name of one file, which cannot lead out of its directory.
 * Every name that becomes part of a path is checked here.
 */
export function isFileName(name: string): boolean {
  if (name.length >= MIN_USUAL_LENGTH && name.length <= MAX_NAME_BYTES && USUAL_NAME.test(name)) return true;
  if (name === "" || name === "." || name === ".." || UNFIT.test(name) || isDeviceName(name)) return false;
  return new TextEncoder().encode(name).length <= MAX_NAME_BYTES;
}

/** Like {@link isFileName}, for a data file, which other writers may put into directories below `data/`. */
export const isDataFileName = (name: string): boolean => name.split("/").every(isFileName);

export const HINT_NAME = "latest_version_hint.json";
const GAPS_NAME = "version_gaps.json";

export const hintPath = (tableRoot: string): string => join(versionsDirectory(tableRoot), HINT_NAME);
export const gapsPath = (tableRoot: string): string => join(sideDirectory(tableRoot), GAPS_NAME);
export const versionRecordName = (version: number): string => `${version}.json`;

export const REF_SUFFIX = ".json";
export const tagName = (tag: string): string => encodeURIComponent(tag) + REF_SUFFIX;
export const tagPath = (tableRoot: string, tag: string): string =>
  join(tagsDirectory(tableRoot), tagName(tag));
/** Returns a branch's name as part of a file name, with `%2F` for a slash. */
export const branchRefName = (branch: string): string => encodeURIComponent(branch) + REF_SUFFIX;
export const branchRefPath = (tableRoot: string, branch: string): string =>
  join(branchesDirectory(tableRoot), branchRefName(branch));

/** Root of all branches of the table at `mainRoot`. */
export const branchTree = (mainRoot: string): string => join(mainRoot, "tree");

/** Returns the directory name of an index segment; the uuid has 16 bytes. */
export function indexDirectoryName(uuid: Uint8Array): string {
  const hex = toHex(uuid);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.*)$/, "$1-$2-$3-$4-$5");
}

/** Makes a name for a data file from a random UUID: 3 bytes in binary and 13 in hexadecimal. */
export function dataFileName(): string {
  // `randomUUID` draws from a buffer that the runtime fills in bulk.
  const hex = crypto.randomUUID().replaceAll("-", "");
  const binary = Number.parseInt(hex.slice(0, 6), 16).toString(2).padStart(24, "0");
  return `${binary}${hex.slice(6)}.lance`;
}

export const transactionFileName = (readVersion: number, uuid: string): string =>
  `${readVersion}-${uuid}.txn`;

/** Parses the name of a transaction's file; null if it has another form. */
export function parseTransactionFileName(name: string): { readVersion: number; uuid: string } | null {
  const [, digits, uuid] = /^(\d{1,16})-([^/\\]+)\.txn$/.exec(name) ?? [];
  const readVersion = Number(digits);
  return uuid !== undefined && Number.isSafeInteger(readVersion) ? { readVersion, uuid } : null;
}

export function deletionFileName(fragmentId: number, file: DeletionFile): string {
  const extension = file.fileType === DELETION_FILE_TYPE.bitmap ? "bin" : "arrow";
  return `${fragmentId}-${file.readVersion}-${file.id}.${extension}`;
}

export function manifestName(version: number, scheme: NamingScheme): string {
  if (scheme === "V1") return `${version}${MANIFEST_SUFFIX}`;
  return (U64_MAX - BigInt(version)).toString().padStart(V2_DIGITS, "0") + MANIFEST_SUFFIX;
}

export const manifestPath = (tableRoot: string, version: number, scheme: NamingScheme): string =>
  join(versionsDirectory(tableRoot), manifestName(version, scheme));

/**
 * Parses the name of a file in `_versions`; null if it is not a version: a staged orphan, a detached version,
 * the hint or a foreign file.
 * @throws UnsupportedError for a version number beyond 2^53 - 1
 */
export function parseManifestName(name: string): { version: number; scheme: NamingScheme } | null {
  if (!name.endsWith(MANIFEST_SUFFIX)) return null;
  const digits = name.slice(0, -MANIFEST_SUFFIX.length);
  if (digits.length === V2_DIGITS) {
    if (!/^\d+$/.test(digits)) return null;
    const inverted = BigInt(digits);
    if (inverted > U64_MAX) return null;
    return { version: safeVersion(U64_MAX - inverted, name), scheme: "V2" };
  }
  if (digits.length > V2_DIGITS || !/^(0|[1-9]\d*)$/.test(digits)) return null;
  return { version: safeVersion(BigInt(digits), name), scheme: "V1" };
}

/** Suffix of the manifest of a version that is being removed; see retiredVersions.ts. */
export type RemovalState = "retired" | "released";
const REMOVAL_STATES: readonly RemovalState[] = ["retired", "released"];

export const setAsideName = (version: number, scheme: NamingScheme, state: RemovalState): string =>
  `${manifestName(version, scheme).slice(0, -MANIFEST_SUFFIX.length)}.${state}`;

/** Parses the name of a version that is being removed; null for another file of `_versions`. */
export function parseSetAsideName(
  name: string,
): { version: number; scheme: NamingScheme; state: RemovalState } | null {
  const state = REMOVAL_STATES.find((each) => name.endsWith(`.${each}`));
  if (state === undefined) return null;
  const parsed = parseManifestName(name.slice(0, -state.length - 1) + MANIFEST_SUFFIX);
  return parsed && { ...parsed, state };
}

function safeVersion(version: bigint, name: string): number {
  if (version > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new UnsupportedError(`manifest ${name} holds version ${version}; versions end at 2^53 - 1`);
  }
  return Number(version);
}

/** Suffix of a file that the reference is writing, before it links the file to its final name. */
export const FOREIGN_TEMPORARY = /#\d+$/;
