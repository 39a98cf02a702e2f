/** Reads all rows of a version, and compares its indexes with them. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { TableColumnNotFoundError } from "../../errors.js";
import type { DataFragment, IndexMetadata } from "../../format/table.js";
import type { OpenIndex } from "../../indexes/kind.js";
import { TextIndex } from "../../indexes/text/textIndex.js";
import { IvfIndex } from "../../indexes/vector/ivf/ivfIndex.js";
import { ColumnReads } from "../../query/columns/columnReads.js";
import { addressesAmong } from "../../query/columns/rowAddresses.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { coverageOf } from "../../table/commit/indexCoverage.js";
import { DEFERRED_REMAP_INDEX } from "../../table/commit/indexEntries.js";
import { resolveIndexDirectory } from "../../table/fragments/fileLookup.js";
import { isSystemIndex, liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { indicesOf } from "../../table/versions/versionContent.js";
import { indexColumn } from "../../write/indexes/indexColumn.js";
import { rowsOfKind } from "../../write/indexes/indexRows.js";
import { openIfReadable, writableKind } from "../../write/indexes/openSegment.js";
import type { OperationContext } from "../context.js";
import type { Damages } from "./damages.js";
import { checkTextIndex, checkValueIndex } from "./indexRowsCheck.js";
import { checkVectorIndex } from "./vectorCheck.js";

/** Maximum rows, and approximate bytes, of a batch. */
const BATCH_ROWS = 16_384;
const BATCH_BYTES = 16 * 1024 * 1024;

type Version = OpenVersion<OperationContext>;

/** Numbers of rows by whether they can be read. */
export interface RowCounts {
  readonly readableRows: number;
  readonly damagedRows: number;
}

/** Reads all columns of all live rows. @param tell receives the number of rows read so far */
export async function verifyRows(
  version: Version,
  damages: Damages,
  tell: (rows: number) => void,
  signal: AbortSignal | undefined,
): Promise<RowCounts> {
  const { manifest, path } = version.file;
  const fields = decodeSchema(manifest.fields, path);
  let [readableRows, damagedRows] = [0, 0];
  for (const fragment of manifest.fragments) {
    const live = liveRowCount(fragment);
    const broken = await brokenColumns(version, fragment, fields, damages, signal);
    if (broken.length === 0) readableRows += live;
    else damagedRows += live;
    tell(readableRows + damagedRows);
  }
  return { readableRows, damagedRows };
}

/** Returns the columns of a fragment that cannot be read, and adds the damages. */
async function brokenColumns(
  version: Version,
  fragment: DataFragment,
  fields: readonly TableField[],
  damages: Damages,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const broken: string[] = [];
  const part = {
    kind: "dataFile",
    path: version.table.root,
    fragmentId: fragment.id,
    remedy: "Restore the file from a backup, or a version that does not need it.",
  } as const;
  const whole = await damages.outcomeOf(part, () => readFragment(version, fragment, fields, fields, signal));
  if (whole === "sound") return [];
  for (const field of fields) {
    const columns = [field.name];
    const remedy = `All columns but ${field.name} of fragment ${fragment.id} are readable if no damage names them.`;
    const ofColumn = { ...part, columns, remedy };
    const read = () => readFragment(version, fragment, fields, [field], signal);
    if ((await damages.outcomeOf(ofColumn, read)) === "damaged") broken.push(field.name);
  }
  return broken;
}

/** Reads columns of all live rows of a fragment. */
async function readFragment(
  version: Version,
  fragment: DataFragment,
  fields: readonly TableField[],
  wanted: readonly TableField[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const source = versionSource(version);
  const reads = new ColumnReads(fields);
  for (const { name } of wanted) reads.source([name]);
  const numbers = new RowNumbers(source, version.file.manifest, version.path);
  const rows = scanColumns(source, {
    fragments: [fragment],
    projection: { ...reads.plan(), withAddresses: true },
    batchRows: BATCH_ROWS,
    batchBytes: BATCH_BYTES,
    readAhead: STREAMED,
    signal,
  });
  for await (const { columns } of rows) {
    if (numbers.hasStableIds) await numbers.column("_rowid", addressesAmong(columns));
    await yieldToEventLoop();
  }
}

/** Compares the indexes of a version with its rows. Returns the number of compared indexes. */
export async function verifyIndexes(
  version: Version,
  damages: Damages,
  signal: AbortSignal | undefined,
): Promise<number> {
  const names = new Set<string>();
  const entries = indicesOf(version.file);
  if (entries.some(({ name }) => name === DEFERRED_REMAP_INDEX)) {
    damages.skip("the indexes wait for their rows to be mapped, and are not used");
    return 0;
  }
  for (const entry of entries) {
    if (isSystemIndex(entry.name)) continue;
    const path = version.table.root;
    const remedy = "Rows are not affected. Drop the index and create it again.";
    const part = { kind: "index", path, indexName: entry.name, remedy } as const;
    const isChecked = await damages.attempt(part, async () => {
      const result = await compareSegment(version, entry, damages, signal);
      if (result === null) return false;
      if (result !== "") {
        const directory = await resolveIndexDirectory(version.table, version.file.manifest, entry);
        const message = `index ${entry.name} does not match the rows: ${result}`;
        damages.add({ ...part, kind: "staleIndex", path: directory, message });
      }
      return true;
    });
    if (isChecked === true) names.add(entry.name);
  }
  return names.size;
}

/** Returns a mistake of the segment, an empty text if there is none, or null if it cannot be compared. */
async function compareSegment(
  version: Version,
  entry: IndexMetadata,
  damages: Damages,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { manifest } = version.file;
  const kind = writableKind(entry);
  const covered = coverageOf(entry);
  if (kind === null || covered === null) {
    damages.skip(`index ${entry.name}: this release does not read its kind, and does not use it`);
    return null;
  }
  const fragments = manifest.fragments.filter(({ id }) => covered.has(id));
  try {
    const column = indexColumn(version.file, entry.fields[0]);
    const index = await openIfReadable(version, entry, kind, column.field);
    if (index === null) {
      damages.skip(`index ${entry.name}: this release does not read its files, and does not use it`);
      return null;
    }
    // Values in dictionaries have no bytes of their own.
    const plain = { ...kind, takesDictionaries: false, keepsNoRows: false };
    const rows = rowsOfKind(version, plain, { column, fragments, signal });
    if (index instanceof IvfIndex) return (await checkVectorIndex(index, rows, signal)) ?? "";
    if (index instanceof TextIndex) return (await checkTextIndex(index, rows, signal)) ?? "";
    return (await checkValueIndex(index as OpenIndex, column.field.type, rows, signal)) ?? "";
  } catch (error) {
    if (!(error instanceof TableColumnNotFoundError)) throw error;
    damages.skip(`index ${entry.name}: its column was dropped`);
    return null;
  }
}
