/**
 * Reads data files of versions 2.0 to 2.3: opens one by its last bytes, then fetches whole pages. An open
 * {@link DataFileMetadata} holds metadata only and never changes, so it may be shared and cached. It does not
 * keep its handle: every read takes a handle.
 */

import { lazyModule } from "../../async/lazy.js";
import { isPending } from "../../async/pending.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { FileDescriptor } from "../../format/file.js";
import type { Origin } from "../../format/message.js";
import type { ReadHandle } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { readRanges } from "../../io/disk/ranges.js";
import { type BufferChecksums, decodeChecksums, type FileChecksums } from "./checksums.js";
import {
  BLOB_CHECKSUM_BUFFER_INDEX,
  DATA_FILE_FOOTER_BYTES,
  type DataFileFooter,
  decodeColumnMetadata,
  decodeFooter,
  decodeTable,
  withKnownVersion,
} from "./container.js";
import type { LegacyFile } from "./legacyFile.js";
import type { PageEncoding, ReadableVersion } from "./page.js";
import { RecentMessages } from "./recentMessages.js";

/** Loaded with the first file of version 0.1. */
const legacyFiles = lazyModule(() => import("./legacyFile.js"));

/** Bytes fetched when a file is opened. The metadata of all but very wide or long files fits in them. */
export const TAIL_BYTES = 64 * 1024;
/** Bytes fetched when most of a small file will be read: twice as many bytes cost less than another call. */
export const SCANNED_TAIL_BYTES = 128 * 1024;
/** Larger files are not cached whole: many of them would displace the metadata of all others. */
const MAX_SHARED_BYTES = TAIL_BYTES;

/** Tag of a descriptor's schema: field 1, with a length. */
const SCHEMA_TAG = 0x0a;

const NO_BYTES = new Uint8Array(0);

/**
 * A page of a column. Its rows are those of the file. In 2.0, items of lists have columns of their own: their
 * pages count the values of the column at any depth.
 */
export interface DataPage {
  /** First row of the page in the file. */
  readonly rowStart: number;
  readonly rowCount: number;
  /** Values of each row, if {@link countedByRows} set it; else 1. */
  readonly valuesPerRow?: number;
  readonly bufferRanges: readonly ByteRange[];
  readonly layout: PageEncoding;
  /** Index of the page's first buffer among those of its column. */
  readonly bufferIndex: number;
}

/** A physical column. Its pages are decoded on first access. */
interface DataColumn {
  /**
   * Pages in row order, without gaps. Pages of fixed-size lists of structs count items ({@link
   * countedByRows}).
   * @throws CorruptFileError if the column's metadata is damaged
   */
  readonly pages: readonly DataPage[];
}

/** The metadata of a data file, without its pages. */
export interface DataFileMetadata {
  readonly path: string;
  /** Identity of the handle that read it. Equal identities mean equal bytes only under the same path. */
  readonly identity: string;
  /** Size of the file. */
  readonly byteLength: number;
  readonly version: ReadableVersion;
  readonly rowCount: number;
  readonly columns: readonly DataColumn[];
  readonly descriptor: FileDescriptor;
  /** Entry 0 is the schema descriptor. */
  readonly globalBuffers: readonly ByteRange[];
  /** Null for files without checksums. */
  readonly checksums: BufferChecksums | null;
  /** Null for files without checksums of global buffers. */
  readonly globalChecksums: FileChecksums | null;
  /** Range of the checksums of the file's blob values (blobChecksums.ts); null for files without them. */
  readonly blobChecksums: ByteRange | null;
  /** Places of the pages of a file of version 0.1; absent for other files. */
  readonly legacy?: LegacyFile;
  /** The whole file if opening it has read all of it, else null. */
  readonly content: Uint8Array | null;
  /** True if others use the content too: no view of it may then be handed out. */
  readonly sharesContent: boolean;
  /** Approximate bytes of memory this object holds, for caches. */
  readonly memoryWeight: number;
}

/**
 * Reads and checks the metadata of a data file.
 * @throws CorruptFileError for bytes that are not a data file, UnsupportedError for other format versions
 */
