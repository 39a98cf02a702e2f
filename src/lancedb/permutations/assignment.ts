/** Assigns the rows of a table to splits, in an order. */

import { type Table as ArrowTable, DataType, Field, Schema, Uint64 } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { makeBatch, toTable } from "../../arrow/exchange/batch.js";
import { Pace, runAsync, type Steps } from "../../async/eventLoop.js";
import { conditionOf } from "../conditions.js";
import { failure } from "../failures.js";
import { columnRows } from "../rowBatches.js";
import type { ShuffleOptions, SplitHashOptions } from "../splitOptions.js";
import type { TableReader } from "../tableReader.js";
import {
  type DrawOptions,
  groupedBySplit,
  HASH_START,
  hashed,
  rowsInOrder,
  type SizeOptions,
  shuffled,
  sizesOf,
  spread,
} from "./splits.js";

const ROW_ID = "row_id";
const SPLIT_ID = "split_id";
/** Rows between two looks at the clock. */
const STEP_ROWS = 1024;

/** Rule that assigns rows to splits. */
export type Split =
  | { readonly kind: "none" }
  | { readonly kind: "random"; readonly sizes: SizeOptions; readonly draw: DrawOptions }
  | { readonly kind: "sequential"; readonly sizes: SizeOptions }
  | { readonly kind: "hash"; readonly options: SplitHashOptions }
  | { readonly kind: "calculated"; readonly calculation: string };

/** Settings of a permutation. */
export interface PermutationPlan {
  readonly split: Split;
  readonly splitNames: readonly string[] | null;
  readonly shuffle: ShuffleOptions | null;
  readonly filter: string | null;
}

/** Rows in an order, and the split of each row of the source. */
interface Assignment {
  readonly order: Uint32Array;
  /** Column of the split's ids, one for each row of the source. */
  readonly splits: { readonly field: Field; readonly column: Column; readonly values: ArrayLike<unknown> };
}

/**
 * Returns the rows of a permutation: row ids and the splits that they are in.
 * @param reader reader of one version
 */
export async function permutedRows(
  reader: TableReader,
  version: number,
  plan: PermutationPlan,
): Promise<ArrowTable> {
  const rows = await sourceRows(reader, plan);
  const ids = columnRows(rows.select([ROW_ID]), "rows").columns[0];
  const { order, splits } = await runAsync(assigned(rows, plan.split));
  const { shuffle } = plan;
  const final =
    shuffle === null
      ? order
      : await runAsync(groupedBySplit(await runAsync(shuffled(order, shuffle)), splits.values));
  const metadata = new Map([["base_version", String(version)]]);
  if (plan.splitNames !== null) metadata.set("split_names", JSON.stringify(plan.splitNames));
  const idField = new Field(ROW_ID, new Uint64(), true);
  const pairs: [Field, Column][] = [
    [idField, takeColumn(ids, final)],
    [splits.field, takeColumn(splits.column, final)],
  ];
  if (plan.split.kind === "calculated") pairs.reverse();
  const schema = new Schema(
    pairs.map(([field]) => field),
    metadata,
  );
  const columns = pairs.map(([, column]) => column);
  return toTable(schema, [makeBatch(schema, columns, final.length)]);
}

/** Reads row ids, and the columns that the split needs. */
async function sourceRows(reader: TableReader, { split, filter }: PermutationPlan): Promise<ArrowTable> {
  const aliases: Record<string, string> = { [ROW_ID]: "_rowid" };
  if (split.kind === "calculated") aliases[SPLIT_ID] = split.calculation;
  if (split.kind === "hash") {
    for (const [index, column] of split.options.columns.entries()) aliases[`key_${index}`] = column;
  }
  const request = {
    columns: { columnAliases: aliases },
    ...(filter !== null && { filter: conditionOf(filter) }),
  };
  const result = await reader.read((namespace, shown) => namespace.queryTable({ ...shown, ...request }));
  try {
    return await result.toArrow();
  } catch (error) {
    throw reader.translate(error);
  }
}

function* assigned(rows: ArrowTable, split: Split): Steps<Assignment> {
  const { numRows } = rows;
  switch (split.kind) {
    case "calculated":
      return { order: yield* rowsInOrder(numRows), splits: calculatedSplits(rows) };
    case "hash":
      return yield* hashedRows(rows, split.options);
    default: {
      const sizes = split.kind === "none" ? [numRows] : sizesOf(split.sizes, numRows);
      const all = yield* rowsInOrder(numRows);
      const order = split.kind === "random" ? yield* shuffled(all, split.draw) : all;
      const ids = new BigUint64Array(numRows);
      const pace = new Pace(STEP_ROWS);
      let end = 0;
      for (const [id, size] of sizes.entries()) {
        const start = end;
        end += size;
        for (let position = start; position < end; position++) {
          ids[order[position]] = BigInt(id);
          if (pace.isStep()) yield;
        }
      }
      return { order: order.subarray(0, end), splits: numberedSplits(ids) };
    }
  }
}

const numberedSplits = (values: BigUint64Array): Assignment["splits"] => ({
  field: new Field(SPLIT_ID, new Uint64(), false),
  column: numbersColumn(values),
  values,
});

function calculatedSplits(rows: ArrowTable): Assignment["splits"] {
  const { schema, columns } = columnRows(rows.select([SPLIT_ID]), "rows");
  const [{ type }] = schema.fields;
  if (!DataType.isInt(type) && !DataType.isFloat(type) && !DataType.isBool(type) && !DataType.isUtf8(type)) {
    throw failure(`Invalid input, splits can't be of type ${type}`);
  }
  const vector = rows.getChild(SPLIT_ID);
  return {
    field: new Field(SPLIT_ID, type, true),
    column: columns[0],
    values: vector === null ? [] : Array.from(vector),
  };
}

/** Assigns rows by hashes of their columns. Rows within the weight of discarded ones are left out. */
function* hashedRows(rows: ArrowTable, options: SplitHashOptions): Steps<Assignment> {
  const weights = options.splitWeights.map(Number);
  const total = weights.reduce((sum, weight) => sum + weight, Number(options.discardWeight ?? 0));
  if (!(total > 0 && weights.every((weight) => weight >= 0))) {
    throw failure("Invalid input, Hash strategy requires weights of at least 0, and one that is greater");
  }
  const keys = options.columns.map((_, index) => rows.getChild(`key_${index}`));
  const ids = new BigUint64Array(rows.numRows);
  const order = new Uint32Array(rows.numRows);
  let length = 0;
  const pace = new Pace(STEP_ROWS);
  for (let row = 0; row < rows.numRows; row++) {
    let hash = HASH_START;
    for (const key of keys) hash = hashed(hash, key?.get(row));
    let left = spread(hash) % total;
    const split = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    if (split !== -1) {
      ids[row] = BigInt(split);
      order[length++] = row;
    }
    if (pace.isStep()) yield;
  }
  return { order: order.subarray(0, length), splits: numberedSplits(ids) };
}
