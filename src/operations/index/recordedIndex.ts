/** Finds indexes that a version records, and describes them in terms of the interface. */

import { TableIndexNotFoundError, UnsupportedError } from "../../errors.js";
import { formatIdentifier, formatQuotedPath } from "../../ident.js";
import { isVectorTypeUrl, kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import { messageName } from "../../indexes/messageName.js";
import { vectorIndexType } from "../../query/indexes/vectorIndexType.js";
import { allFields } from "../../schema/fieldPaths.js";
import { decodeSchema } from "../../schema/schema.js";
import { type NamedIndex, namedIndexes } from "../../table/commit/namedIndexes.js";
import { isSystemIndex } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf, type VersionContent } from "../../table/versions/versionContent.js";
import type { OperationContext } from "../context.js";

/** Type of an index without readable details. */
const UNKNOWN = "UNKNOWN";

const OTHER_TYPES: ReadonlyMap<string, string> = new Map([["InvertedIndexDetails", "FTS"]]);

interface RecordedType {
  /** `BTREE`, `BITMAP`, `LABEL_LIST`, `ZONEMAP`, `BLOOMFILTER`, `NGRAM`, `FTS`, `FM`, `IVF_…`, `UNKNOWN`. */
  readonly indexType: string;
  /** Distance of a vector index: `l2`, `cosine`, `dot` or `hamming`. */
  readonly distanceType?: string;
}

/**
 * Returns the index of a name.
 * @throws TableIndexNotFoundError; UnsupportedError for an index that the format uses internally
 */
export function requireIndex(content: VersionContent, name: string, tableId: readonly string[]): NamedIndex {
  const index = namedIndexes(content).find((each) => each.name === name);
  if (index !== undefined) return index;
  if (isSystemIndex(name) && indicesOf(content).some((each) => each.name === name)) {
    throw new UnsupportedError(`${name} is an internal index of the format, and not an index of a column`);
  }
  throw new TableIndexNotFoundError(`table ${formatIdentifier(tableId)} has no index ${name}`);
}

/** Returns the type of an index. The type of a vector index may be in its file. */
export async function typeOfIndex(
  version: OpenVersion<OperationContext>,
  { segments: [segment] }: NamedIndex,
): Promise<RecordedType> {
  const typeUrl = segment.indexDetails?.typeUrl ?? "";
  const kind = kindOfTypeUrl(typeUrl);
  if (kind !== null) return { indexType: kind.name };
  if (isVectorTypeUrl(typeUrl)) return { indexType: UNKNOWN, ...(await vectorIndexType(version, segment)) };
  return { indexType: OTHER_TYPES.get(messageName(typeUrl)) ?? UNKNOWN };
}

/** Returns the paths of an index's columns. Fields that the schema lacks are omitted. */
export function columnPaths({ file }: OpenVersion): (index: NamedIndex) => string[] {
  const fields = decodeSchema(file.manifest.fields, file.path);
  const byId = new Map<number, string>();
  for (const { chain, field } of allFields(fields)) {
    byId.set(field.id, formatQuotedPath(chain.map(({ name }) => name)));
  }
  return ({ segments: [segment] }) =>
    segment.fields.flatMap((id) => {
      const path = byId.get(id);
      return path === undefined ? [] : [path];
    });
}
