/** Names of the kinds of indexes, and the kinds that each type of column can have. */

import type { LogicalType } from "../../arrow/types/type.js";
import { kindOfName } from "../../indexes/kinds/kinds.js";
import { vectorRefusal } from "../../indexes/vector/ivf/vectorKinds.js";
import type { TableField } from "../../schema/schema.js";

/** Kinds that look up values. */
export const SCALAR_KINDS = ["BTREE", "BITMAP", "LABEL_LIST", "ZONEMAP", "BLOOMFILTER", "NGRAM"] as const;
/** Kinds that search words and parts of text. */
export const TEXT_KINDS = ["FTS", "FM"] as const;
/** Kinds that find neighbours of vectors. */
export const VECTOR_KINDS = [
  ...["IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"],
] as const;

/** Returns the kinds that a column of plain values can have. */
export function kindNamesFor(field: TableField): string[] {
  const scalar = SCALAR_KINDS.filter((name) => kindOfName(name)?.refusal(field) === null);
  const text = TEXT_KINDS.filter((name) => textRefusal(name, field) === null);
  const vector = VECTOR_KINDS.filter((name) => vectorRefusal(name, field) === null);
  return [...scalar, ...text, ...vector];
}

/** Returns why a column can't have an index of a kind for text; null if it can. */
export function textRefusal(kind: string, { type, children }: TableField): string | null {
  const item: LogicalType | undefined = type.kind === "list" ? children[0]?.type : undefined;
  if (type.kind === "string") return null;
  if (kind === "FM") return type.kind === "binary" ? null : "is neither text nor bytes";
  return type.kind === "json" || item?.kind === "string" ? null : "holds no text";
}
