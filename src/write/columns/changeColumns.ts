/**
 * Adds, alters and drops columns of a table. A change is planned on the latest version, writes the files it
 * needs and commits; if another writer commits first, it starts again. Rows are read and written batch by
 * batch. A failed change leaves the table as it was.
 */

import type { Column } from "../../arrow/columns/column.js";
import { hasNulls } from "../../arrow/columns/dictionaries.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { formatType } from "../../arrow/types/type.js";
import type { Steps } from "../../async/eventLoop.js";
import { InternalError, InvalidInputError, TableSchemaValidationError } from "../../errors.js";
import type { Field } from "../../format/file.js";
import { type DataFragment, Merge, Project, type Transaction } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import { Arena } from "../../io/memory/arena.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import { castSteps } from "../../schema/cast.js";
import { changedInput } from "../../schema/computedFields.js";
import { allFields, type FieldAtPath } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { TransactionConflictError } from "../../table/commit/conflictError.js";
import { withRelatedFields } from "../../table/commit/relatedFields.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { findLatestVersion } from "../../table/versions/latestVersion.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { fileVersionOf } from "../dataFiles.js";
import { type AddedColumn, planAddedColumns, repeatValues, type WrittenColumn } from "./addColumns.js";
import { type ParsedAlteration, planAlteredColumns, type RewrittenColumn } from "./alterColumns.js";
import type { ColumnFiles, NewColumns } from "./columnFiles.js";
import { commitColumnFiles } from "./commitColumnFiles.js";
import { computeColumn } from "./computedColumns.js";
import { BATCH_ROWS, type Derivation, derivedRows } from "./derivedRows.js";
import { planDroppedFields } from "./dropColumns.js";

/** Table to change. */
type Target = ChangeTarget<ReaderEnvironment>;

export interface ChangedColumns {
  readonly committed: OpenVersion;
  readonly transactionId: string;
}

export interface ChangeOptions {
  readonly signal?: AbortSignal;
  /** Called with the number of rows written, and the number to write. */
  readonly onRows?: (done: number, total: number) => void;
}

/** @throws InvalidInputError, UnsupportedError for columns that the table can't have */
export function addColumns(
  target: Target,
  added: readonly AddedColumn[],
  options: ChangeOptions,
): Promise<ChangedColumns> {
  const { signal } = options;
  return commitColumns(target, options, async (open, files) => {
    const { manifest } = open.file;
    const { schema, written } = await planAddedColumns(open.file, added, signal);
    const { fragments } = manifest;
    if (written.length === 0) return { transaction: merge(open.file, schema, fragments) };
    files.begin(fragments);
    const columns = newColumns(open, written, signal);
    const filled = await files.addTo(fragments, columns, fileVersionOf(open.file));
    return { transaction: merge(open.file, schema, filled) };
  });
}

/** Prepares columns of constants and computed columns, which are written together. */
function newColumns(
  open: OpenVersion<ReaderEnvironment>,
  written: readonly WrittenColumn[],
  signal: AbortSignal | undefined,
): NewColumns {
  const fields = written.map(({ field }) => field);
  const constants = written.flatMap(({ values }) => (values.kind === "computed" ? [] : [values]));
  if (constants.length === written.length) {
    return {
      fields,
      key: JSON.stringify(["constants", fields.map(({ id }) => id)]),
      rowsOf: (fragment) => repeatValues(constants, fragment.physicalRows),
    };
  }
  const computed = written.flatMap(({ values }) => (values.kind === "computed" ? [values] : []));
  const paths = [...new Set(computed.flatMap(({ expression }) => expression.paths.map(formatFieldPath)))];
  const places = new Map(paths.map((path, index) => [path, index]));
  const source = versionSource(open);
  const present = decodeSchema(open.file.manifest.fields, open.file.path);
  /** @param memory holds the values of each column in turn, for transient batches */
  const derivationInto = (memory: readonly Arena<ArrayBuffer>[]): Derivation => ({
    projection: resolveProjection(present, new Map(), paths),
    fields,
    steps: computed.reduce((sum, { expression }) => sum + expression.effort.size, 0),
    *derive(columns, rowCount, isTransient) {
      const made: Column[] = [];
      for (const [index, { values }] of written.entries()) {
        if (values.kind !== "computed") {
          made.push(takeColumn(values, new Uint32Array(rowCount)));
          continue;
        }
        const inputs = values.expression.paths.map(
          (path) => columns[places.get(formatFieldPath(path)) ?? -1],
        );
        const allocate = (byteLength: number) => {
          memory[index].recycle();
          return memory[index].lend(byteLength);
        };
        made.push(yield* computeColumn(values, inputs, rowCount, isTransient ? allocate : undefined));
      }
      return made;
    },
    nullStructs: fileVersionOf(open.file) !== "2.0",
    signal,
  });
  const rowsOf = async function* (fragment: DataFragment): AsyncGenerator<InputBatch> {
    const memory = written.map(() => new Arena(source.scratch));
    yield* derivedRows(source, fragment, derivationInto(memory));
    // The writer has used the last batch once it asks for more. If it never asks, the garbage collector frees
    // the memory.
    for (const arena of memory) arena.release();
  };
  // After renames and casts, the same expression may name other columns.
  const meanings = computed.map(({ text, inputs }) => [text, inputs.map(shapeOf)]);
  return {
    fields,
    key: JSON.stringify(["computed", fields.map(shapeOf), meanings]),
    rowsOf,
  };
}

