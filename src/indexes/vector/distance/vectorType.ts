/** Vectors in a column: one per row, or any number per row (a multivector column). */

import type { TableField } from "../../../schema/schema.js";
import { type VectorItem, vectorItemOf } from "./metric.js";

/** Type of a column's vectors. */
export interface VectorType {
  readonly item: VectorItem;
  readonly dimension: number;
  /** True if a row has any number of vectors. */
  readonly isMulti: boolean;
}

/** Returns the type of a column's vectors; null for a column without vectors. */
export function vectorTypeOf({ type, children }: Pick<TableField, "type" | "children">): VectorType | null {
  const isMulti = type.kind === "list";
  const vector = isMulti ? children[0]?.type : type;
  if (vector?.kind !== "fixedSizeList" || vector.size < 1) return null;
  const item = vectorItemOf(vector.of);
  return item === null ? null : { item, dimension: vector.size, isMulti };
}