export async function openDataFile(handle: ReadHandle, path: string): Promise<DataFileMetadata> {
  const fileSize = handle.size;
  if (fileSize < DATA_FILE_FOOTER_BYTES)
    throw new CorruptFileError(path, 0, `${fileSize} bytes are too few for a data file`);
  const tailLength = Math.min(fileSize, TAIL_BYTES);
  const tailBytes = handle.takeTail?.() ?? (await handle.read(fileSize - tailLength, tailLength));
  const tail = new Tail(handle, tailBytes);
  const content = tailBytes.length === fileSize ? tailBytes : null;
  if (hasLegacyVersion(tailBytes)) {
    const { openLegacyFile } = await legacyFiles.get();
    const legacy = await openLegacyFile(handle, path);
    if (legacy !== null) return legacyMetadata(legacy, handle, path);
  }
  const footerBytes = tailBytes.subarray(tailBytes.length - DATA_FILE_FOOTER_BYTES, tailBytes.length);
  // Nothing is awaited that the tail holds: a scan of many small files would wait several times for each.
  const reading = readFooter(tail, footerBytes, path);
  const footer = isPending(reading) ? await reading : reading;
  const finding = readTables(tail, footer, path);
  const tables = isPending(finding) ? await finding : finding;
  const { globalBuffers, metadataRanges, metadataBytes } = tables;
  const [descriptorRange] = globalBuffers;
  const { byteOffset } = descriptorRange;
  const fetching = tail.getAll([descriptorRange, ...metadataRanges]);
  const sections = isPending(fetching) ? await fetching : fetching;
  // A view keeps alive all bytes of its read: they are few, or the file's content is kept anyway.
  const isKept = content !== null && content.length <= MAX_SHARED_BYTES;
  const descriptor = decodeDescriptor(sections[0], { path, byteOffset });
  const verifying = readChecksums(tail, descriptor, footer, tables, path);
  const checksums = isPending(verifying) ? await verifying : verifying;
  const hasGlobals = checksums !== null && checksums.globalCount > 0;
  if (hasGlobals && checksums.globalCount !== globalBuffers.length - 1) {
    throw new CorruptFileError(
      path,
      byteOffset,
      "the number of checksums differs from the number of global buffers",
    );
  }
  const blobChecksums =
    checksums === null || hasGlobals ? null : (globalBuffers[BLOB_CHECKSUM_BUFFER_INDEX] ?? null);
  if (descriptor.schema === undefined) throw new CorruptFileError(path, byteOffset, "the file has no schema");
  const rowCount = descriptor.length;
  const source: ColumnSource = {
    path,
    fileSize,
    // Columns of 2.0 may be items of lists, whose number the file does not state here.
    rowCount: footer.version === "2.0" ? null : rowCount,
    metadataRanges,
    checksums,
  };
  const columns = metadataRanges.map((_, index) => {
    const encoded = isKept ? sections[index + 1] : sections[index + 1].slice();
    return new LazyColumn(encoded, source, index);
  });
  return {
    path,
    identity: handle.identity,
    byteLength: fileSize,
    version: footer.version,
    rowCount,
    columns,
    // The checksums are decoded already, and their bytes would keep alive all bytes of their read.
    descriptor: { ...descriptor, bufferCounts: [], checksums: NO_BYTES, blockCounts: [] },
    globalBuffers,
    checksums,
    globalChecksums: hasGlobals ? checksums : null,
    blobChecksums,
    content,
    sharesContent: false,
    memoryWeight:
      1024 +
      columns.length * 256 +
      metadataBytes * 16 +
      (checksums?.memoryWeight ?? 0) +
      (blobChecksums?.length ?? 0) +
      (content?.length ?? 0),
  };
}

/** True if the last bytes name version 0.1. */
function hasLegacyVersion(tail: Uint8Array): boolean {
  const view = new DataView(tail.buffer, tail.byteOffset + tail.length - 8, 8);
  return view.getUint16(0, true) === 0 && view.getUint16(2, true) < 3;
}

const NO_DESCRIPTOR = FileDescriptor.create({});

