/**
 * Files of the format 0.1, of Lance before 0.16. Their rows are in batches; each field has a page for each:
 *
 *     pages                         see v01/legacyPages.ts
 *     page table                    for each field id of the schema, from the smallest to the largest, and
 *                                   each batch: i64 position, i64 number of values; zeros without a page
 *     u32 length, message           the schema, at the position that the metadata state
 *     u32 length, message           the metadata, at the position that the footer states
 *     footer, 16 bytes              0  8  i64 position of the message
 *                                   8  2  u16 major version 0
 *                                  10  2  u16 minor version, below 3
 *                                  12  4  "LANC"
 */

import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { LegacyFileMetadata, LegacyManifest } from "../../format/file.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import type { LegacyPlace } from "./page.js";

const FOOTER_BYTES = 16;
const PREFIX_BYTES = 4;
/** Longer messages are refused: those of data files take a few bytes for each batch of thousands of rows. */
const MAX_MESSAGE_BYTES = 2 ** 26;
const MAGIC = 0x434e414c;

/** True if the version in a footer, or in the entry of a manifest, is 0.1. */
export const isLegacyVersion = (major: number, minor: number): boolean => major === 0 && minor < 3;

/**
 * Reads the message.
 * @returns null for a file of another version
 * @throws CorruptFileError
 */
export async function readLegacyMessage(
  handle: ReadHandle,
  path: string,
): Promise<{ readonly bytes: Uint8Array; readonly byteOffset: number } | null> {
  const footerStart = handle.size - FOOTER_BYTES;
  if (footerStart < PREFIX_BYTES) {
    throw new CorruptFileError(path, 0, `${handle.size} bytes are too few for a data file`);
  }
  const footer = viewOf(await handle.read(footerStart, FOOTER_BYTES));
  if (
    footer.getUint32(12, true) !== MAGIC ||
    !isLegacyVersion(footer.getUint16(8, true), footer.getUint16(10, true))
  ) {
    return null;
  }
  return readMessage(handle, path, Number(footer.getBigUint64(0, true)));
}

async function readMessage(
  handle: ReadHandle,
  path: string,
  position: number,
): Promise<{ readonly bytes: Uint8Array; readonly byteOffset: number }> {
  const footerStart = handle.size - FOOTER_BYTES;
  if (position > footerStart - PREFIX_BYTES) {
    throw new CorruptFileError(path, footerStart, `metadata position ${position} is outside the file`);
  }
  const byteOffset = position + PREFIX_BYTES;
  const length = viewOf(await handle.read(position, PREFIX_BYTES)).getUint32(0, true);
  if (length > MAX_MESSAGE_BYTES || byteOffset + length > footerStart) {
    throw new CorruptFileError(path, position, `metadata of ${length} bytes does not fit`);
  }
  return { bytes: await handle.read(byteOffset, length), byteOffset };
}

/** A file, with the places of its pages. */
export interface LegacyFile {
  readonly rowCount: number;
  /** First row of each batch, then the number of rows. */
  readonly batchStarts: readonly number[];
  /** Ids of the fields with pages, ascending. */
  readonly fieldIds: readonly number[];
  /** Returns the page of a field in a batch; null without one. */
  pageOf(fieldId: number, batch: number): LegacyPlace | null;
  /** Returns the dictionary of a field; null without one. */
  dictionaryOf(fieldId: number): LegacyPlace | null;
  /** Approximate bytes of memory. */
  readonly memoryWeight: number;
}

/**
 * Opens a file.
 * @returns null for a file of another version
 * @throws CorruptFileError
 */
