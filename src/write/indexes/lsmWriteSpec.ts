/**
 * Settings of LanceDB's log-structured writes (MemWAL). A version has them as the system index
 * `__lance_mem_wal`, which has details but no files:
 *
 *     bucket      numShards = number of buckets, transform "bucket" with the parameter num_buckets
 *     identity    numShards = 0, transform "identity"
 *     unsharded   numShards = 1, transform "unsharded" of no column
 *
 * This engine stores and reads the settings, and writes no logs.
 */

import type { LogicalType } from "../../arrow/types/type.js";
import { InvalidInputError } from "../../errors.js";
import { Any } from "../../format/file.js";
import { MemWalIndexDetails } from "../../format/indexDetails.js";
import { CreateIndex, IndexMetadata, type Transaction, Uuid } from "../../format/table.js";
import { formatQuotedPath } from "../../ident.js";
import type { LsmWriteSpec } from "../../namespace/upkeep.js";
import { allFields, resolveField } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { namedIndexes } from "../../table/commit/namedIndexes.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { BUFFER_INDEX } from "../../table/versions/bufferedRows.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { newUuid } from "./segment.js";

const TYPE_URL = "/lance.table.MemWalIndexDetails";
export const SPEC_TYPES = ["bucket", "identity", "unsharded"] as const;
/** Number of the only rule of a table. */
const SPEC_ID = 1;
/** Indexes that logs can keep up to date, by the end of their type. */
const MAINTAINED = /\.(BTreeIndexDetails|InvertedIndexDetails|VectorIndexDetails)$/;

/** A change of the settings, and what the version has after it. */
export interface PlannedSpec {
  readonly transaction: Transaction;
  readonly spec: LsmWriteSpec | null;
}

/**
 * Plans to store settings, or to remove those that a version has.
 * @param spec checked settings; null removes those of the version
 * @throws InvalidInputError if the column or an index does not suit; if there are settings already; if there
 *   are none to remove
 */
export function planWriteSpec(file: ManifestFile, spec: LsmWriteSpec | null): PlannedSpec {
  const stored = indicesOf(file).filter(({ name }) => name === BUFFER_INDEX);
  const { version } = file.manifest;
  if (spec === null) {
    if (stored.length === 0) throw new InvalidInputError("spec: no LSM write spec is set on this table");
    const removal = CreateIndex.create({ removedIndices: stored });
    return { transaction: newTransaction(version, "createIndex", removal), spec: null };
  }
  if (stored.length > 0) {
    throw new InvalidInputError("spec: an LSM write spec is already set on this table; remove it first");
  }
  const fields = decodeSchema(file.manifest.fields, file.path);
  const details = detailsOf(file, fields, spec);
  const index = IndexMetadata.create({
    uuid: Uuid.create({ uuid: newUuid() }),
    name: BUFFER_INDEX,
    datasetVersion: version,
    createdAt: Math.max(0, Date.now()),
    indexDetails: Any.create({ typeUrl: TYPE_URL, value: MemWalIndexDetails.encode(details) }),
    indexVersion: 0,
  });
  const change = CreateIndex.create({ newIndices: [index] });
  return { transaction: newTransaction(version, "createIndex", change), spec: specOf(details, fields) };
}

/** Returns the settings of a version; undefined if it has none. */
export function storedWriteSpec(file: ManifestFile, fields: readonly TableField[]): LsmWriteSpec | undefined {
  const index = indicesOf(file).find(({ name }) => name === BUFFER_INDEX);
  const bytes = index?.indexDetails?.value;
  return bytes === undefined
    ? undefined
    : specOf(MemWalIndexDetails.decode(bytes, { path: `details of ${BUFFER_INDEX}`, byteOffset: 0 }), fields);
}

type Details = ReturnType<typeof MemWalIndexDetails.decode>;

function specOf(details: Details, fields: readonly TableField[]): LsmWriteSpec {
  const rule = details.shardingSpecs[0]?.fields[0];
  const specType = SPEC_TYPES.find((type) => type === rule?.transform) ?? "unsharded";
  const source = [...allFields(fields)].find(({ field }) => field.id === rule?.sourceFieldIds[0]);
  return {
    specType,
    ...(source !== undefined && { column: formatQuotedPath(source.chain.map(({ name }) => name)) }),
    ...(specType === "bucket" && { numBuckets: details.numShards }),
    maintainedIndexes: [...details.maintainedIndexes],
    writerConfigDefaults: Object.fromEntries(details.writerConfigDefaults),
  };
}

function detailsOf(file: ManifestFile, fields: readonly TableField[], spec: LsmWriteSpec): Details {
  const { specType, column, numBuckets = 0, writerConfigDefaults } = spec;
  const source = specType === "unsharded" ? null : resolveField(fields, column as string).field;
  const resultType = specType === "identity" ? shardTypeOf(source as TableField) : "int32";
  if (specType === "bucket" && isNested((source as TableField).type)) throw noShardKey(source as TableField);
  const parameters = new Map(specType === "bucket" ? [["num_buckets", String(numBuckets)]] : []);
  const sourceFieldIds = source === null ? [] : [source.id];
  const rule = { name: "bucket", sourceFieldIds, transform: specType, resultType, parameters };
  return MemWalIndexDetails.create({
    numShards: specType === "bucket" ? numBuckets : specType === "unsharded" ? 1 : 0,
    shardingSpecs: [{ specId: SPEC_ID, fields: [rule] }],
    maintainedIndexes: maintainedOf(file, spec.maintainedIndexes),
    writerConfigDefaults: new Map(Object.entries(writerConfigDefaults ?? {})),
  });
}

const isNested = ({ kind }: LogicalType): boolean =>
  ["list", "fixedSizeList", "struct", "map", "dictionary", "unknown"].includes(kind);

const noShardKey = ({ name, type }: TableField): InvalidInputError =>
  new InvalidInputError(`spec.column: ${name} has type ${type.kind}, which cannot be used as a shard key`);

/** Returns the Arrow name of a type whose values name logs. */
function shardTypeOf(field: TableField): string {
  const { type } = field;
  if (type.kind === "bool") return "boolean";
  if (type.kind === "string" && !type.large) return "utf8";
  if (type.kind === "int") return `${type.signed ? "" : "u"}int${type.bits}`;
  throw noShardKey(field);
}

/** Returns the names of the indexes that logs keep up to date. */
function maintainedOf(file: ManifestFile, names: readonly string[] | null | undefined): string[] {
  const indexes = namedIndexes(file);
  const kept = names ?? indexes.map(({ name }) => name);
  for (const name of kept) {
    const index = indexes.find((each) => each.name === name);
    if (index === undefined) {
      throw new InvalidInputError(`spec.maintainedIndexes: index ${name} does not exist on this table`);
    }
    const typeUrl = index.segments[0]?.indexDetails?.typeUrl ?? "";
    if (MAINTAINED.test(typeUrl)) continue;
    throw new InvalidInputError(
      `spec.maintainedIndexes: index ${name} has type ${typeUrl}, which the MemWAL cannot maintain`,
    );
  }
  return [...kept];
}