/** Returns a file of 0.1. Its columns are numbered by the ids of their fields. */
function legacyMetadata(legacy: LegacyFile, { identity, size }: ReadHandle, path: string): DataFileMetadata {
  const columns: DataColumn[] = [];
  for (const id of legacy.fieldIds) columns[id] = { pages: [] };
  return {
    path,
    identity,
    byteLength: size,
    version: "0.1",
    rowCount: legacy.rowCount,
    columns,
    descriptor: NO_DESCRIPTOR,
    globalBuffers: [],
    checksums: null,
    globalChecksums: null,
    blobChecksums: null,
    content: null,
    sharesContent: false,
    legacy,
    memoryWeight: 1024 + legacy.memoryWeight,
  };
}

/**
 * Returns the footer of a file with a readable version. A damaged version must not look like that of another
 * release.
 * @throws CorruptFileError, UnsupportedError
 */
function readFooter(
  tail: Tail,
  footerBytes: Uint8Array,
  path: string,
): DataFileFooter | Promise<DataFileFooter> {
  try {
    return decodeFooter(footerBytes, path, tail.fileSize);
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    return verifyAnyVersion(tail, footerBytes, path).then(() => {
      throw error;
    });
  }
}

/** Ranges of a file's metadata. */
interface FileTables {
  /** Entry 0 is the schema descriptor. */
  readonly globalBuffers: readonly ByteRange[];
  /** Metadata of each column. */
  readonly metadataRanges: readonly ByteRange[];
  /** Length of the descriptor and of all column metadata. */
  readonly metadataBytes: number;
}

function readTables(tail: Tail, footer: DataFileFooter, path: string): FileTables | Promise<FileTables> {
  const tables = tail.getAll([footer.globalTable, footer.columnTable]);
  return isPending(tables)
    ? tables.then((read) => decodeTables(read, footer, path, tail.fileSize))
    : decodeTables(tables, footer, path, tail.fileSize);
}

function decodeTables(
  [globalBytes, columnBytes]: readonly Uint8Array[],
  { globalTable, columnTable }: DataFileFooter,
  path: string,
  fileSize: number,
): FileTables {
  const globalBuffers = decodeTable(globalBytes, path, globalTable.byteOffset, fileSize);
  const metadataRanges = decodeTable(columnBytes, path, columnTable.byteOffset, fileSize);
  const metadataBytes = metadataRanges.reduce((sum, { length }) => sum + length, globalBuffers[0].length);
  if (metadataBytes > fileSize) {
    throw new CorruptFileError(path, columnTable.byteOffset, "the column metadata is longer than the file");
  }
  return { globalBuffers, metadataRanges, metadataBytes };
}

/** @throws CorruptFileError if a file of an unknown version has our checksums and fails them */
async function verifyAnyVersion(tail: Tail, footerBytes: Uint8Array, path: string): Promise<void> {
  let footer: DataFileFooter;
  let tables: FileTables;
  let descriptor: FileDescriptor;
  try {
    footer = decodeFooter(withKnownVersion(footerBytes), path, tail.fileSize);
    tables = await readTables(tail, footer, path);
    const [range] = tables.globalBuffers;
    const [bytes] = await tail.getAll([range]);
    descriptor = FileDescriptor.decode(bytes, { path, byteOffset: range.byteOffset });
  } catch (error) {
    // Files of another version may have another structure.
    if (error instanceof CorruptFileError) return;
    throw error;
  }
  await readChecksums(tail, descriptor, footer, tables, path);
}

const recentSchemas = new RecentMessages<FileDescriptor["schema"]>(4, 16 * 1024);

/** Decodes the schema, which writers put first, only if it differs from that of the files before. */
function decodeDescriptor(bytes: Uint8Array, origin: Origin): FileDescriptor {
  const end = endOfFirstField(bytes);
  if (end > 0) {
    const rest = FileDescriptor.decode(bytes.subarray(end), origin);
    const first = bytes.subarray(0, end);
    const schema = recentSchemas.get(first, (bytes) => FileDescriptor.decode(bytes, origin).schema);
    // If the rest holds another part of the same field, all parts are decoded together.
    if (rest.schema === undefined) return { ...rest, schema };
  }
  return FileDescriptor.decode(bytes, origin);
}

