/** Columns of a result that expressions compute, batch by batch. */

import type { Field } from "apache-arrow";
import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { runAsync } from "../../async/eventLoop.js";
import type { Effort } from "../../expression/evaluate/bound.js";
import type { BoundExpression } from "../../expression/expression.js";
import type { AllocateResult } from "../../expression/values/operands.js";
import { fieldOfValues, withoutDictionaries } from "../../expression/values/valueField.js";
import type { ColumnSource } from "./columnReads.js";
import { addressesAmong } from "./rowAddresses.js";
import type { RowNumbers } from "./systemColumns.js";

/** Maximum rows of a batch for expressions. */
const EXPRESSION_ROWS = 65_536;
/** Maximum rows of a batch of number comparisons; a batch costs as much as ten thousand of these. */
const QUICK_ROWS = 262_144;
/** Minimum rows of a batch for expressions. */
const MIN_EXPRESSION_ROWS = 1024;
/** Rows of a batch times parts of the expression: work between two turns of the event loop. */
const EXPRESSION_WORK = 2 ** 22;

/** Rows of a batch times operands of a call that makes texts or lists: all of them are in memory at once. */
const WIDE_WORK = 2 ** 17;

/** Returns the rows of a batch for an expression: fewer if it has many parts. */
export const expressionRows = ({ size, widest, isQuick }: Effort): number =>
  Math.min(
    Math.max(
      MIN_EXPRESSION_ROWS,
      Math.min(isQuick ? QUICK_ROWS : EXPRESSION_ROWS, Math.floor(EXPRESSION_WORK / size)),
    ),
    widest === 0 ? QUICK_ROWS : Math.ceil(WIDE_WORK / widest),
  );

/** An expression, and the sources of its inputs in the expression's order. */
export interface Computation {
  readonly expression: BoundExpression;
  /** The text of the expression as the caller wrote it. */
  readonly text: string;
  readonly inputs: readonly ColumnSource[];
}

/** True if a source needs the addresses of rows, or the columns that a search returns with them. */
export const needAddresses = (sources: Iterable<ColumnSource>): boolean =>
  [...sources].some(({ kind }) => kind !== "stored");

/**
 * Returns the columns of some rows.
 * @param columns the outputs of the read, followed by the addresses if a source needs them
 */
export async function columnsFrom(
  sources: readonly ColumnSource[],
  numbers: RowNumbers,
  columns: readonly Column[],
): Promise<Column[]> {
  const made: Column[] = [];
  for (const source of sources) {
    if (source.kind === "stored") made.push(columns[source.output]);
    else if (source.kind === "found") made.push(columns[columns.length - 1 - source.beforeAddresses]);
    else made.push(await numbers.column(source.which, addressesAmong(columns) satisfies FixedColumn));
  }
  return made;
}

/**
 * Computes a column of some rows.
 * @param allocate makes the memory of floats, or of joined texts. Default: new memory
 */
export async function compute(
  { expression, inputs }: Computation,
  numbers: RowNumbers,
  columns: readonly Column[],
  rowCount: number,
  signal: AbortSignal | undefined,
  allocate?: AllocateResult,
): Promise<Column> {
  const inputColumns = await columnsFrom(inputs, numbers, columns);
  return withoutDictionaries(await runAsync(expression.evaluate(inputColumns, rowCount, allocate), signal));
}

/**
 * The field of a column that an expression computes.
 * @throws UnsupportedError for a type that can be read but not computed
 */
export function computedField(name: string, { type }: BoundExpression): Field {
  return arrowFieldFromLogical(fieldOfValues(name, type, "columns"), name);
}
