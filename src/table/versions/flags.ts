/**
 * Feature flags of a manifest: what a reader, or a writer, must know to do no harm. Both words are computed
 * from content at every commit. A table with a bit that this build does not implement is refused.
 */

import { CorruptFileError, UnsupportedError } from "../../errors.js";
import type { Manifest } from "../../format/table.js";

/** The bits that this build works with; never to be renumbered. */
const FEATURE_FLAG = {
  deletionFiles: 1n << 0n,
  stableRowIds: 1n << 1n,
  /** An old marker, which only counts in manifests that do not name their data format. */
  useV2Format: 1n << 2n,
  tableConfig: 1n << 3n,
  basePaths: 1n << 4n,
  mixedDataFileVersions: 1n << 8n,
  managedBlobs: 1n << 14n,
} as const;

/**
 * Names of the bits in the documents of the format, from bit 0 on: what an error says, and a search finds.
 */
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
/** What this build honours, in either word. */
const IMPLEMENTED =
  FEATURE_FLAG.deletionFiles |
  FEATURE_FLAG.stableRowIds |
  FEATURE_FLAG.useV2Format |
  FEATURE_FLAG.tableConfig |
  FEATURE_FLAG.basePaths;
/** Bits whose two words must agree. */
const PAIRED = FEATURE_FLAG.mixedDataFileVersions | FEATURE_FLAG.managedBlobs;

/** The two words of a manifest. */
type FeatureFlags = Pick<Manifest, "readerFeatureFlags" | "writerFeatureFlags">;

/**
 * @throws UnsupportedError naming the bit that keeps us from reading the table
 * @throws CorruptFileError where a paired bit is set in one word only
 */
export function checkReaderFlags(manifest: FeatureFlags, path: string): void {
  refuse(manifest.readerFeatureFlags, "read", path);
  if ((manifest.readerFeatureFlags ^ manifest.writerFeatureFlags) & PAIRED) {
    throw new CorruptFileError(path, 0, "a paired feature flag is set in one of the two words only");
  }
}

/** @throws UnsupportedError naming the bit that keeps us from writing to the table */
export function checkWriterFlags(manifest: FeatureFlags, path: string): void {
  refuse(manifest.writerFeatureFlags, "write", path);
}

function refuse(word: bigint, purpose: "read" | "write", path: string): void {
  const foreign = word & ~IMPLEMENTED;
  if (foreign === 0n) return;
  const bit = foreign.toString(2).length - 1;
  const name = NAMES[bit] ?? "unknown";
  throw new UnsupportedError(
    `cannot ${purpose} ${path}: feature flag ${1n << BigInt(bit)} (bit ${bit}, ${name})`,
  );
}

/** Both words as the content of a manifest asks for them. */
export function featureFlagsOf(manifest: Manifest): { reader: bigint; writer: bigint } {
  let both = 0n;
  if (manifest.fragments.some((fragment) => fragment.deletionFile !== undefined)) {
    both |= FEATURE_FLAG.deletionFiles;
  }
  if (hasStableRowIds(manifest)) both |= FEATURE_FLAG.stableRowIds;
  if (manifest.basePaths.length > 0) both |= FEATURE_FLAG.basePaths;
  return { reader: both, writer: manifest.config.size > 0 ? both | FEATURE_FLAG.tableConfig : both };
}

/** The flag of tables whose rows keep their ids. */
export const STABLE_ROW_IDS_FLAG: bigint = FEATURE_FLAG.stableRowIds;

/** True if rows keep their ids when they move; decided when a table is created and kept for good. */
export const hasStableRowIds = (manifest: Manifest): boolean =>
  (manifest.readerFeatureFlags & FEATURE_FLAG.stableRowIds) !== 0n;

/** True if a manifest that does not name its data format has data files of version 2.0. */
export const hasV2Flag = (manifest: Pick<Manifest, "readerFeatureFlags" | "writerFeatureFlags">): boolean =>
  ((manifest.readerFeatureFlags | manifest.writerFeatureFlags) & FEATURE_FLAG.useV2Format) !== 0n;
