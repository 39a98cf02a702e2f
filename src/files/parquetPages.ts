/**
 * Reads the bytes of a column, and checks the headers of its pages before hyparquet decodes them. It
 * believes what a header states, so a damaged number of values would keep the thread busy for minutes. It
 * decodes all its pages in one step: it gets a few pages at a time, as a file of their own.
 */

import type { AsyncBuffer, ColumnMetaData, RowGroup, SchemaTree } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from "hyparquet/src/schema.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { InvalidInputError } from "../errors.js";
import { checkRuns, type LevelLimits } from "./parquetRuns.js";

/** Maximum values of a column in a row group. */
const MAX_VALUES = 2 ** 27;
/** Maximum entries of a dictionary that has more than its column has values. */
const SPARE_ENTRIES = 2 ** 20;

/** Values of the pages that are decoded in one step. */
const PART_VALUES = 2 ** 16;

/** Bytes at the start of a file. An offset of 0 means that there is no such page. */
const MAGIC_BYTES = 4;

/** Some rows of a column of a row group. */
export interface PageRun {
  readonly rowCount: number;
  /** A file with the pages of the rows, and the row group that it holds. */
  readonly file: AsyncBuffer;
  readonly group: RowGroup;
}

/**
 * Returns the rows of one column of a row group, in parts that are decoded quickly. A struct of several
 * columns is one part, as are lists in pages of version 1, which may end within a row.
 * @param node node of the column in the schema
 * @throws InvalidInputError for headers that disagree with the metadata
 */
export async function checkedColumn(
  file: AsyncBuffer,
  group: RowGroup,
  node: SchemaTree,
): Promise<readonly PageRun[]> {
  const { name } = node.element;
  const isFlat = node.children.length === 0 && node.element.repetition_type !== "REPEATED";
  const chunks = group.columns.flatMap(({ meta_data: data }) =>
    data?.path_in_schema[0] === name ? [data] : [],
  );
  if (chunks.length === 0) throw damaged(`a row group lacks column ${name}`);
  const ranges = chunks.map((chunk) => rangeOf(chunk, file.byteLength, name));
  const start = Math.min(...ranges.map((range) => range.start));
  const bytes = await file.slice(start, Math.max(...ranges.map((range) => range.end)));
  let pages: readonly Page[] = [];
  for (const [index, chunk] of chunks.entries()) {
    const count = Number(chunk.num_values);
    if (!(count >= 0 && count <= MAX_VALUES) || (isFlat && count !== Number(group.num_rows))) {
      throw damaged(`column ${name} states ${count} values in a row group of ${group.num_rows} rows`);
    }
    const range = ranges[index];
    const chunkBytes = new Uint8Array(bytes, range.start - start, range.end - range.start);
    pages = await checkPages(chunkBytes, chunk, levelsOf(chunk, node), isFlat);
  }
  const whole = {
    byteLength: file.byteLength,
    slice: (from: number, to = file.byteLength) => bytes.slice(from - start, to - start),
  };
  const parts = chunks.length === 1 ? partsOf(pages, chunks[0], group) : [];
  return parts.length > 1 ? parts : [{ rowCount: Number(group.num_rows), file: whole, group }];
}

/** A page with its header. */
interface Page {
  readonly bytes: Uint8Array;
  readonly isDictionary: boolean;
  readonly valueCount: number;
  /** Number of rows; null if the page may end within a row. */
  readonly rowCount: number | null;
}

/** Divides the pages of a column; there are no parts if a page may end within a row. */
function partsOf(pages: readonly Page[], chunk: ColumnMetaData, group: RowGroup): PageRun[] {
  const dictionary = pages.filter(({ isDictionary }) => isDictionary);
  const ofRows = pages.filter(({ isDictionary }) => !isDictionary);
  const total = ofRows.reduce((sum, { rowCount }) => sum + (rowCount ?? Number.NaN), 0);
  if (total !== Number(group.num_rows) || dictionary.length > 1) return [];
  const parts: PageRun[] = [];
  for (let first = 0; first < ofRows.length; ) {
    let end = first + 1;
    let values = ofRows[first].valueCount;
    while (end < ofRows.length && values < PART_VALUES) values += ofRows[end++].valueCount;
    parts.push(partOf(dictionary, ofRows.slice(first, end), chunk));
    first = end;
  }
  return parts;
}