/**
 * @throws TableColumnNotFoundError, InvalidInputError, UnsupportedError for changes that the schema does not
 *   allow, and for renaming or casting inputs of computed columns; TableSchemaValidationError for changes
 *   that the rows do not allow
 */
export function alterColumns(
  target: Target,
  alterations: readonly ParsedAlteration[],
  options: ChangeOptions,
): Promise<ChangedColumns> {
  const { signal } = options;
  return commitColumns(target, options, async (open, files) => {
    const base = open.file;
    const { schema, tightened, rewritten, newIds } = planAlteredColumns(base, alterations);
    refuseIndexed(base, schema);
    refuseInputs(base, schema, "renamed or cast");
    const source = versionSource(open);
    for (const field of tightened) await refuseNulls(source, base, field, signal);
    // Rows that were appended meanwhile are unchecked.
    const exclusive = tightened.length > 0;
    if (rewritten.length === 0) {
      const preservesNullability = tightened.length === 0;
      const project = Project.create({ schema, preservesNullability });
      return { transaction: newTransaction(base.manifest.version, "project", project), exclusive };
    }
    const fragments = await rewrite(base, source, files, rewritten, newIds, signal);
    return { transaction: merge(base, schema, fragments), exclusive };
  });
}

/**
 * @throws TableColumnNotFoundError, InvalidInputError, UnsupportedError for columns that can't be dropped,
 *   such as inputs of computed columns that stay
 */
