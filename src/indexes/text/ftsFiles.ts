/** Indexes of words: built of rows, and merged. */

import { breathe, goThrough } from "../../async/eventLoop.js";
import { encodeRoaring } from "../../bytes/roaring.js";
import { BINARY_TYPE, binaryColumn, integerWords, writeIndexFile } from "../indexFile.js";
import type { IndexRows, IndexTarget, MergeableIndex, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import { counted } from "../sortedRows.js";
import { Analyzer } from "./analyzer.js";
import { formatTextParameters, type TextParameters, textParameters } from "./parameters.js";
import { PartitionBuilder } from "./partitionBuilder.js";
import { formTexts, once, setTexts, writePartition } from "./partitionWriter.js";
import { type EncodedLists, PostingEncoder } from "./postingEncoder.js";
import { documentTokens, RowTexts } from "./rowTexts.js";
import type { Corpus } from "./score.js";
import { DELETED_FRAGMENTS, METADATA_FILE, type TextIndex } from "./textIndex.js";
import type { TextPartition, TokenPostings } from "./textPartition.js";
import { wordNumbers } from "./wordNumbers.js";

/** @throws InvalidInputError */
export async function checkTextParameters(parameters: IndexTarget["parameters"]): Promise<void> {
  await Analyzer.load(textParameters(parameters));
}

export async function buildTextIndex(
  rows: AsyncIterable<IndexRows>,
  target: IndexTarget,
): Promise<WrittenIndexFile[]> {
  const parameters = textParameters(target.parameters);
  const builder = new PartitionBuilder(target, parameters, 0);
  await addRows(builder, await Analyzer.load(parameters), counted(rows, target));
  const metadata = await writeMetadata(target, parameters, builder.partitionIds);
  return [...builder.files, metadata];
}

export async function mergeTextIndexes(
  old: readonly MergeableIndex[],
  moves: RowMoves | null,
  rows: AsyncIterable<IndexRows>,
  target: IndexTarget,
): Promise<WrittenIndexFile[]> {
  const [first] = old as TextIndex[];
  const { parameters } = first;
  const files: WrittenIndexFile[] = [];
  const ids: string[] = [];
  for (const index of old as TextIndex[]) {
    for (const partition of index.partitions) {
      const id = String(ids.length);
      const written = await writeMoved(partition, index, moves, target, id);
      if (written === null) continue;
      files.push(...written);
      ids.push(id);
    }
  }
  const builder = new PartitionBuilder(target, parameters, ids.length);
  await addRows(builder, await first.analyzer(), counted(rows, target));
  ids.push(...builder.partitionIds);
  return [...files, ...builder.files, await writeMetadata(target, parameters, ids)];
}

async function writeMetadata(
  target: IndexTarget,
  parameters: TextParameters,
  partitionIds: readonly string[],
): Promise<WrittenIndexFile> {
  return writeIndexFile(
    target,
    METADATA_FILE,
    [{ name: DELETED_FRAGMENTS, type: BINARY_TYPE }],
    once([binaryColumn([encodeRoaring(new Uint32Array(0))])]),
    (file) =>
      setTexts(file, [
        ["params", formatTextParameters(parameters)],
        ["partitions", `[${partitionIds.join(",")}]`],
        ["token_set_format", "arrow"],
        ...formTexts(parameters),
      ]),
  );
}

// ------------------------------------------------------------------------------------------------- texts

async function addRows(
  builder: PartitionBuilder,
  analyzer: Analyzer,
  rows: AsyncIterable<IndexRows>,
): Promise<void> {
  const numbers = analyzer.cutsWords ? wordNumbers(analyzer, (token) => builder.numberOf(token)) : null;
  const addNumber = (number: number, position: number): void => builder.addNumber(number, position);
  for await (const { values, ids, rowCount } of rows) {
    const words = integerWords(ids, "rows of an index");
    const texts = new RowTexts(values);
    numbers?.beginTexts();
    let bytes = 0;
    for (let row = 0; row < rowCount; row++) {
      const text = numbers === null ? null : texts.bytesOf(row);
      const isDone = text !== null && numbers?.each(text.bytes, text.start, text.end, addNumber);
      if (isDone !== true) {
        const add = (token: string, position: number): void => builder.add(token, position);
        await goThrough(documentTokens(analyzer, texts.of(row), add));
      }
      builder.endDocument(words[2 * row], words[2 * row + 1]);
      bytes += ROW_BYTES + (isDone === true ? text.end - text.start : STEP_BYTES);
      if (bytes >= STEP_BYTES) {
        await breathe();
        bytes = 0;
      }
      if (builder.isFull && (await builder.flush())) numbers?.forget();
    }
  }
  await builder.flush();
}

/** Bytes of texts between two looks at the clock; a row counts as so many at least. */
const STEP_BYTES = 4096;
const ROW_BYTES = 64;

// ------------------------------------------------------------------------------------------------- merging

const GONE = 0xffffffff;

/**
 * Writes a partition with the ids that its rows have now, without those that are gone.
 * @returns null where nothing is left
 */
async function writeMoved(
  partition: TextPartition,
  { parameters, deletedFragments }: TextIndex,
  moves: RowMoves | null,
  target: IndexTarget,
  id: string,
): Promise<WrittenIndexFile[] | null> {
  const { signal } = target;
  const documents = await partition.documents(signal);
  const moved = moves?.move(documents.ids) ?? { ids: documents.ids, kept: null };
  const numbers = new Uint32Array(documents.count).fill(GONE);
  const ids = new Uint32Array(2 * documents.count);
  const lengths = new Uint32Array(documents.count);
  let count = 0;
  const keep = (document: number): void => {
    if (deletedFragments.has(documents.ids[2 * document + 1])) return;
    numbers[document] = count;
    ids[2 * count] = moved.ids[2 * document];
    ids[2 * count + 1] = moved.ids[2 * document + 1];
    lengths[count++] = documents.lengths[document];
  };
  if (moved.kept === null) for (let document = 0; document < documents.count; document++) keep(document);
  else for (const document of moved.kept) keep(document);
  if (count === 0) return null;
  const table = await partition.tokens(signal);
  const names: Uint8Array[] = new Array(table.count);
  for (let place = 0; place < table.count; place++) names[table.id(place)] = table.token(place);
  const hasAll = count === documents.count;
  const tokens = hasAll ? names : await usedTokens(partition, names, numbers, signal);
  return writePartition(target, id, parameters, {
    ids: ids.subarray(0, 2 * count),
    lengths: lengths.subarray(0, count),
    tokens,
    lists: (corpus) => keptLists(partition, numbers, parameters, corpus, lengths, signal),
  });
}

/** The tokens of which a document is left. */
async function usedTokens(
  partition: TextPartition,
  names: readonly Uint8Array[],
  numbers: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Uint8Array[]> {
  const used: Uint8Array[] = [];
  for await (const { id, postings } of partition.allPostings(signal)) {
    if (postings.documents.some((document) => numbers[document] !== GONE)) used.push(names[id]);
    await breathe();
  }
  return used;
}

/** Tokens, and bytes of their lists, that are handed on at once. */
const LIST_TOKENS = 8192;
const LIST_BYTES = 4 * 2 ** 20;

/** The lists of the tokens that have a document left, by the new numbers of these. */
async function* keptLists(
  partition: TextPartition,
  numbers: Uint32Array,
  form: TextParameters,
  corpus: Corpus,
  lengths: Uint32Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<EncodedLists> {
  let encoder = new PostingEncoder(form, corpus, lengths);
  for await (const { postings } of partition.allPostings(signal)) {
    const kept = keptPostings(postings, numbers);
    if (kept.count > 0) encoder.add(kept.documents, kept.frequencies, kept.count, kept.positions, 0);
    if (encoder.count >= LIST_TOKENS || encoder.byteLength >= LIST_BYTES) {
      yield encoder.finish();
      encoder = new PostingEncoder(form, corpus, lengths);
    }
    await breathe();
  }
  yield encoder.finish();
}

function keptPostings(
  { documents, frequencies, positions }: TokenPostings,
  numbers: Uint32Array,
): TokenPostings & { readonly count: number } {
  const kept = {
    documents: new Uint32Array(documents.length),
    frequencies: new Uint32Array(documents.length),
    positions: positions && new Uint32Array(positions.length),
    count: 0,
  };
  let from = 0;
  let to = 0;
  for (let index = 0; index < documents.length; index++) {
    const frequency = frequencies[index];
    const number = numbers[documents[index]];
    if (number !== GONE) {
      kept.documents[kept.count] = number;
      kept.frequencies[kept.count++] = frequency;
      if (positions !== null) kept.positions?.set(positions.subarray(from, from + frequency), to);
      to += frequency;
    }
    from += frequency;
  }
  return kept;
}