function partOf(dictionary: readonly Page[], pages: readonly Page[], chunk: ColumnMetaData): PageRun {
  const pieces = [...dictionary, ...pages];
  const byteLength = pieces.reduce((sum, { bytes }) => sum + bytes.byteLength, MAGIC_BYTES);
  const rowCount = pages.reduce((sum, page) => sum + (page.rowCount ?? 0), 0);
  const valueCount = pages.reduce((sum, page) => sum + page.valueCount, 0);
  const data: ColumnMetaData = {
    ...chunk,
    num_values: BigInt(valueCount),
    total_compressed_size: BigInt(byteLength - MAGIC_BYTES),
    data_page_offset: BigInt(dictionary.reduce((sum, { bytes }) => sum + bytes.byteLength, MAGIC_BYTES)),
  };
  if (dictionary.length > 0) data.dictionary_page_offset = BigInt(MAGIC_BYTES);
  else delete data.dictionary_page_offset;
  const file = () => {
    const bytes = new Uint8Array(byteLength);
    let offset = MAGIC_BYTES;
    for (const piece of pieces) {
      bytes.set(piece.bytes, offset);
      offset += piece.bytes.byteLength;
    }
    return bytes.buffer;
  };
  return {
    rowCount,
    file: { byteLength, slice: (from, to) => file().slice(from, to) },
    group: {
      columns: [{ meta_data: data, file_offset: 0n }],
      num_rows: BigInt(rowCount),
      total_byte_size: BigInt(byteLength),
    },
  };
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

function rangeOf(chunk: ColumnMetaData, fileLength: number, name: string): ByteRange {
  const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
  const end = start + Number(chunk.total_compressed_size);
  if (start >= 0 && start <= end && end <= fileLength) return { start, end };
  throw damaged(`column ${name} is said to lie outside the file`);
}

function levelsOf({ path_in_schema: [, ...path] }: ColumnMetaData, node: SchemaTree): LevelLimits {
  const nodes = getTreePath(node, path);
  // The function for definition leaves the root out, and the node is none.
  return { repetition: getMaxRepetitionLevel(nodes), definition: getMaxDefinitionLevel([node, ...nodes]) };
}

/** Checks and returns the pages of a column. */
async function checkPages(
  bytes: Uint8Array,
  chunk: ColumnMetaData,
  levels: LevelLimits,
  isFlat: boolean,
): Promise<Page[]> {
  const pages: Page[] = [];
  const count = Number(chunk.num_values);
  const [name] = chunk.path_in_schema;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reader = { view, offset: 0 };
  let remaining = count;
  while (reader.offset < view.byteLength - 1 && remaining > 0) {
    const start = reader.offset;
    const header = parquetHeader(reader);
    const { compressed_page_size: size, data_page_header: first, data_page_header_v2: second } = header;
    if (!(size >= 0 && reader.offset + size <= view.byteLength)) {
      throw damaged(`a page of column ${name} is longer than its column`);
    }
    const page = bytes.subarray(reader.offset, reader.offset + size);
    reader.offset += size;
    const values = first?.num_values ?? second?.num_values ?? 0;
    const entries = header.dictionary_page_header?.num_values ?? 0;
    const isPlausible = values <= remaining && entries <= Math.max(count, SPARE_ENTRIES);
    if (!(values >= 0 && entries >= 0 && isPlausible)) {
      throw damaged(`a page of column ${name} states ${values + entries} values in ${size} bytes`);
    }
    checkRuns(page, header, chunk, levels);
    remaining -= values;
    pages.push({
      bytes: bytes.subarray(start, reader.offset),
      isDictionary: header.dictionary_page_header !== undefined,
      valueCount: values,
      rowCount: isFlat ? values : (second?.num_rows ?? null),
    });
    await yieldToEventLoop();
  }
  if (remaining > 0) throw damaged(`column ${name} has ${count - remaining} values, not ${count}`);
  return pages;
}

const damaged = (reason: string): InvalidInputError =>
  new InvalidInputError(`readParquet: the file is not Parquet, or damaged: ${reason}`);
