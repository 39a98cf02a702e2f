/**
 * Replaces descriptors of blobs with their values. Pages only say where a value lies. The values are read
 * batch by batch, for the wanted rows only, in batches so small that their values fit in memory.
 */

import type { Column, Validity, VariableColumn } from "../arrow/columns/column.js";
import { areNarrow } from "../arrow/columns/offsets.js";
import { sliceColumn } from "../arrow/columns/sliceColumn.js";
import { concatBytes } from "../bytes/concat.js";
import { CorruptFileError } from "../errors.js";
import { type BlobLocation, blobLocations } from "../file/blobs/blobDescriptors.js";
import { blobChecksumsIn, type ReadValues } from "../file/container/blobChecksums.js";
import type { DataFileMetadata } from "../file/container/reader.js";
import type { PageSource } from "../file/pages/pageRows.js";
import type { HandlePool } from "../io/disk/handles.js";
import { readRanges } from "../io/disk/ranges.js";
import type { MemoryShare } from "../memory.js";
import { isBlob, type LeafPlan } from "./leafPlan.js";

/** Maximum bytes of blobs in a batch, unless a single row has more. */
const BATCH_BLOB_BYTES = 32 * 1024 * 1024;

/** Name of this use of memory. */
const BLOBS = "blobs";

const NOTHING = new Uint8Array(0);

/** Members of a source that reading blobs needs. */
export type BlobSource = Pick<PageSource, "handles">;

/** Output columns of some rows. Columns of blobs hold descriptors, or nulls if no file has them. */
export interface DescribedRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** The file of each leaf; null if no file has it. */
  readonly files: readonly (DataFileMetadata | null)[];
}

/** Rows with the values of their blobs: a part of the rows described. */
export interface BlobRows {
  readonly columns: Column[];
  readonly rowCount: number;
  /** Number of rows described before these. */
  readonly firstRow: number;
}

