/** Converts columns of incoming rows to the columns that a file stores, by a plan. */

import type { Column, LeafColumn, LeafLayout, PackedMemberColumn } from "../arrow/columns/column.js";
import { decodeDictionary, decodedBytes, hasNulls } from "../arrow/columns/dictionaries.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { leafOf, mapLeaf, pruneColumn } from "../arrow/columns/spine.js";
import { lazyModule } from "../async/lazy.js";
import { InternalError, InvalidInputError, TableSchemaValidationError } from "../errors.js";
import type { FileColumn } from "../file/container/page.js";
import type { MemoryShare } from "../memory.js";
import type { ColumnPlan, Conversion, PlannedColumn } from "./columnPlan.js";
import { headerColumn } from "./headerColumns.js";

const json = lazyModule(() => import("../arrow/columns/json.js"));

/** Number of bytes that 32-bit offsets can address. */
const MAX_DECODED_BYTES = 2 ** 31 - 1;
/** Name of this use of memory. */
const DECODED = "decoded";

export interface ConversionBounds {
  /** Maximum bytes to which the dictionaries of one batch decode. Default: 2 GiB. */
  readonly maxDecodedBytes?: number;
  /** Accounts for the memory of decoded dictionaries. */
  readonly memory?: MemoryShare;
}

/**
 * Returns the columns to store, one for each column of the plan.
 * @throws TableSchemaValidationError if a column that is not nullable has nulls, InvalidInputError for
 *   invalid JSON and for dictionaries that decode to too many bytes
 */
export async function convertColumns(
  plan: ColumnPlan,
  incoming: readonly Column[],
  bounds: ConversionBounds,
): Promise<Column[]> {
  await holdDecoded(plan, incoming, bounds);
  if (plan.columns.some(({ conversion }) => conversion === "encodeJson" || conversion === "checkJson")) {
    await json.get();
  }
  return plan.columns.map((column) => convertColumn(column, incoming[column.sourceIndex]));
}

/**
 * Waits for memory for decoded dictionaries before any is decoded: each row may have the same long value.
 * @throws InvalidInputError if the values have too many bytes
 */
async function holdDecoded(
  { columns }: ColumnPlan,
  sources: readonly Column[],
  { memory, maxDecodedBytes = MAX_DECODED_BYTES }: ConversionBounds,
): Promise<void> {
  let bytes = 0;
  for (const { conversion, sourceIndex, branch, target } of columns) {
    if (conversion !== "decodeDictionary" || target.isHeader === true) continue;
    mapLeaf(pruneColumn(sources[sourceIndex], branch, target.layout), (leaf) => {
      if (leaf.kind === "dictionary") bytes += decodedBytes(leaf);
      return leaf;
    });
    if (bytes > maxDecodedBytes) {
      throw new InvalidInputError(
        `column ${target.path}: the values of its dictionary come to more than ${maxDecodedBytes} bytes in one batch`,
      );
    }
  }
  await memory?.hold(DECODED, bytes);
}

function convertColumn({ target, branch, conversion }: PlannedColumn, source: Column): Column {
  const spine =
    target.isHeader === true
      ? headerColumn(source, branch, target.layout)
      : pruneColumn(source, branch, target.layout);
  const column = conversion === "none" ? spine : mapLeaf(spine, (leaf) => convert(leaf, conversion, target));
  if (!target.nullable && hasNulls(column)) {
    throw new TableSchemaValidationError(`column ${target.path} is not nullable and the rows hold nulls`);
  }
  return column;
}

function convert(
  leaf: LeafColumn,
  conversion: Exclude<Conversion, "none">,
  { path, layout }: FileColumn,
): Column {
  switch (conversion) {
    case "decodeDictionary":
      return leaf.kind === "dictionary" ? decodeDictionary(leaf) : leaf;
    case "encodeJson":
      return json.made.jsonbColumn(leaf, path);
    case "checkJson":
      return json.made.checkedJsonbColumn(leaf, path);
    case "wrapBlob":
      return wrapped(leaf, leafOf(layout));
  }
}

/** Makes structs whose first member holds the values and whose other members are null. */
function wrapped(leaf: LeafColumn, layout: LeafLayout): Column {
  if (layout.kind !== "packedStruct" || leaf.kind !== "variable") {
    throw new InternalError(`structs of layout ${layout.kind} got values of kind ${leaf.kind}`);
  }
  const { length, validity } = leaf;
  const others = layout.children.slice(1).map((member) => nullColumn(member.layout, length));
  return { kind: "packedStruct", length, validity, children: [leaf, ...(others as PackedMemberColumn[])] };
}
