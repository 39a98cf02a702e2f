/**
 * Reads the bytes of a column, and checks the headers of its pages before hyparquet decodes them. It
 * believes what a header states, so a damaged number of values would keep the thread busy for minutes.
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

/**
 * Returns a file that holds the bytes of one column of a row group.
 * @param node node of the column in the schema
 * @throws InvalidInputError for headers that disagree with the metadata
 */
export async function checkedColumn(
  file: AsyncBuffer,
  group: RowGroup,
  node: SchemaTree,
): Promise<AsyncBuffer> {
  const { name } = node.element;
  const isFlat = node.children.length === 0 && node.element.repetition_type !== "REPEATED";
  const chunks = group.columns.flatMap(({ meta_data: data }) =>
    data?.path_in_schema[0] === name ? [data] : [],
  );
  if (chunks.length === 0) throw damaged(`a row group lacks column ${name}`);
  const ranges = chunks.map((chunk) => rangeOf(chunk, file.byteLength, name));
  const start = Math.min(...ranges.map((range) => range.start));
  const bytes = await file.slice(start, Math.max(...ranges.map((range) => range.end)));
  for (const [index, chunk] of chunks.entries()) {
    const count = Number(chunk.num_values);
    if (!(count >= 0 && count <= MAX_VALUES) || (isFlat && count !== Number(group.num_rows))) {
      throw damaged(`column ${name} states ${count} values in a row group of ${group.num_rows} rows`);
    }
    const range = ranges[index];
    const pages = new Uint8Array(bytes, range.start - start, range.end - range.start);
    checkPages(pages, chunk, levelsOf(chunk, node));
    await yieldToEventLoop();
  }
  return {
    byteLength: file.byteLength,
    slice: (from, to = file.byteLength) => bytes.slice(from - start, to - start),
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

function checkPages(bytes: Uint8Array, chunk: ColumnMetaData, levels: LevelLimits): void {
  const count = Number(chunk.num_values);
  const [name] = chunk.path_in_schema;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reader = { view, offset: 0 };
  let remaining = count;
  while (reader.offset < view.byteLength - 1 && remaining > 0) {
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
  }
  if (remaining > 0) throw damaged(`column ${name} has ${count - remaining} values, not ${count}`);
}

const damaged = (reason: string): InvalidInputError =>
  new InvalidInputError(`readParquet: the file is not Parquet, or damaged: ${reason}`);
