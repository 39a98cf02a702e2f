/**
 * From descriptors of blobs to their values. Pages say only where a value lies; the values are read batch by batch,
 * after the rows are known that are wanted, and batches are cut so small that their values fit into memory.
 */

import type { Column, FixedColumn, VariableColumn } from "../arrow/column.js";
import { sliceColumn } from "../arrow/rearrange.js";
import { CorruptFileError, InternalError, InvalidInputError } from "../errors.js";
import { descriptorAt } from "../file/blobDescriptors.js";
import type { HandlePool } from "../io/handles.js";
import { type ByteRange, readRanges } from "../io/ranges.js";
import type { LazyBlob } from "../namespace.js";
import type { FragmentSource } from "./fragmentColumns.js";
import type { Projection } from "./projection.js";

/** Bytes of blobs in a batch, unless a row alone has more. */
const BATCH_BLOB_BYTES = 32 * 1024 * 1024;

/** Output columns of some rows of a fragment; those of blobs are descriptors, or have none where it lacks the column. */
export interface DescribedRows {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** For each projected column the file it is from; null where the fragment has no such column. */
  readonly files: readonly (string | null)[];
}

/** The same rows with their blobs, cut where they have many bytes of them. */
export async function* readBlobBatches(
  source: FragmentSource,
  projection: Projection,
  rows: DescribedRows,
): AsyncGenerator<{ columns: Column[]; rowCount: number }, void, undefined> {
  const waiting = [rows];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { columns, rowCount, files } = next;
    if (rowCount > 1 && blobBytes(projection, next) > BATCH_BLOB_BYTES) {
      const half = rowCount >>> 1;
      const part = (start: number, count: number): DescribedRows => ({
        columns: columns.map((column) => sliceColumn(column, start, count)),
        rowCount: count,
        files,
      });
      waiting.push(part(half, rowCount - half), part(0, half));
    } else {
      yield { columns: await readBlobs(source, projection, next), rowCount };
    }
  }
}

/** The columns with their blobs. @throws CorruptFileError where these do not lie in their file */
export async function readBlobs(
  source: FragmentSource,
  projection: Projection,
  rows: DescribedRows,
): Promise<Column[]> {
  const columns = [...rows.columns];
  let leaf = 0;
  for (const [index, { leafCount }] of projection.outputs.entries()) {
    const leaves = { next: leaf };
    leaf += leafCount;
    columns[index] = await fillLeaves(columns[index], async (column) => {
      const number = leaves.next++;
      if (projection.columns[number].storage !== "blobs" || column.kind !== "fixed") return column;
      return readValues(source, column, rows.files[number]);
    });
  }
  return columns;
}

/** A column with its leaves replaced one by one, in their order. */
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

/** Lists without the items in front of and behind theirs. */
function narrowed({ offsets, items, length }: Extract<Column, { kind: "list" }>): {
  offsets: Int32Array | BigInt64Array;
  items: Column;
} {
  const first = Number(offsets[0]);
  const kept = sliceColumn(items, first, Number(offsets[length]) - first);
  if (offsets instanceof Int32Array) return { offsets: offsets.map((offset) => offset - first), items: kept };
  const shift = BigInt(first);
  return { offsets: offsets.map((offset) => offset - shift), items: kept };
}

function blobBytes(projection: Projection, { columns, files }: DescribedRows): number {
  let sum = 0;
  let leaf = 0;
  const visit = (column: Column): void => {
    if (column.kind === "list") {
      visit(narrowed(column).items);
      return;
    }
    if (column.kind === "struct") {
      for (const child of column.children) visit(child);
      return;
    }
    const number = leaf++;
    if (projection.columns[number].storage !== "blobs" || column.kind !== "fixed") return;
    for (let index = 0; index < column.length; index++) {
      sum += descriptorAt(column, index, files[number] ?? "")?.length ?? 0;
    }
  };
  for (const index of projection.outputs.keys()) visit(columns[index]);
  return sum;
}

async function readValues(
  { handles }: FragmentSource,
  descriptors: FixedColumn,
  path: string | null,
): Promise<VariableColumn> {
  const { length, validity } = descriptors;
  const offsets = new BigInt64Array(length + 1);
  const ranges: ByteRange[] = [];
  let byteLength = 0;
  for (let index = 0; index < length; index++) {
    const range = descriptorAt(descriptors, index, path ?? "");
    if (range !== null && range.length > 0) {
      ranges.push(range);
      byteLength += range.length;
    }
    offsets[index + 1] = BigInt(byteLength);
  }
  const column = { kind: "variable", length, validity, offsets } as const;
  if (byteLength === 0) return { ...column, bytes: new Uint8Array(0) };
  if (path === null) throw new InternalError("blobs of no file");
  return handles.withHandle(path, async (handle) => {
    // No two values share bytes, so that more than the file has means damage.
    if (byteLength > handle.size) {
      throw new CorruptFileError(path, 0, `${byteLength} bytes of blobs in a file of ${handle.size}`);
    }
    const values = await readRanges(handle, ranges);
    if (values.length === 1) return { ...column, bytes: values[0] };
    const bytes = new Uint8Array(byteLength);
    let position = 0;
    for (const value of values) {
      bytes.set(value, position);
      position += value.length;
    }
    return { ...column, bytes };
  });
}

/** Blobs to be read later, from the descriptors of one column. */
export function lazyBlobs(
  { handles }: FragmentSource,
  column: Column,
  path: string | null,
): (LazyBlob | null)[] {
  if (column.kind !== "fixed" || path === null) return Array.from({ length: column.length }, () => null);
  return Array.from({ length: column.length }, (_, index) => {
    const range = descriptorAt(column, index, path);
    return range === null ? null : new FileBlob(handles, path, range);
  });
}

class FileBlob implements LazyBlob {
  readonly size: number;
  readonly #handles: HandlePool;
  readonly #path: string;
  readonly #byteOffset: number;

  constructor(handles: HandlePool, path: string, { byteOffset, length }: ByteRange) {
    this.size = length;
    this.#handles = handles;
    this.#path = path;
    this.#byteOffset = byteOffset;
  }

  async read(offset = 0, length?: number): Promise<Uint8Array> {
    checkPosition(offset, "offset");
    if (length !== undefined) checkPosition(length, "length");
    const start = Math.min(offset, this.size);
    const count = Math.min(length ?? this.size, this.size - start);
    if (count === 0) return new Uint8Array(0);
    const byteOffset = this.#byteOffset + start;
    return this.#handles.withHandle(this.#path, (handle) => {
      if (this.#byteOffset + this.size > handle.size) {
        const reason = `refers to a blob of ${this.size} bytes at ${this.#byteOffset} of a file of ${handle.size}`;
        throw new CorruptFileError(this.#path, this.#byteOffset, reason);
      }
      return handle.read(byteOffset, count);
    });
  }
}

function checkPosition(value: unknown, member: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return;
  throw new InvalidInputError(`${member}: must be an integer of at least 0`);
}