export function dropColumns(
  target: Target,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<ChangedColumns> {
  return commitColumns(target, { signal }, async ({ file: base }, files) => {
    const schema = planDroppedFields(base, paths);
    refuseInputs(base, schema, "dropped");
    const ids = new Set(schema.map((field) => field.id));
    const { fragments, version } = base.manifest;
    const bare = fragments.filter(
      ({ files }) => !files.some((file) => file.fields.some((id) => ids.has(id))),
    );
    if (bare.length === 0) {
      const project = Project.create({ schema, preservesNullability: true });
      return { transaction: newTransaction(version, "project", project) };
    }
    // LanceDB can't read fragments without files, even if all their remaining values are null.
    const filled = await fillWithNulls(base, schema, bare, files);
    return { transaction: merge(base, schema, inPlaceOf(fragments, filled)) };
  });
}

interface ColumnsPlan {
  readonly transaction: Transaction;
  /** True if the change must directly follow the version that it was planned on. */
  readonly exclusive?: boolean;
}

async function commitColumns(
  target: Target,
  options: ChangeOptions,
  plan: (base: OpenVersion<ReaderEnvironment>, files: ColumnFiles) => Promise<ColumnsPlan>,
): Promise<ChangedColumns> {
  const { table } = target;
  let base: number | null = null;
  const verify = async () => {
    if (base === null) return;
    const latest = await findLatestVersion(table);
    if (latest?.version === base) return;
    throw new TransactionConflictError("retryable", `${table.root}: version ${base} is no longer the latest`);
  };
  const { committed, plan: done } = await commitColumnFiles(
    target,
    async (latest, files) => {
      const planned = await plan(latest, files);
      base = planned.exclusive ? latest.version : null;
      return planned;
    },
    { ...options, verify },
  );
  return { committed, transactionId: done.transaction.uuid };
}

function merge(base: ManifestFile, schema: Field[], fragments: readonly DataFragment[]): Transaction {
  const before = new Map(base.manifest.fields.map((field) => [field.id, field]));
  // Rows that others append meanwhile lack values for a new column that is not nullable.
  const preservesNullability = schema.every(
    (field) => field.nullable || before.get(field.id)?.nullable === false,
  );
  const change = Merge.create({ fragments: [...fragments], schema, preservesNullability });
  return newTransaction(base.manifest.version, "merge", change);
}

function inPlaceOf(fragments: readonly DataFragment[], changed: readonly DataFragment[]): DataFragment[] {
  const byId = new Map(changed.map((fragment) => [fragment.id, fragment]));
  return fragments.map((fragment) => byId.get(fragment.id) ?? fragment);
}

/**
 * Refuses to cast an indexed column: an index holds values of one type, and users would notice a silent
 * removal only by slow queries.
 * @throws InvalidInputError if a column to cast, or a part of it, has an index
 */
function refuseIndexed(base: ManifestFile, schema: readonly Field[]): void {
  const kept = new Set(schema.map((field) => field.id));
  const lost = new Set(base.manifest.fields.map((field) => field.id).filter((id) => !kept.has(id)));
  if (lost.size === 0) return;
  const changed = withRelatedFields(base.manifest.fields, lost);
  const index = indicesOf(base).find(({ fields }) => fields.some((id) => changed.has(id)));
  if (index === undefined) return;
  const fields = decodeSchema(base.manifest.fields, base.path);
  const located = Array.from(allFields(fields)).find(({ field }) => index.fields.includes(field.id));
  throw new InvalidInputError(
    `column ${located?.path} has an index, ${index.name}, and cannot be cast before that is dropped`,
  );
}

/**
 * Refuses changes to the inputs of a computed column that stays. Its declaration names the inputs, and its
 * values count as current until an input is set. A lost or renamed input would leave them current forever.
 * @throws InvalidInputError if an input of such a column changes
 */
function refuseInputs(
  base: ManifestFile,
  schema: readonly Field[],
  change: "dropped" | "renamed or cast",
): void {
  const [before, after] = [base.manifest.fields, schema].map((fields) => decodeSchema(fields, base.path));
  const left = new Set(after.map(({ id }) => id));
  // A cast column has another id, and stays.
  const staying = change === "dropped" ? before.filter(({ id }) => left.has(id)) : before;
  const conflict = changedInput(staying, before, after);
  if (conflict === null) return;
  const { input, changed } = conflict;
  const computed = formatFieldPath([conflict.computed]);
  throw new InvalidInputError(
    `column ${changed} cannot be ${change}: ${computed} is computed from ${changed === input ? "it" : input}; drop ${computed} first`,
  );
}

/** @throws TableSchemaValidationError if a live row is null */
async function refuseNulls(
  source: FragmentSource,
  base: ManifestFile,
  { path }: FieldAtPath,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { manifest } = base;
  const fields = decodeSchema(manifest.fields, base.path);
  const projection = { ...resolveProjection(fields, new Map(), [path]), hasBlobs: false };
  const rows = scanColumns(source, {
    fragments: manifest.fragments,
    projection,
    batchRows: BATCH_ROWS,
    readAhead: STREAMED,
    signal,
  });
  for await (const { columns } of rows) {
    if (!hasNulls(columns[0])) continue;
    throw new TableSchemaValidationError(`column ${path} holds nulls and cannot be made non-nullable`);
  }
}

/** Returns the fragments with the columns in their new types. Fragments without values need none. */
async function rewrite(
  base: ManifestFile,
  source: FragmentSource,
  files: ColumnFiles,
  rewritten: readonly RewrittenColumn[],
  newIds: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<DataFragment[]> {
  const version = fileVersionOf(base);
  const groups = new Map<string, { columns: RewrittenColumn[]; fragments: DataFragment[] }>();
  for (const fragment of base.manifest.fragments) {
    const stored = new Set(fragment.files.flatMap((file) => file.fields));
    const columns = rewritten.filter(({ from, to }) => replacedLeaves(from, to).some((id) => stored.has(id)));
    if (columns.length === 0) continue;
    const key = columns.map(({ from }) => from.id).join();
    const group = groups.get(key) ?? { columns, fragments: [] };
    group.fragments.push(fragment);
    groups.set(key, group);
  }
  files.begin([...groups.values()].flatMap(({ fragments }) => fragments));
  const firstRows = firstRowsOf(base.manifest.fragments);
  const changed: DataFragment[] = [];
  for (const { columns, fragments } of groups.values()) {
    const read = columns.map(({ from }) => from);
    const written = columns.map(({ to }) => to);
    const steps = columns.reduce((sum, { from, to }) => sum + castSteps(from, to), 0);
    const rowsOf = (fragment: DataFragment) => {
      let firstRow = firstRows.get(fragment.id) ?? 0;
      const derivation = {
        projection: resolveProjection(read, new Map(), undefined),
        fields: written,
        steps,
        *derive(values: readonly Column[], rowCount: number): Steps<Column[]> {
          const made: Column[] = [];
          for (const [index, column] of columns.entries()) {
            made.push(column.cast(values[index], (row) => firstRow + row));
            yield;
          }
          firstRow += rowCount;
          return made;
        },
        nullStructs: version !== "2.0",
        signal,
      };
      return derivedRows(source, fragment, derivation);
    };
    const columnsToWrite = {
      fields: written,
      // In files of 2.0 lists and structs have columns of their own, which are written too.
      fieldIds: version === "2.0" ? undefined : newIds,
      // After renames, the same cast may read other columns.
      key: JSON.stringify(["cast", read.map(shapeOf), written.map(shapeOf)]),
      rowsOf,
    };
    changed.push(...(await files.addTo(fragments, columnsToWrite, version)));
  }
  return inPlaceOf(base.manifest.fragments, changed);
}

/** Returns the offset of the first row of each fragment, by its id. */
function firstRowsOf(fragments: readonly DataFragment[]): Map<number, number> {
  const firstRows = new Map<number, number>();
  let firstRow = 0;
  for (const fragment of fragments) {
    firstRows.set(fragment.id, firstRow);
    firstRow += liveRowCount(fragment);
  }
  return firstRows;
}

/** Shape of a field that is read or written: ids and types. */
const shapeOf = (field: TableField): unknown => [
  field.id,
  formatType(field.type),
  field.children.map(shapeOf),
];

/** Returns ids of the fields, `from` or inside it, that `to` replaces. */
function replacedLeaves(from: TableField, to: TableField): number[] {
  if (from.id !== to.id) return leavesOf(from);
  return from.children.flatMap((child, index) => replacedLeaves(child, to.children[index]));
}

const leavesOf = (field: TableField): number[] => [field.id, ...field.children.flatMap(leavesOf)];

/** Gives each fragment a file of nulls for a column of the schema that is all null in it. */
function fillWithNulls(
  base: ManifestFile,
  schema: readonly Field[],
  fragments: readonly DataFragment[],
  files: ColumnFiles,
): Promise<DataFragment[]> {
  const field = decodeSchema(schema, base.path).find((candidate) => candidate.nullable);
  if (field === undefined)
    throw new InternalError("a fragment has no values for a column that is not nullable");
  const layout = layoutOf(arrowFieldFromLogical(field, field.name).type, field.name);
  const columns = {
    fields: [field],
    key: JSON.stringify(["nulls", field.id]),
    rowsOf: async function* ({ physicalRows }: DataFragment): AsyncGenerator<InputBatch> {
      for (let row = 0; row < physicalRows; row += BATCH_ROWS) {
        const rowCount = Math.min(BATCH_ROWS, physicalRows - row);
        yield { columns: [nullColumn(layout, rowCount)], rowCount };
      }
    },
  };
  return files.addTo(fragments, columns, fileVersionOf(base));
}
