/** Writes the files of a partition (textPartition.ts), with the tokens as a sorted list and without impacts. */

import type { Column, FixedColumn, ListColumn, VariableColumn } from "../../arrow/columns/column.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { breathe } from "../../async/eventLoop.js";
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
import type { IndexRows, IndexTarget, WrittenIndexFile } from "../kind.js";
import { ByteWriter, encodePositions, encodePostings } from "./postingBlocks.js";
import { type Corpus, lengthNorm, wordScore, wordWeight } from "./score.js";
import { partitionFiles, type TokenPostings } from "./textPartition.js";

/** Rows, and bytes of postings, that are handed on at once. */
const BATCH_ROWS = 8192;
const BATCH_BYTES = 4 * 1024 * 1024;

export interface WrittenForm {
  readonly blockSize: number;
  readonly withPosition: boolean;
}

/** The metadata that says how postings are laid out. */
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
  /** Tokens by their ids. */
  readonly tokens: readonly Uint8Array[];
  /** The documents of each token, in the order of ids; positions where they are wanted. */
  postings(): AsyncIterable<TokenPostings>;
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
    invertBatches(content, form, corpus),
    (file) => setTexts(file, formTexts(form)),
  );
  return [docs, tokens, invert];
}

export function setTexts(file: DataFileWriter, texts: readonly (readonly [string, string])[]): void {
  for (const [name, text] of texts) file.addMetadata(name, text);
}

/** One batch, unless it is empty. */
export async function* once(columns: readonly Column[]): AsyncGenerator<InputBatch, void, undefined> {
  if (columns[0].length > 0) yield { columns, rowCount: columns[0].length };
}

async function writeTokens(
  target: IndexTarget,
  name: string,
  tokens: readonly Uint8Array[],
): Promise<WrittenIndexFile> {
  async function* unsorted(): AsyncGenerator<IndexRows, void, undefined> {
    for (let start = 0; start < tokens.length; start += BATCH_ROWS) {
      const values = binaryColumn(tokens.slice(start, start + BATCH_ROWS));
      const ids = new Uint32Array(2 * values.length);
      for (let row = 0; row < values.length; row++) ids[2 * row] = start + row;
      yield { values, ids: uint64Column(ids), rowCount: values.length };
      await breathe();
    }
  }
  async function* batches(): AsyncGenerator<InputBatch, void, undefined> {
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
  { lengths, postings }: PartitionContent,
  form: WrittenForm,
  corpus: Corpus,
): AsyncGenerator<InputBatch, void, undefined> {
  const norms = new Float64Array(lengths.length);
  for (let document = 0; document < lengths.length; document++) {
    norms[document] = lengthNorm(corpus, lengths[document]);
  }
  let batch = new InvertBatch(form, corpus, norms);
  for await (const each of postings()) {
    batch.add(each);
    if (batch.isFull) {
      yield batch.finish();
      batch = new InvertBatch(form, corpus, norms);
    }
    await breathe();
  }
  if (batch.rowCount > 0) yield batch.finish();
}

class InvertBatch {
  readonly #form: WrittenForm;
  readonly #corpus: Corpus;
  readonly #norms: Float64Array;
  readonly #blocks: Uint8Array[] = [];
  readonly #blockEnds: number[] = [0];
  readonly #scores: number[] = [];
  readonly #counts: number[] = [];
  readonly #positions: Uint8Array[] = [];
  readonly #offsets: number[] = [];
  readonly #offsetEnds: number[] = [0];
  #bytes = 0;

  constructor(form: WrittenForm, corpus: Corpus, norms: Float64Array) {
    this.#form = form;
    this.#corpus = corpus;
    this.#norms = norms;
  }

  get rowCount(): number {
    return this.#counts.length;
  }

  get isFull(): boolean {
    return this.rowCount >= BATCH_ROWS || this.#bytes >= BATCH_BYTES;
  }

  add(postings: TokenPostings): void {
    const { documents, frequencies, positions } = postings;
    const { blockSize, withPosition } = this.#form;
    const scores = this.#blockScores(postings);
    for (const block of encodePostings(postings, blockSize, scores)) {
      this.#blocks.push(block);
      this.#bytes += block.length;
    }
    this.#blockEnds.push(this.#blocks.length);
    this.#scores.push(scores.reduce((best, score) => Math.max(best, score), 0));
    this.#counts.push(documents.length);
    if (!withPosition || positions === null) return;
    const writer = new ByteWriter();
    let at = 0;
    for (let start = 0; start < documents.length; start += blockSize) {
      this.#offsets.push(writer.length);
      const ofBlock = frequencies.subarray(start, start + blockSize);
      let count = 0;
      for (const frequency of ofBlock) count += frequency;
      encodePositions(writer, positions.subarray(at, at + count), ofBlock);
      at += count;
    }
    this.#offsetEnds.push(this.#offsets.length);
    const bytes = writer.take();
    this.#positions.push(bytes);
    this.#bytes += bytes.length;
  }

  /** The highest score of each block, a little more than it is: scores that are too low hide documents. */
  #blockScores({ documents, frequencies }: TokenPostings): Float64Array {
    const { blockSize } = this.#form;
    const weight = wordWeight(this.#corpus.documents, documents.length);
    const scores = new Float64Array(Math.ceil(documents.length / blockSize));
    for (let index = 0; index < documents.length; index++) {
      const block = Math.floor(index / blockSize);
      const score = wordScore(weight, frequencies[index], this.#norms[documents[index]]);
      if (score > scores[block]) scores[block] = score;
    }
    return scores.map((score) => score * (1 + 2 ** -20));
  }

  finish(): InputBatch {
    const scores = Float32Array.from(this.#scores);
    const scoreColumn: FixedColumn = {
      kind: "fixed",
      length: scores.length,
      validity: null,
      byteWidth: 4,
      values: new Uint8Array(scores.buffer),
    };
    const columns: Column[] = [
      listColumn(this.#blockEnds, largeBinaryColumn(this.#blocks)),
      scoreColumn,
      uint32Column(Uint32Array.from(this.#counts)),
    ];
    if (this.#form.withPosition) {
      columns.push(
        largeBinaryColumn(this.#positions),
        listColumn(this.#offsetEnds, uint32Column(Uint32Array.from(this.#offsets))),
      );
    }
    return { columns, rowCount: this.rowCount };
  }
}

const listColumn = (ends: readonly number[], items: Column): ListColumn => ({
  kind: "list",
  length: ends.length - 1,
  validity: null,
  offsets: Int32Array.from(ends),
  items,
});

function largeBinaryColumn(values: readonly Uint8Array[]): VariableColumn {
  const narrow = binaryColumn(values);
  return { ...narrow, offsets: BigInt64Array.from(narrow.offsets, BigInt) };
}
