/** Writes the files of a partition (textPartition.ts): tokens as a sorted list, postings without impacts. */

import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFileWriter } from "../../file/writing/writer.js";
import {
  binaryColumn,
  type FileColumnType,
  FLOAT32_TYPE,
  fixedWidthColumn,
  integerWords,
  LARGE_BINARY_TYPE,
  LIST_TYPE,
  listColumn,
  TEXT_TYPE,
  UINT32,
  uint32Column,
  uint64Column,
} from "../indexColumns.js";
import { once, writeIndexFile } from "../indexFile.js";
import type { IndexTarget, RowStream, WrittenIndexFile } from "../kind.js";
import { findIdRuns, formatIdRuns } from "./documentIds.js";
import type { EncodedLists, WrittenForm } from "./postingEncoder.js";
import type { Corpus } from "./score.js";
import { DOCUMENT_COLUMNS, ID_RUNS, partitionFiles, TOKEN_COLUMNS } from "./textPartition.js";

/** Tokens per batch. */
const BATCH_ROWS = 8192;

/** Returns the metadata about the layout of postings. */
export const formTexts = ({ blockSize, withPosition }: WrittenForm): Readonly<Record<string, string>> => ({
  posting_tail_codec: "varint_delta_v1",
  format_version: blockSize === 256 ? "3" : "2",
  posting_block_size: String(blockSize),
  ...(withPosition && { positions_layout: "shared_stream_v2", positions_codec: "packed_delta_v1" }),
});

interface PartitionContent {
  /** Row ids, as pairs of words. */
  readonly ids: Uint32Array;
  readonly lengths: Uint32Array;
  /** Tokens by id. */
  readonly tokens: readonly Uint8Array[];
  /** Yields the lists of the tokens by id, in pieces. */
  lists(corpus: Corpus): AsyncIterable<EncodedLists>;
}

export async function writePartition(
  target: IndexTarget,
  id: string,
  form: WrittenForm,
  content: PartitionContent,
): Promise<WrittenIndexFile[]> {
  const names = partitionFiles(id);
  let total = 0;
  for (const length of content.lengths) total += length;
  const corpus = { documents: content.lengths.length, tokens: total };
  const rows = once([uint64Column(content.ids), uint32Column(content.lengths)]);
  const runs = await runAsync(findIdRuns(content.ids));
  const stated = runs && formatIdRuns(runs);
  const docs = await writeIndexFile(target, names.docs, DOCUMENT_COLUMNS, rows, (file) => {
    file.addMetadata("total_tokens", String(total));
    // A search need not read the ids.
    if (stated !== null) file.addMetadata(ID_RUNS, stated);
  });
  const tokens = await writeTokens(target, names.tokens, content.tokens);
  const columns: FileColumnType[] = [
    { name: "_posting", type: LIST_TYPE, item: LARGE_BINARY_TYPE },
    { name: "_max_score", type: FLOAT32_TYPE },
    { name: "_length", type: UINT32 },
  ];
  if (form.withPosition) {
    columns.push(
      { name: "_compressed_position", type: LARGE_BINARY_TYPE },
      { name: "_position_block_offset", type: LIST_TYPE, item: UINT32 },
    );
  }
  const lists = invertBatches(content.lists(corpus));
  const invert = await writeIndexFile(target, names.invert, columns, lists, (file) =>
    setTexts(file, formTexts(form)),
  );
  return [docs, tokens, invert];
}

export function setTexts(file: DataFileWriter, texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts)) file.addMetadata(name, text);
}

async function writeTokens(
  target: IndexTarget,
  name: string,
  tokens: readonly Uint8Array[],
): Promise<WrittenIndexFile> {
  async function* unsorted(): RowStream {
    for (let start = 0; start < tokens.length; start += BATCH_ROWS) {
      const values = binaryColumn(tokens.slice(start, start + BATCH_ROWS));
      const ids = new Uint32Array(2 * values.length);
      for (let row = 0; row < values.length; row++) ids[2 * row] = start + row;
      yield { values, ids: uint64Column(ids), rowCount: values.length };
      await yieldToEventLoop();
    }
  }
  async function* batches(): AsyncGenerator<InputBatch> {
    for await (const { values, ids, rowCount } of target.sort(unsorted(), TEXT_TYPE)) {
      const words = integerWords(ids, name);
      const lows = Uint32Array.from({ length: rowCount }, (_, row) => words[2 * row]);
      yield { columns: [values, uint32Column(lows)], rowCount };
    }
  }
  return writeIndexFile(target, name, TOKEN_COLUMNS, batches());
}

async function* invertBatches(lists: AsyncIterable<EncodedLists>): AsyncGenerator<InputBatch> {
  for await (const piece of lists) {
    if (piece.count > 0) yield invertBatch(piece);
    await yieldToEventLoop();
  }
}

/** Makes a batch of the postings file. */
function invertBatch(lists: EncodedLists): InputBatch {
  const { count, scores, documentCounts, blockStarts, byteStarts, bytes, positions } = lists;
  const columns: Column[] = [
    listColumn(blockStarts, largeBinaryColumn(byteStarts, bytes)),
    fixedWidthColumn(scores, 4),
    uint32Column(documentCounts),
  ];
  if (positions !== null) {
    columns.push(
      largeBinaryColumn(positions.starts, positions.bytes),
      listColumn(blockStarts, uint32Column(positions.blockOffsets)),
    );
  }
  return { columns, rowCount: count };
}

function largeBinaryColumn(starts: Uint32Array, bytes: Uint8Array): VariableColumn {
  const offsets = new BigInt64Array(starts.length);
  const words = new Uint32Array(offsets.buffer);
  for (let row = 0; row < starts.length; row++) words[2 * row] = starts[row];
  return { kind: "variable", length: starts.length - 1, validity: null, offsets, bytes };
}