/** Yields the rows with their blobs, in smaller batches if the blobs have many bytes. */
export async function* readBlobBatches(
  source: BlobSource,
  plan: LeafPlan,
  rows: DescribedRows,
  { batchBytes = BATCH_BLOB_BYTES, memory }: { readonly batchBytes?: number; readonly memory?: MemoryShare },
): AsyncGenerator<BlobRows> {
  const waiting = [{ rows, firstRow: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { firstRow } = next;
    const { columns, rowCount, files } = next.rows;
    const byteLength = blobBytes(plan, next.rows);
    if (rowCount > 1 && byteLength > Math.min(BATCH_BLOB_BYTES, batchBytes)) {
      const half = rowCount >>> 1;
      const part = (start: number, count: number): { rows: DescribedRows; firstRow: number } => ({
        rows: { columns: columns.map((column) => sliceColumn(column, start, count)), rowCount: count, files },
        firstRow: firstRow + start,
      });
      waiting.push(part(half, rowCount - half), part(0, half));
    } else {
      // Values of several rows are copied from the bytes read into one block.
      await memory?.hold(BLOBS, (rowCount > 1 ? 2 : 1) * byteLength);
      yield { columns: await readBlobs(source, plan, next.rows), rowCount, firstRow };
      memory?.note(BLOBS, 0);
    }
  }
}

/**
 * Returns the columns with the values of their blobs.
 * @throws CorruptFileError if a value does not lie in its file, or fails its checksum
 */
export async function readBlobs(source: BlobSource, plan: LeafPlan, rows: DescribedRows): Promise<Column[]> {
  const columns = [...rows.columns];
  for (const [index, { leaves }] of plan.outputs.entries()) {
    let next = 0;
    columns[index] = await fillLeaves(columns[index], async (column) => {
      const number = leaves[next++];
      const { storage, blobMembers } = plan.leaves[number];
      if (!isBlob(storage)) return column;
      const file = rows.files[number];
      const locations = locationsOf(column, file);
      const values = await readValues(source, locations, file);
      return storage === "blobs"
        ? largeBinaries(values, column.validity)
        : blobStructs(locations, values, column.validity, blobMembers);
    });
  }
  return columns;
}

/** Replaces the leaves of a column one by one, in their order. */
async function fillLeaves(column: Column, fill: (leaf: Column) => Promise<Column>): Promise<Column> {
  if (column.kind === "list") {
    const { offsets, items } = narrowed(column);
    return { ...column, offsets, items: await fillLeaves(items, fill) };
  }
  if (column.kind !== "struct") return fill(column);
  const children: Column[] = [];
  for (const child of column.children) children.push(await fillLeaves(child, fill));
  return { ...column, children };
}

/** Drops the items before the first list and after the last one. */
function narrowed({ offsets, items, length }: Extract<Column, { kind: "list" }>): {
  offsets: Int32Array | BigInt64Array;
  items: Column;
} {
  const first = Number(offsets[0]);
  const kept = sliceColumn(items, first, Number(offsets[length]) - first);
  if (areNarrow(offsets)) return { offsets: offsets.map((offset) => offset - first), items: kept };
  const shift = BigInt(first);
  return { offsets: offsets.map((offset) => offset - shift), items: kept };
}

function blobBytes(plan: LeafPlan, { columns, files }: DescribedRows): number {
  let sum = 0;
  for (const [index, { leaves }] of plan.outputs.entries()) {
    let next = 0;
    const visit = (column: Column): void => {
      if (column.kind === "list") {
        visit(narrowed(column).items);
        return;
      }
      if (column.kind === "struct") {
        for (const child of column.children) visit(child);
        return;
      }
      const number = leaves[next++];
      if (!isBlob(plan.leaves[number].storage)) return;
      for (const location of locationsOf(column, files[number])) sum += location?.length ?? 0;
    };
    visit(columns[index]);
  }
  return sum;
}

type Locations = readonly (BlobLocation | null)[];

/** Reads the values of blobs; nulls and blobs outside the table have none. */
async function readValues(
  { handles }: BlobSource,
  locations: Locations,
  file: DataFileMetadata | null,
): Promise<Uint8Array[]> {
  const values: Uint8Array[] = locations.map(() => NOTHING);
  const byFile = new Map<string, number[]>();
  for (const [index, location] of locations.entries()) {
    if (location === null || location.path === null || location.length === 0) continue;
    const ofFile = byFile.get(location.path);
    if (ofFile === undefined) byFile.set(location.path, [index]);
    else ofFile.push(index);
  }
  for (const [path, indexes] of byFile) {
    const ranges = indexes.flatMap((index) => locations[index] ?? []);
    const [{ sideFile }] = ranges;
    const byteLength = ranges.reduce((sum, { length }) => sum + length, 0);
    await handles.withHandle(path, async (handle) => {
      // No two values share bytes. A total of more bytes than the file has means damage.
      if (byteLength > handle.size) {
        throw new CorruptFileError(
          path,
          0,
          `${byteLength} bytes of blobs exceed the file of ${handle.size} bytes`,
        );
      }
      const read = await readRanges(handle, ranges);
      await verifyBlobs(handles, file, { path, sideFile, ranges }, read);
      for (const [position, index] of indexes.entries()) values[index] = read[position];
    });
  }
  return values;
}

/** Verifies values against the checksums in their data file, if it has any. */
export async function verifyBlobs(
  handles: HandlePool,
  file: DataFileMetadata | null,
  where: ReadValues,
  values: readonly Uint8Array[],
): Promise<void> {
  const checksums = file?.blobChecksums;
  if (file === null || checksums === null || checksums === undefined) return;
  await handles.withHandle(file.path, (handle) => blobChecksumsIn(checksums).verify(handle, where, values));
}

function largeBinaries(values: readonly Uint8Array[], validity: Validity | null): VariableColumn {
  const offsets = new BigInt64Array(values.length + 1);
  let byteLength = 0;
  for (const [index, value] of values.entries()) {
    byteLength += value.length;
    offsets[index + 1] = BigInt(byteLength);
  }
  const bytes = values.length === 1 ? values[0] : concatBytes(values, byteLength);
  return { kind: "variable", length: values.length, validity, offsets, bytes };
}

/**
 * Makes structs of data and URI: a blob in the table has data, a blob outside it a URI. Further members are
 * the position and size of the blob within the file of the URI; they are null if the blob is the whole file.
 */
function blobStructs(
  locations: Locations,
  values: readonly Uint8Array[],
  validity: Validity | null,
  memberCount: number,
): Column {
  const { length } = locations;
  const uris = locations.map((location) => (location?.path === null ? location.uri : NOTHING));
  const offsets = new Int32Array(length + 1);
  for (const [index, uri] of uris.entries()) offsets[index + 1] = offsets[index] + uri.length;
  const uri: VariableColumn = {
    kind: "variable",
    length,
    validity: flagged(locations, (location) => location?.path === null),
    offsets,
    bytes: concatBytes(uris, offsets[length]),
  };
  const data = largeBinaries(
    values,
    flagged(locations, (location) => location !== null && location.path !== null),
  );
  if (memberCount === 2) return { kind: "struct", length, validity, children: [data, uri] };
  const range = [rangeMember(locations, "byteOffset"), rangeMember(locations, "length")];
  return { kind: "struct", length, validity, children: [data, uri, ...range] };
}

function rangeMember(locations: Locations, member: "byteOffset" | "length"): Column {
  const isPart = (location: BlobLocation | null): boolean => location?.path === null && location.length > 0;
  const values = BigUint64Array.from(locations, (location) =>
    location !== null && isPart(location) ? BigInt(location[member]) : 0n,
  );
  return {
    kind: "fixed",
    length: values.length,
    validity: flagged(locations, isPart),
    byteWidth: 8,
    values: new Uint8Array(values.buffer),
  };
}

function flagged(locations: Locations, isValid: (location: BlobLocation | null) => boolean): Validity | null {
  const bytes = new Uint8Array(Math.ceil(locations.length / 8));
  let nullCount = 0;
  for (const [index, location] of locations.entries()) {
    if (isValid(location)) bytes[index >>> 3] |= 1 << (index & 7);
    else nullCount++;
  }
  return nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount };
}

/** Returns the locations of a leaf's blobs, all null if no file has the leaf. */
export function locationsOf(leaf: Column, file: DataFileMetadata | null): Locations {
  if (file === null || (leaf.kind !== "fixed" && leaf.kind !== "variable")) {
    return Array.from({ length: leaf.length }, () => null);
  }
  return blobLocations(leaf, file.path);
}