/** End of the first field; 0 unless it is a schema of less than 16 KiB. */
function endOfFirstField(bytes: Uint8Array): number {
  if (bytes.length < 3 || bytes[0] !== SCHEMA_TAG) return 0;
  const isLong = bytes[1] >= 0x80;
  if (isLong && bytes[2] >= 0x80) return 0;
  const end = isLong ? 3 + (bytes[1] & 0x7f) + bytes[2] * 128 : 2 + bytes[1];
  return end <= bytes.length ? end : 0;
}

/** Returns the file as caches keep it, with its content if that is small. All users share the content. */
export function shareable(file: DataFileMetadata): DataFileMetadata {
  const { content, memoryWeight } = file;
  if (content === null) return file;
  if (content.length <= MAX_SHARED_BYTES) return { ...file, sharesContent: true };
  return { ...file, content: null, memoryWeight: memoryWeight - content.length };
}

/** The last bytes of a file, and access to the bytes before them. */
class Tail {
  readonly fileSize: number;
  readonly #start: number;

  constructor(
    private readonly handle: ReadHandle,
    private readonly bytes: Uint8Array,
  ) {
    this.fileSize = handle.size;
    this.#start = handle.size - bytes.length;
  }

  /** Returns the bytes of each range; at once if the tail holds them all. */
  getAll(ranges: readonly ByteRange[]): Uint8Array[] | Promise<Uint8Array[]> {
    const missing = ranges.filter((range) => range.byteOffset < this.#start && range.length > 0);
    if (missing.length === 0) return this.#cut(ranges, []);
    return readRanges(this.handle, missing).then((fetched) => this.#cut(ranges, fetched));
  }

  #cut(ranges: readonly ByteRange[], fetched: readonly Uint8Array[]): Uint8Array[] {
    let next = 0;
    return ranges.map((range) => {
      if (range.length === 0) return NO_BYTES;
      if (range.byteOffset < this.#start) return fetched[next++];
      const offset = range.byteOffset - this.#start;
      return this.bytes.subarray(offset, offset + range.length);
    });
  }
}

function readChecksums(
  tail: Tail,
  descriptor: FileDescriptor,
  { columnTable, globalTable, columnCount }: DataFileFooter,
  { globalBuffers: [range], metadataBytes }: FileTables,
  path: string,
): FileChecksums | null | Promise<FileChecksums> {
  if (descriptor.checksums.length === 0) return null;
  const { byteOffset } = range;
  const rest = { byteOffset, length: tail.fileSize - byteOffset };
  if (rest.length !== metadataBytes + columnTable.length + globalTable.length + DATA_FILE_FOOTER_BYTES) {
    throw new CorruptFileError(
      path,
      byteOffset,
      "there are other bytes than the metadata after the descriptor",
    );
  }
  const verify = ([bytes]: readonly Uint8Array[]) =>
    decodeChecksums(descriptor, range, bytes, columnCount, path);
  const fetching = tail.getAll([rest]);
  return isPending(fetching) ? fetching.then(verify) : verify(fetching);
}

/** The file of some columns, and the numbers that the pages of each must add up to. */
interface ColumnSource {
  readonly path: string;
  readonly fileSize: number;
  readonly rowCount: number | null;
  /** By column. */
  readonly metadataRanges: readonly ByteRange[];
  readonly checksums: FileChecksums | null;
}

/**
 * A column that drops its encoded metadata once decoded. It is a class, because a getter in a literal would
 * give each column its own shape.
 */
class LazyColumn implements DataColumn {
  #encoded: Uint8Array | null;
  #pages: readonly DataPage[] = [];
  readonly #source: ColumnSource;
  readonly #index: number;

  constructor(encoded: Uint8Array, source: ColumnSource, index: number) {
    this.#encoded = encoded;
    this.#source = source;
    this.#index = index;
  }

  get pages(): readonly DataPage[] {
    if (this.#encoded !== null) this.#pages = decodePages(this.#encoded, this.#source, this.#index);
    this.#encoded = null;
    return this.#pages;
  }
}

function decodePages(bytes: Uint8Array, source: ColumnSource, index: number): DataPage[] {
  const { path } = source;
  const { byteOffset } = source.metadataRanges[index];
  const bufferCount = source.checksums?.bufferCount(index);
  let rowStart = 0;
  let bufferIndex = 0;
  const records = decodeColumnMetadata(bytes, path, byteOffset, source.fileSize);
  const pages = records.map(({ rowCount, buffers: bufferRanges, layout }) => {
    const page: DataPage = { rowStart, rowCount, bufferRanges, layout, bufferIndex };
    rowStart += rowCount;
    bufferIndex += bufferRanges.length;
    return page;
  });
  if (source.rowCount !== null && !isMultiple(rowStart, source.rowCount)) {
    const reason = `pages of a column hold ${rowStart} rows in a file of ${source.rowCount}`;
    throw new CorruptFileError(path, byteOffset, reason);
  }
  if (bufferCount !== undefined && bufferIndex !== bufferCount) {
    const reason = `${bufferIndex} page buffers and checksums of ${bufferCount}`;
    throw new CorruptFileError(path, byteOffset, reason);
  }
  return pages;
}

/** True if a column holds a whole multiple of the file's rows (items). */
const isMultiple = (valueCount: number, rowCount: number): boolean =>
  valueCount === rowCount || (rowCount > 0 && valueCount > 0 && valueCount % rowCount === 0);

/**
 * Returns the file, with the pages of the given columns counted in rows.
 * @throws CorruptFileError if a column does not hold `valuesPerRow` values for each row of the file
 */
export function countedByRows(
  file: DataFileMetadata,
  leaves: readonly { readonly columnIndex: number; readonly valuesPerRow: number }[],
): DataFileMetadata {
  const { path, rowCount } = file;
  let columns: DataColumn[] | null = null;
  for (const { columnIndex, valuesPerRow } of leaves) {
    const { pages } = file.columns[columnIndex];
    const last = pages.at(-1);
    const valueCount = last === undefined ? 0 : last.rowStart + last.rowCount;
    const split = pages.some((page) => page.rowCount % valuesPerRow !== 0);
    if (valueCount !== rowCount * valuesPerRow || split) {
      const reason = `pages of a column hold ${valueCount} values for ${rowCount} rows of ${valuesPerRow}`;
      throw new CorruptFileError(path, 0, reason);
    }
    if (valuesPerRow === 1) continue;
    columns ??= [...file.columns];
    columns[columnIndex] = {
      pages: pages.map((page) => ({
        ...page,
        rowStart: page.rowStart / valuesPerRow,
        rowCount: page.rowCount / valuesPerRow,
        valuesPerRow,
      })),
    };
  }
  return columns === null ? file : { ...file, columns };
}

/**
 * Reads the bytes of a global buffer.
 * @param number at least 1; number 0 is the descriptor
 * @throws CorruptFileError if the file lacks the buffer, or it fails its checksum
 */
export async function readGlobalBuffer(
  handle: ReadHandle,
  file: DataFileMetadata,
  number: number,
): Promise<Uint8Array> {
  const [bytes] = await readRanges(handle, [globalRange(file, number)]);
  file.globalChecksums?.verifyGlobal(number, bytes, file.path, file.globalBuffers[number].byteOffset);
  return bytes;
}

/** Like {@link readGlobalBuffer}, for a file whose content is in memory. Returns a copy. */
export function globalBufferOf(file: DataFileMetadata, content: Uint8Array, number: number): Uint8Array {
  const { byteOffset, length } = globalRange(file, number);
  if (byteOffset + length > content.length)
    throw new CorruptFileError(file.path, byteOffset, `a buffer of ${length} bytes leaves the file`);
  const bytes = content.slice(byteOffset, byteOffset + length);
  file.globalChecksums?.verifyGlobal(number, bytes, file.path, byteOffset);
  return bytes;
}

function globalRange(file: DataFileMetadata, number: number): ByteRange {
  const range = file.globalBuffers[number];
  if (range === undefined) throw new CorruptFileError(file.path, 0, `has no global buffer ${number}`);
  return range;
}
