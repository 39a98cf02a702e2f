/**
 * A file with an FM index of some documents (suffixIndex.ts). Its rows are the words of the nodes of the
 * tree, in blocks, and after them the sampled positions:
 *
 *     node_id      u32  node; 2^32 - 1 for positions
 *     block_id     u32  number of the block, from 0 for each node
 *     words        large_binary  up to 4096 words of 64 bits: bits of the node, lowest first; or positions
 *     prefix_rank  u64  ones of the node before the block; 0 for positions
 *     bit_len      u64  bits of the node; for positions, their number
 *
 * The metadata is text: numbers in decimal, and bytes in hexadecimal.
 *
 *     num_bwt_nodes, bwt_len, total_wavelet_rows, num_sa_blocks, sa_samples_len, sa_sample_rate (32),
 *     alphabet_size (256)
 *     c_table              257 × u64: first row of each byte, then the number of rows
 *     huffman_codes        codes of the bytes (byteCodes.ts)
 *     tree_topology        tree of the codes (byteCodes.ts)
 *     row_ids              u64 of each document: its row address
 *     doc_start_positions  u64 of each document: its position in the string
 */

import type { InputBatch } from "../../arrow/exchange/input.js";
import { runAsync } from "../../async/eventLoop.js";
import { countSetBits } from "../../bytes/bits.js";
import { concatBytes } from "../../bytes/concat.js";
import { fromHex, toHex } from "../../bytes/hex.js";
import { UnsupportedError } from "../../errors.js";
import {
  binaryColumn,
  byteValues,
  type FileColumnType,
  integerWords,
  LARGE_BINARY_TYPE,
  UINT32,
  UINT64_TYPE,
  uint32Column,
  uint64Column,
} from "../indexColumns.js";
import { OpenIndexFile, writeIndexFile } from "../indexFile.js";
import type { IndexFiles, IndexTarget, WrittenIndexFile } from "../kind.js";
import { decodeTree, encodeCodes, encodeTree } from "./byteCodes.js";
import { type Documents, SAMPLE_RATE, SuffixIndex } from "./suffixIndex.js";
import { WaveletTree } from "./waveletTree.js";

const COLUMNS: readonly FileColumnType[] = [
  { name: "node_id", type: UINT32 },
  { name: "block_id", type: UINT32 },
  { name: "words", type: LARGE_BINARY_TYPE },
  { name: "prefix_rank", type: UINT64_TYPE },
  { name: "bit_len", type: UINT64_TYPE },
];
const METADATA = [
  ...["num_bwt_nodes", "bwt_len", "total_wavelet_rows", "num_sa_blocks", "sa_samples_len", "sa_sample_rate"],
  ...["alphabet_size", "c_table", "huffman_codes", "tree_topology", "row_ids", "doc_start_positions"],
];
/** Words of 32 bits of a block. */
const BLOCK_WORDS = 8192;
const NO_NODE = 2 ** 32 - 1;
const MAX_ROWS = 2 ** 31 - 1;
const COPIED_ROWS = 256;
const BYTES = 256;

/** A row of the file. */
interface Block {
  readonly node: number;
  readonly number: number;
  readonly words: Uint32Array;
  readonly onesBefore: number;
  readonly bitCount: number;
}

/** Writes a file. */
export function writeSuffixFile(
  target: IndexTarget,
  name: string,
  index: SuffixIndex,
): Promise<WrittenIndexFile> {
  const { tree, firsts, samples, documents } = index;
  const nodeBlocks = tree.nodes.flatMap(({ bitCount, words }, node) => blocksOf(node, words, bitCount));
  const sampleBlocks = blocksOf(NO_NODE, widened(samples), samples.length);
  const numbers = [tree.nodes.length, tree.length, nodeBlocks.length, sampleBlocks.length, samples.length];
  const byteTexts = [
    wordBytes(widened(firsts)),
    encodeCodes(tree.tree),
    encodeTree(tree.tree),
    wordBytes(documents.addresses),
    wordBytes(widened(documents.starts)),
  ];
  const texts = [...[...numbers, SAMPLE_RATE, BYTES].map(String), ...byteTexts.map(toHex)];
  return writeIndexFile(target, name, COLUMNS, batchesOf([...nodeBlocks, ...sampleBlocks]), (file) => {
    for (const [position, key] of METADATA.entries()) file.addMetadata(key, texts[position]);
  });
}

