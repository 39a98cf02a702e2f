/** DiffTableVersions: returns the rows that differ between two versions. Not in the namespace spec. */

import { Field, type RecordBatch, Schema, Struct, Utf8 } from "apache-arrow";
import type { Column, StructColumn, VariableColumn } from "../../arrow/columns/column.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import type { QueryResult } from "../../namespace/queries.js";
import type { DiffTableVersionsRequest, RowDifference } from "../../namespace/versions.js";
import { type ComparedColumns, pairColumns } from "../../query/compare/comparedColumns.js";
import {
  CHANGE,
  type Comparison,
  comparedVersion,
  type RowChanges,
  rowChanges,
} from "../../query/compare/rowChanges.js";
import { KEPT } from "../../rows/readAhead.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { optionalVersion, requireVersion } from "../request.js";
import { keyNames, requireKey } from "../rowKey.js";
import { requireSnapshot } from "../snapshot.js";
import { makeSpillFile } from "../spillFile.js";
import { reportedBatches } from "./reportedBatches.js";
import { resultOfBatches } from "./resultForms.js";

const SPILL_REMEDY = "compare versions with fewer differences";

/** Names of the kinds, by the numbers of {@link CHANGE}. */
const KINDS = ["added", "removed", "changed"] as const;

export const diffTableVersions: OperationBody<"diffTableVersions"> = async (context, request, access) => {
  const { comparison, paired, versions } = await planDiff(context, request, access);
  const schema = schemaOf(paired);
  const { signal, memory } = request;
  const makeFile = () => makeSpillFile(versions[1].table, "diff", SPILL_REMEDY);
  const reading = { operation: "diffTableVersions", request, versions };
  const result: QueryResult = resultOfBatches(schema, (isKept) => {
    const readAhead = isKept ? KEPT : context.streams.open();
    const changes = () => rowChanges(comparison, { readAhead, memory, signal, makeFile });
    return reportedBatches(() => batchesOf(schema, changes()), reading);
  });
  // The schema makes the rows differences.
  return result as unknown as QueryResult<RowDifference>;
};

async function* batchesOf(schema: Schema, changes: AsyncIterable<RowChanges>): AsyncGenerator<RecordBatch> {
  for await (const some of changes) yield batchOf(schema, some);
}

interface PlannedDiff {
  readonly comparison: Comparison;
  readonly paired: ComparedColumns;
  readonly versions: readonly [OpenVersion<OperationContext>, OpenVersion<OperationContext>];
}

/**
 * @throws InvalidInputError without a way to match rows; TableColumnNotFoundError for an unknown key column;
 *   TableVersionNotFoundError
 */
async function planDiff(
  context: OperationContext,
  request: DiffTableVersionsRequest,
  access: Access,
): Promise<PlannedDiff> {
  const { id, branch, signal } = request;
  const keys = keyNames(request.on);
  const open = (version: number | undefined) =>
    requireSnapshot(context, { id, branch, version, signal }, access);
  const [from, to] = [requireVersion(request.from, "from"), optionalVersion(request.to, "to")];
  const versions = [await open(from), await open(to)] as const;
  const [old, current] = versions.map(comparedVersion);
  const paired = pairColumns(old.fields, current.fields);
  const key = requireKey(keys, versions, paired, request);
  return { comparison: { old, current, columns: paired.columns, key }, paired, versions };
}

function schemaOf({ schema }: ComparedColumns): Schema {
  const row = new Struct(schema.fields);
  return new Schema([
    new Field("kind", new Utf8(), false),
    new Field("row", row, false),
    new Field("before", row, true),
  ]);
}

function batchOf(schema: Schema, { kinds, rows, before, rowCount }: RowChanges): RecordBatch {
  const row: StructColumn = { kind: "struct", length: rowCount, validity: null, children: rows };
  const validity = { bytes: new Uint8Array((rowCount + 7) >>> 3), bitOffset: 0, nullCount: 0 };
  for (const [index, kind] of kinds.entries()) {
    if (kind === CHANGE.changed) validity.bytes[index >>> 3] |= 1 << (index & 7);
    else validity.nullCount++;
  }
  const old: StructColumn = {
    kind: "struct",
    length: rowCount,
    validity: validity.nullCount === 0 ? null : validity,
    children: before,
  };
  const columns: Column[] = [kindColumn(kinds), row, old];
  return makeBatch(schema, columns, rowCount);
}

function kindColumn(kinds: Uint8Array): VariableColumn {
  const text = Array.from(kinds, (kind) => KINDS[kind]).join("");
  const offsets = new Int32Array(kinds.length + 1);
  for (const [index, kind] of kinds.entries()) offsets[index + 1] = offsets[index] + KINDS[kind].length;
  return {
    kind: "variable",
    length: kinds.length,
    validity: null,
    offsets,
    bytes: new TextEncoder().encode(text),
  };
}
