/**
 * Handles the feature flags of a manifest: the features that a reader, or a writer, must know to do no harm.
 * Every commit computes both words from the content. A table with an unknown bit is refused.
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";

/** Bits that this build handles; never to be renumbered. */
const FEATURE_FLAG = {
  deletionFiles: 1n << 0n,
  stableRowIds: 1n << 1n,
  /** Old marker, which counts only in manifests that do not name their data format. */
  useV2Format: 1n << 2n,
  tableConfig: 1n << 3n,
  basePaths: 1n << 4n,
  mixedDataFileVersions: 1n << 8n,
  managedBlobs: 1n << 14n,
} as const;

/** Names of the bits in the documents of the format, from bit 0 on, for error messages. */
const NAMES = [
  "DELETION_FILES",
  "STABLE_ROW_IDS",
  "USE_V2_FORMAT_DEPRECATED",
  "TABLE_CONFIG",
  "BASE_PATHS",
  "DISABLE_TRANSACTION_FILE",
  "UNSTABLE_DATA_OVERLAY_FILES",
  "COVERED_INDEX_METADATA",
  "MIXED_DATA_FILE_VERSIONS",
  "FRAG_REUSE_WITH_STABLE_ROW_IDS",
  "FRAGMENT_REUSE_INDEX",
  "UNSTABLE_SPILLED_ROW_LINEAGE",
  "FRAGMENT_TREE",
  "INDEPENDENT_COVERING_FIELDS",
  "MANAGED_BLOBS",
];
/** Bits that this build implements, in either word. */
const IMPLEMENTED =
  FEATURE_FLAG.deletionFiles |
  FEATURE_FLAG.stableRowIds |
  FEATURE_FLAG.useV2Format |
  FEATURE_FLAG.tableConfig |
  FEATURE_FLAG.basePaths;
/** Bits that must have the same value in both words. */
const PAIRED = FEATURE_FLAG.mixedDataFileVersions | FEATURE_FLAG.managedBlobs;

type FeatureFlags = Pick<Manifest, "readerFeatureFlags" | "writerFeatureFlags">;

/**
 * Checks that this build can read the table.
 * @throws UnsupportedError naming the unknown bit
 * @throws CorruptFileError if a paired bit is set in one word only
 */
export function checkReaderFlags(manifest: FeatureFlags, path: string): void {
  refuse(manifest.readerFeatureFlags, "read", path);
  if ((manifest.readerFeatureFlags ^ manifest.writerFeatureFlags) & PAIRED) {
    throw new CorruptFileError(path, 0, "a paired feature flag is set in one of the two words only");
  }
}

/**
 * Checks that this build can write to the table.
 * @throws UnsupportedError naming the unknown bit
 */
export function checkWriterFlags(manifest: FeatureFlags, path: string): void {
  refuse(manifest.writerFeatureFlags, "write", path);
}

/**
 * Checks that this build can write a version after this one. In tables of 0.1, manifests also hold the
 * dictionaries of the columns, which this release does not write.
 * @throws UnsupportedError
 */
export function requireWritable(manifest: Manifest, path: string): void {
  checkReaderFlags(manifest, path);
  checkWriterFlags(manifest, path);
  const { dataFormat, fields } = manifest;
  if (dataFormat?.version !== "0.1") return;
  const field = fields.find(({ dictionary }) => (dictionary?.length ?? 0) > 0);
  if (field === undefined) return;
  throw new UnsupportedError(
    `${path} has data format version 0.1: the legacy format, which is read and not written; its manifests hold the dictionary of ${field.name}`,
  );
}

function refuse(word: bigint, purpose: "read" | "write", path: string): void {
  const foreign = word & ~IMPLEMENTED;
  if (foreign === 0n) return;
  const bit = foreign.toString(2).length - 1;
  const name = NAMES[bit] ?? "unknown";
  throw new UnsupportedError(
    `cannot ${purpose} ${path}: feature flag ${1n << BigInt(bit)} (bit ${bit}, ${name}) is not supported by this release`,
  );
}

/** Computes both words from the content of a manifest. */
export function featureFlagsOf(manifest: Manifest): { reader: bigint; writer: bigint } {
  let both = 0n;
  if (manifest.fragments.some((fragment) => fragment.deletionFile !== undefined)) {
    both |= FEATURE_FLAG.deletionFiles;
  }
  if (hasStableRowIds(manifest)) both |= FEATURE_FLAG.stableRowIds;
  if (manifest.basePaths.length > 0) both |= FEATURE_FLAG.basePaths;
  return { reader: both, writer: manifest.config.size > 0 ? both | FEATURE_FLAG.tableConfig : both };
}

/** Flag of tables with stable row ids. */
export const STABLE_ROW_IDS_FLAG: bigint = FEATURE_FLAG.stableRowIds;

/** Returns true if rows keep their ids when they move; decided for good when a table is created. */
export const hasStableRowIds = (manifest: Manifest): boolean =>
  (manifest.readerFeatureFlags & FEATURE_FLAG.stableRowIds) !== 0n;

/** Returns true if a manifest that does not name its data format has data files of version 2.0. */
export const hasV2Flag = (manifest: Pick<Manifest, "readerFeatureFlags" | "writerFeatureFlags">): boolean =>
  ((manifest.readerFeatureFlags | manifest.writerFeatureFlags) & FEATURE_FLAG.useV2Format) !== 0n;