/** Cuts words into blocks. */
function blocksOf(node: number, words: Uint32Array, bitCount: number): Block[] {
  const blocks: Block[] = [];
  let onesBefore = 0;
  for (let start = 0; start < words.length; start += BLOCK_WORDS) {
    const some = words.subarray(start, start + BLOCK_WORDS);
    blocks.push({ node, number: blocks.length, words: some, onesBefore, bitCount });
    if (node !== NO_NODE) for (const word of some) onesBefore += countSetBits(word);
  }
  return blocks;
}

async function* batchesOf(blocks: readonly Block[]): AsyncGenerator<InputBatch> {
  for (let start = 0; start < blocks.length; start += COPIED_ROWS) {
    const some = blocks.slice(start, start + COPIED_ROWS);
    const numbersOf = (of: (block: Block) => number) => Uint32Array.from(some, of);
    const columns = [
      uint32Column(numbersOf(({ node }) => node)),
      uint32Column(numbersOf(({ number }) => number)),
      binaryColumn(some.map(({ words }) => wordBytes(words))),
      uint64Column(widened(numbersOf(({ onesBefore }) => onesBefore))),
      uint64Column(widened(numbersOf(({ bitCount }) => bitCount))),
    ];
    yield { columns, rowCount: some.length };
  }
}

/** Returns numbers of 32 bits as pairs of words: low, high. */
function widened(numbers: Uint32Array): Uint32Array {
  const words = new Uint32Array(2 * numbers.length);
  for (let index = 0; index < numbers.length; index++) words[2 * index] = numbers[index];
  return words;
}

const wordBytes = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** An open file. */
export class SuffixFile {
  private constructor(
    private readonly files: IndexFiles,
    private readonly file: OpenIndexFile,
    readonly documents: Documents,
  ) {}

  /** @throws CorruptFileError; UnsupportedError */
  static async open(files: IndexFiles, name: string): Promise<SuffixFile> {
    const file = await OpenIndexFile.open(files, name, COLUMNS);
    const addresses = wordsOf(file, "row_ids");
    const starts = numbersOf(file, "doc_start_positions");
    const isAscending = starts.every((start, index) =>
      index === 0 ? start === 0 : start > starts[index - 1],
    );
    if (2 * starts.length !== addresses.length || !isAscending)
      file.fail("the positions of its documents do not fit them");
    return new SuffixFile(files, file, { starts, addresses });
  }

  get memoryWeight(): number {
    const { starts, addresses } = this.documents;
    return 1024 + this.file.metadata.memoryWeight + starts.byteLength + addresses.byteLength;
  }

  /** Bytes to read before a search; 0 if they are in memory. */
  get missingBytes(): number {
    return this.files.parts.peek(this.#key) === undefined ? this.file.byteLength(["words"]) : 0;
  }

  /** Reads the index through the cache. */
  async index(signal?: AbortSignal): Promise<SuffixIndex> {
    const index = await this.files.parts.get(this.#key, async () => {
      const value = await this.#read();
      return { value, weight: value.memoryWeight };
    });
    signal?.throwIfAborted();
    return index as SuffixIndex;
  }

