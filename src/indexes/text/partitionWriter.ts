/** Writes the files of a partition (textPartition.ts): tokens as a sorted list, postings without impacts. */

import type { Column, FixedColumn, ListColumn, VariableColumn } from "../../arrow/columns/column.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFileWriter } from "../../file/writing/writer.js";
import {
  binaryColumn,
  FLOAT32_TYPE,
  integerWords,
  LARGE_BINARY_TYPE,
  LIST_TYPE,
  TEXT_TYPE,
  UINT32,
  UINT64_TYPE,
  uint32Column,
  uint64Column,
  writeIndexFile,
} from "../indexFile.js";
import type { IndexTarget, RowStream, WrittenIndexFile } from "../kind.js";
import type { EncodedLists, WrittenForm } from "./postingEncoder.js";
import type { Corpus } from "./score.js";
import { partitionFiles } from "./textPartition.js";

/** Tokens per batch. */
const BATCH_ROWS = 8192;

/** Returns the metadata about the layout of postings. */
export const formTexts = ({ blockSize, withPosition }: WrittenForm): [string, string][] => [
  ["posting_tail_codec", "varint_delta_v1"],
  ["format_version", blockSize === 256 ? "3" : "2"],
  ["posting_block_size", String(blockSize)],
  ...(withPosition
    ? ([
        ["positions_layout", "shared_stream_v2"],
        ["positions_codec", "packed_delta_v1"],
      ] as [string, string][])
    : []),
];

export interface PartitionContent {
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
  const docs = await writeIndexFile(
    target,
    names.docs,
    [
      { name: "_rowid", type: UINT64_TYPE },
      { name: "_num_tokens", type: UINT32 },
    ],
    once([uint64Column(content.ids), uint32Column(content.lengths)]),
    (file) => file.addMetadata("total_tokens", String(total)),
  );
  const tokens = await writeTokens(target, names.tokens, content.tokens);
  const invert = await writeIndexFile(
    target,
    names.invert,
    [
      { name: "_posting", type: LIST_TYPE, item: LARGE_BINARY_TYPE },
      { name: "_max_score", type: FLOAT32_TYPE },
      { name: "_length", type: UINT32 },
      ...(form.withPosition
        ? [
            { name: "_compressed_position", type: LARGE_BINARY_TYPE },
            { name: "_position_block_offset", type: LIST_TYPE, item: UINT32 },
          ]
        : []),
    ],
    invertBatches(content.lists(corpus)),
    (file) => setTexts(file, formTexts(form)),
  );
  return [docs, tokens, invert];
}

export function setTexts(file: DataFileWriter, texts: readonly (readonly [string, string])[]): void {
  for (const [name, text] of texts) file.addMetadata(name, text);
}

/** Yields one batch, unless it is empty. */
export async function* once(columns: readonly Column[]): AsyncGenerator<InputBatch> {
  if (columns[0].length > 0) yield { columns, rowCount: columns[0].length };
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
  const columns = [
    { name: "_token", type: TEXT_TYPE },
    { name: "_token_id", type: UINT32 },
  ];
  return writeIndexFile(target, name, columns, batches());
}

async function* invertBatches(
  lists: AsyncIterable<EncodedLists>,
): AsyncGenerator<InputBatch> {
  for await (const piece of lists) {
    if (piece.count > 0) yield invertBatch(piece);
    await yieldToEventLoop();
  }
}

/** Makes a batch of the postings file. */
function invertBatch({
  count,
  scores,
  documentCounts,
  blockStarts,
  byteStarts,
  bytes,
  positions,
}: EncodedLists): InputBatch {
  const scoreColumn: FixedColumn = {
    kind: "fixed",
    length: count,
    validity: null,
    byteWidth: 4,
    values: new Uint8Array(scores.buffer, scores.byteOffset, scores.byteLength),
  };
  const columns: Column[] = [
    listColumn(blockStarts, largeBinaryColumn(byteStarts, bytes)),
    scoreColumn,
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

const listColumn = (offsets: Int32Array, items: Column): ListColumn => ({
  kind: "list",
  length: offsets.length - 1,
  validity: null,
  offsets,
  items,
});

function largeBinaryColumn(starts: Uint32Array, bytes: Uint8Array): VariableColumn {
  const offsets = new BigInt64Array(starts.length);
  const words = new Uint32Array(offsets.buffer);
  for (let row = 0; row < starts.length; row++) words[2 * row] = starts[row];
  return { kind: "variable", length: starts.length - 1, validity: null, offsets, bytes };
}
