/**
 * Applies a transaction to a version, and returns the manifest of the next version. After a lost race, the
 * same transaction can be applied to a newer version.
 *
 * A new fragment comes with id 0 and gets the next number above the highest ever assigned, also on overwrite.
 * With stable row ids, new rows get the next unused ids, and the number of the version that adds them.
 */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import {
  DATA_FILE_FORMAT,
  DataFormat,
  Manifest,
  Timestamp,
  type Transaction,
  WriterVersion,
} from "../../format/table.js";
import { featureFlagsOf, hasStableRowIds, STABLE_ROW_IDS_FLAG } from "../versions/flags.js";
import type { VersionContent } from "../versions/versionContent.js";
import { cloneVersion } from "./applyClone.js";
import {
  appendFragments,
  deleteRows,
  highestFragmentId,
  replaceFiles,
  reserveFragmentIds,
  rewriteFragments,
  updateRows,
} from "./applyFragments.js";
import { changeColumns, changeMetadata, projectSchema } from "./applySchema.js";
import { changeIndices } from "./indexEntries.js";
import { refuseLongMetadata } from "./metadataSize.js";
import { fileNameOf, type Operation, operationOf } from "./transaction.js";

export interface ApplyContext {
  readonly version: number;
  /** Current time in nanoseconds since the epoch. */
  readonly nowNs: bigint;
  /** Schema metadata of an overwrite, which its transaction does not contain. */
  readonly schemaMetadata?: ReadonlyMap<string, Uint8Array>;
  /** Data format of a new table, e.g. `2.2`. */
  readonly dataFormatVersion?: string;
  /** True if rows of a new table keep their ids when they move. */
  readonly stableRowIds?: boolean;
  /** Content that a restore brings back. */
  readonly restored?: VersionContent;
  /**
   * True if the overwrite replaces a table that is rewritten at every change. Its fragments are numbered from
   * 0 again.
   */
  readonly rewritesTable?: boolean;
  /** True if only the manifest stores the transaction. Default: a file in `_transactions` too. */
  readonly isInline?: boolean;
}

export const WRITER = WriterVersion.create({ library: "tiltyard", version: "0.1.0" });

const NS_PER_SECOND = 1_000_000_000n;

/**
 * Applies a transaction.
 * @param base the latest version, or null if the transaction creates the table; for a clone, the cloned
 *   version
 * @throws UnsupportedError for operations that this build does not commit
 * @throws TransactionConflictError if the base no longer has what the transaction changes
 */
export function applyTransaction(
  base: VersionContent | null,
  transaction: Transaction,
  context: ApplyContext,
): VersionContent {
  // A plain object: a manifest file decodes its parts by getters, which a spread would lose.
  const plain = base && { manifest: base.manifest, indexSectionBytes: base.indexSectionBytes };
  const content = contentAfter(plain, operationOf(transaction), context);
  refuseLongMetadata(base?.manifest ?? null, content.manifest);
  const manifest: Manifest = {
    ...content.manifest,
    version: context.version,
    timestamp: timestampAfter(base?.manifest.timestamp, context.nowNs),
    tag: "",
    transactionFile: context.isInline ? "" : fileNameOf(transaction),
    writerVersion: WRITER,
  };
  const flags = featureFlagsOf(manifest);
  manifest.readerFeatureFlags = flags.reader;
  manifest.writerFeatureFlags = flags.writer;
  return { manifest, indexSectionBytes: content.indexSectionBytes };
}

function contentAfter(
  base: VersionContent | null,
  operation: Operation,
  context: ApplyContext,
): VersionContent {
  if (operation.kind === "overwrite") {
    const { fragments, schema, configUpsertValues } = operation.value;
    const emptied: Manifest = {
      ...(base?.manifest ?? newTable(context)),
      fields: schema,
      schemaMetadata: new Map(context.schemaMetadata),
      fragments: [],
    };
    if (context.rewritesTable) emptied.maxFragmentId = undefined;
    for (const [key, value] of configUpsertValues) emptied.config = new Map(emptied.config).set(key, value);
    return appendFragments({ manifest: emptied, indexSectionBytes: null }, fragments, context.version);
  }
  if (base === null) throw new InvalidInputError(`there is no table for a change of kind ${operation.kind}`);
  switch (operation.kind) {
    case "append":
      return appendFragments(base, operation.value.fragments, context.version);
    case "delete":
      return deleteRows(base, operation.value);
    case "update":
      return updateRows(base, operation.value, context.version);
    case "rewrite":
      return rewriteFragments(base, operation.value);
    case "reserveFragments":
      return reserveFragmentIds(base, operation.value.numFragments);
    case "dataReplacement":
      return replaceFiles(base, operation.value);
    case "merge":
      return changeColumns(base, operation.value, context.version);
    case "project":
      return projectSchema(base, operation.value);
    case "updateConfig":
      return changeMetadata(base, operation.value);
    case "createIndex":
      return changeIndices(base, operation.value);
    case "restore":
      if (context.restored === undefined) {
        throw new InvalidInputError(`there is no version ${operation.value.version} to restore`);
      }
      return restoreOver(base.manifest, context.restored);
    case "clone":
      return cloneVersion(base, operation.value);
    case "updateBases":
    case "updateMemWalState":
    case "unknown":
      throw new UnsupportedError(`transactions of kind ${operation.kind} cannot be committed`);
  }
}

function newTable(context: ApplyContext): Manifest {
  if (context.dataFormatVersion === undefined) {
    throw new InvalidInputError("a new table needs a data format version");
  }
  return Manifest.create({
    dataFormat: DataFormat.create({ fileFormat: DATA_FILE_FORMAT, version: context.dataFormatVersion }),
    readerFeatureFlags: context.stableRowIds === true ? STABLE_ROW_IDS_FLAG : 0n,
  });
}

/** Combines an old version's content with the current counters, so that no id is assigned twice. */
function restoreOver(current: Manifest, restored: VersionContent): VersionContent {
  const old = restored.manifest;
  if (hasStableRowIds(current) !== hasStableRowIds(old)) {
    throw new InvalidInputError(`version ${old.version} is from before the table had stable row ids`);
  }
  const highestId = Math.max(highestFragmentId(current), highestFragmentId(old));
  return {
    manifest: {
      ...old,
      maxFragmentId: highestId < 0 ? undefined : highestId,
      nextRowId: Math.max(current.nextRowId, old.nextRowId),
      branch: current.branch,
    },
    indexSectionBytes: restored.indexSectionBytes,
  };
}

/**
 * Returns the current time, but always a time after the previous version, even if clocks disagree: versions
 * are also found by time. Never returns a time before 1970, which other readers cannot represent.
 */
function timestampAfter(previous: Timestamp | undefined, nowNs: bigint): Timestamp {
  const earliest =
    previous === undefined ? 0n : BigInt(previous.seconds) * NS_PER_SECOND + BigInt(previous.nanos) + 1n;
  const latest = nowNs > earliest ? nowNs : earliest;
  const ns = latest > 0n ? latest : 0n;
  return Timestamp.create({ seconds: Number(ns / NS_PER_SECOND), nanos: Number(ns % NS_PER_SECOND) });
}
