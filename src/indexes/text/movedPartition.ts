/** Rewrites partitions of old indexes during a merge. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { IndexTarget, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import type { TextParameters } from "./parameters.js";
import { writePartition } from "./partitionWriter.js";
import { type EncodedLists, PostingEncoder } from "./postingEncoder.js";
import type { Corpus } from "./score.js";
import type { TextIndex } from "./textIndex.js";
import type { TextPartition, TokenPostings } from "./textPartition.js";

/** Marks a deleted document. */
const GONE = 0xffffffff;

/** Documents that remain, with the current ids of all documents as pairs of words. */
export interface RemainingDocuments {
  readonly ids: Uint32Array;
  /** Numbers of the documents, ascending; null for all. */
  readonly kept: Uint32Array | null;
  /** True if each document has the id that is stored. */
  readonly areSameIds: boolean;
}

/** Returns the documents of rows that an index still covers. */
export async function remainingDocuments(
  partition: TextPartition,
  { deletedFragments }: TextIndex,
  moves: RowMoves | null,
  signal?: AbortSignal,
): Promise<RemainingDocuments> {
  const { ids: stored, count } = await partition.documents(signal);
  const { ids, kept } = moves?.move(stored) ?? { ids: stored, kept: null };
  const areSameIds = ids === stored;
  if (deletedFragments.size === 0) return { ids, kept, areSameIds };
  const all = kept ?? Uint32Array.from({ length: count }, (_, document) => document);
  const left = all.filter((document) => !deletedFragments.has(stored[2 * document + 1]));
  return { ids, kept: left, areSameIds };
}

/** Writes a partition with the current row ids, without deleted rows. @returns null if no row remains */
export async function writeMovedPartition(
  partition: TextPartition,
  remaining: RemainingDocuments,
  parameters: TextParameters,
  target: IndexTarget,
  id: string,
): Promise<WrittenIndexFile[] | null> {
  const { signal } = target;
  const documents = await partition.documents(signal);
  const numbers = new Uint32Array(documents.count).fill(GONE);
  const ids = new Uint32Array(2 * documents.count);
  const lengths = new Uint32Array(documents.count);
  let count = 0;
  const keep = (document: number): void => {
    numbers[document] = count;
    ids[2 * count] = remaining.ids[2 * document];
    ids[2 * count + 1] = remaining.ids[2 * document + 1];
    lengths[count++] = documents.lengths[document];
  };
  if (remaining.kept === null) for (let document = 0; document < documents.count; document++) keep(document);
  else for (const document of remaining.kept) keep(document);
  if (count === 0) return null;
  const table = await partition.tokens(signal);
  const names: Uint8Array[] = new Array(table.count);
  for (let position = 0; position < table.count; position++)
    names[table.id(position)] = table.token(position);
  const hasAll = count === documents.count;
  const tokens = hasAll ? names : await usedTokens(partition, names, numbers, signal);
  return writePartition(target, id, parameters, {
    ids: ids.subarray(0, 2 * count),
    lengths: lengths.subarray(0, count),
    tokens,
    lists: (corpus) => keptLists(partition, numbers, parameters, corpus, lengths, signal),
  });
}

/** Returns the tokens with remaining documents. */
async function usedTokens(
  partition: TextPartition,
  names: readonly Uint8Array[],
  numbers: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Uint8Array[]> {
  const used: Uint8Array[] = [];
  for await (const { id, postings } of partition.allPostings(signal)) {
    if (postings.documents.some((document) => numbers[document] !== GONE)) used.push(names[id]);
    await yieldToEventLoop();
  }
  return used;
}

/** Limits on tokens and bytes per batch of lists. */
const LIST_TOKENS = 8192;
const LIST_BYTES = 4 * 2 ** 20;

/** Yields the lists with remaining documents, renumbered. */
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
    await yieldToEventLoop();
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