export async function openLegacyFile(handle: ReadHandle, path: string): Promise<LegacyFile | null> {
  const legacy = await readLegacyMessage(handle, path);
  if (legacy === null) return null;
  const { bytes, byteOffset } = legacy;
  if (bytes[0] === INDEX_TAG) throw withoutColumns(path);
  const metadata = LegacyFileMetadata.decode(bytes, { path, byteOffset });
  const { batchOffsets: batchStarts, pageTablePosition, manifestPosition } = metadata;
  if (manifestPosition === 0 && pageTablePosition === 0) throw withoutColumns(path);
  const fail = (reason: string): never => {
    throw new CorruptFileError(path, byteOffset, reason);
  };
  const batchCount = Math.max(0, batchStarts.length - 1);
  for (let batch = 0; batch <= batchCount; batch++) {
    const least = batch === 0 ? 0 : batchStarts[batch - 1];
    if (batchStarts[batch] < least) fail(`batch ${batch} begins at row ${batchStarts[batch]}`);
  }
  const schema = await readMessage(handle, path, manifestPosition);
  const { fields } = LegacyManifest.decode(schema.bytes, { path, byteOffset: schema.byteOffset });
  const fieldIds = fields.map(({ id }) => id).sort((a, b) => a - b);
  const [firstId] = fieldIds;
  const lastId = fieldIds[fieldIds.length - 1];
  if (fieldIds.length === 0 || firstId < 0 || lastId - firstId > MAX_FIELDS) fail("the schema has no fields");
  // The table ends with the last field that has a page.
  const mostEntries = (lastId - firstId + 1) * batchCount;
  const length = Math.min(mostEntries * ENTRY_BYTES, handle.size - pageTablePosition);
  if (pageTablePosition > handle.size || length < 0 || mostEntries > MAX_ENTRIES)
    fail(`the page table at ${pageTablePosition} is outside the file`);
  const words = viewOf(await handle.read(pageTablePosition, length - (length % ENTRY_BYTES)));
  const entryAt = (index: number): LegacyEntry => {
    if ((index + 1) * ENTRY_BYTES > words.byteLength) return NO_PAGE;
    const position = Number(words.getBigInt64(index * ENTRY_BYTES, true));
    const count = Number(words.getBigInt64(index * ENTRY_BYTES + 8, true));
    const isInside = position >= 0 && count >= 0 && position <= pageTablePosition && count < MAX_VALUES;
    return isInside ? { position, count } : fail(`a page of ${count} values at ${position}`);
  };
  const positions = new Set<number>([0]);
  for (let index = 0; index < words.byteLength / ENTRY_BYTES; index++) positions.add(entryAt(index).position);
  const dictionaries = new Map<number, LegacyEntry>();
  for (const { id, dictionary } of fields) {
    if (dictionary === undefined || dictionary.length === 0) continue;
    const { offset: position, length: count } = dictionary;
    if (position < 0 || position > handle.size || count < 0 || count >= MAX_VALUES)
      fail("a dictionary is outside the file");
    dictionaries.set(id, { position, count });
    positions.add(position);
  }
  const ascending = Float64Array.from(positions).sort();
  const placeOf = ({ position, count }: LegacyEntry): LegacyPlace => {
    const index = lowerBound(ascending, position);
    return { position, count, start: index === 0 ? 0 : ascending[index - 1] };
  };
  return {
    rowCount: batchStarts.at(-1) ?? 0,
    batchStarts,
    fieldIds,
    pageOf(fieldId, batch) {
      const entry = entryAt((fieldId - firstId) * batchCount + batch);
      return entry.position === 0 && entry.count === 0 ? null : placeOf(entry);
    },
    dictionaryOf(fieldId) {
      const entry = dictionaries.get(fieldId);
      return entry === undefined ? null : placeOf(entry);
    },
    memoryWeight: words.byteLength + 8 * ascending.length + 256 * fields.length,
  };
}

/** First byte of the message that ends index files: field 1, with a length. */
const INDEX_TAG = 0x0a;

const withoutColumns = (path: string): UnsupportedError =>
  new UnsupportedError(`${path} has data format version 0.1 and holds no columns`);

interface LegacyEntry {
  readonly position: number;
  readonly count: number;
}

const NO_PAGE: LegacyEntry = { position: 0, count: 0 };
const ENTRY_BYTES = 16;
const MAX_FIELDS = 2 ** 20;
const MAX_ENTRIES = 2 ** 24;
const MAX_VALUES = 2 ** 31;

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