  get #key(): string {
    return `${this.file.cacheKey}suffixes`;
  }

  async #read(): Promise<SuffixIndex> {
    const { file, documents } = this;
    const fail = (reason: string): never => file.fail(reason);
    const rowCount = numberOf(file, "bwt_len");
    const nodeRows = numberOf(file, "total_wavelet_rows");
    const sampleCount = numberOf(file, "sa_samples_len");
    const rate = numberOf(file, "sa_sample_rate");
    const blocks = await this.#blocks();
    if (nodeRows > blocks.length || blocks.length !== nodeRows + numberOf(file, "num_sa_blocks"))
      fail("the file has a wrong number of rows");
    if (rate !== SAMPLE_RATE) throw new UnsupportedError(`${file.path} has a position every ${rate} rows`);
    if (sampleCount !== Math.ceil(rowCount / SAMPLE_RATE)) fail("the number of its positions is wrong");
    const byNode = Array.from({ length: numberOf(file, "num_bwt_nodes", BYTES) }, (): Block[] => []);
    for (const block of blocks.slice(0, nodeRows)) {
      const same = byNode[block.node];
      if (same === undefined || block.number !== same.length) fail("the rows of its nodes are out of order");
      same.push(block);
    }
    const nodes = byNode.map((same) => ({
      bitCount: same[0]?.bitCount ?? 0,
      words: joined(same.map(({ words }) => words)),
    }));
    const tree = WaveletTree.open(rowCount, nodes, decodeTree(bytesOf(file, "tree_topology"), fail), fail);
    const firsts = numbersOf(file, "c_table");
    const isWhole = firsts.length === BYTES + 1 && firsts[0] === 0 && firsts[BYTES] === rowCount;
    for (let byte = 0; byte < BYTES; byte++)
      if (!isWhole || firsts[byte + 1] - firsts[byte] !== tree.rank(byte, rowCount))
        fail("its counts of bytes are wrong");
    const sampleWords = joined(blocks.slice(nodeRows).map(({ words }) => words));
    const samples = narrowed(file, sampleWords.subarray(0, 2 * sampleCount), "a sampled position");
    if (samples.length !== sampleCount || samples.some((position) => position >= rowCount))
      fail("a sampled position is missing or too large");
    return new SuffixIndex(tree, firsts, samples, documents);
  }

  async #blocks(): Promise<Block[]> {
    const { file } = this;
    const names = ["node_id", "block_id", "words", "bit_len"];
    const [ids, numbers, words, bits] = await Promise.all(names.map((name) => file.column(name)));
    const nodeIds = integerWords(ids, file.path);
    const blockIds = integerWords(numbers, file.path);
    const bitCounts = narrowed(file, integerWords(bits, file.path), "a number of bits");
    if (words.validity !== null) file.fail("a block is null");
    return byteValues(words).map((bytes, row) => {
      if (bytes.length % 8 !== 0) file.fail("a block has a part of a word");
      // A copy: the bytes may lie at any address.
      const copy = bytes.slice();
      return {
        node: nodeIds[row],
        number: blockIds[row],
        words: new Uint32Array(copy.buffer, 0, copy.length / 4),
        onesBefore: 0,
        bitCount: bitCounts[row],
      };
    });
  }

  /** Restores the documents' string. */
  async text(signal?: AbortSignal): Promise<Uint8Array> {
    return runAsync((await this.index(signal)).text(), signal);
  }

  /** Copies the file under a new name. */
  copy(target: IndexTarget, name: string): Promise<WrittenIndexFile> {
    const { file } = this;
    const names = COLUMNS.map((column) => column.name);
    return writeIndexFile(
      target,
      name,
      COLUMNS,
      file.batches(names, COPIED_ROWS, target.signal),
      (writer) => {
        for (const key of METADATA) {
          const text = file.text(key);
          if (text !== null) writer.addMetadata(key, text);
        }
      },
    );
  }
}

const joined = (parts: readonly Uint32Array[]): Uint32Array => {
  const bytes = concatBytes(parts.map(wordBytes));
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
};

/** Returns a number of the metadata. @throws CorruptFileError */
function numberOf(file: OpenIndexFile, key: string, most = MAX_ROWS): number {
  const text = file.text(key) ?? "";
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  return number <= most ? number : file.fail(`its ${key} is ${JSON.stringify(text.slice(0, 40))}`);
}

/** Returns bytes of the metadata. @throws CorruptFileError */
const bytesOf = (file: OpenIndexFile, key: string): Uint8Array =>
  fromHex(file.text(key) ?? "-") ?? file.fail(`its ${key} is not hexadecimal`);

/** Returns integers of 64 bits of the metadata as pairs of words. @throws CorruptFileError */
function wordsOf(file: OpenIndexFile, key: string): Uint32Array {
  const bytes = bytesOf(file, key);
  if (bytes.length % 8 !== 0) file.fail(`its ${key} has a part of a number`);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

const numbersOf = (file: OpenIndexFile, key: string): Uint32Array =>
  narrowed(file, wordsOf(file, key), `a number of ${key}`);

/** Returns integers of 64 bits as numbers below 2^31. @throws CorruptFileError for larger ones */
function narrowed(file: OpenIndexFile, words: Uint32Array, subject: string): Uint32Array {
  return Uint32Array.from({ length: words.length / 2 }, (_, index) => {
    const [low, high] = [words[2 * index], words[2 * index + 1]];
    return high === 0 && low <= MAX_ROWS ? low : file.fail(`${subject} is too large`);
  });
}
