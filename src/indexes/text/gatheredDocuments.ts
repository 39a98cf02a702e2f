/** Gathers the documents of small partitions again, so that they share a partition with new documents. */

import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import type { PartitionBuilder } from "./partitionBuilder.js";
import type { TextPartition } from "./textPartition.js";

/** Maximum number of tokens in all partitions that an update gathers. */
export const MAX_GATHERED_TOKENS = 2 ** 21;
/** Tokens between yields. */
const STEP_TOKENS = 8192;

/** Tokens of all documents, one document after the other. */
export interface DocumentTokens {
  /** First token of each document, then the number of tokens. */
  readonly starts: Uint32Array;
  /** Token ids of the partition. */
  readonly tokens: Uint32Array;
  readonly positions: Uint32Array;
}

/** Adds some documents of a partition. @param kept ascending; null for all */
export async function addDocuments(
  builder: PartitionBuilder,
  partition: TextPartition,
  { starts, tokens, positions }: DocumentTokens,
  { ids, kept }: { readonly ids: Uint32Array; readonly kept: Uint32Array | null },
  signal?: AbortSignal,
): Promise<void> {
  const texts = await tokenTexts(partition, signal);
  const numbers = new Map<number, number>();
  const pace = new Pace(STEP_TOKENS);
  const count = kept?.length ?? starts.length - 1;
  for (let index = 0; index < count; index++) {
    const document = kept === null ? index : kept[index];
    for (let entry = starts[document]; entry < starts[document + 1]; entry++) {
      const token = tokens[entry];
      const number = numbers.get(token) ?? builder.numberOf(texts(token));
      numbers.set(token, number);
      builder.addNumber(number, positions[entry]);
      if (pace.isStep()) await yieldToEventLoop();
    }
    builder.endDocument(ids[2 * document], ids[2 * document + 1]);
  }
}

/**
 * Returns the tokens of a partition's documents; null if they do not add up to the lengths that it records,
 * which decide scores.
 */
export async function tokensOfDocuments(
  partition: TextPartition,
  signal?: AbortSignal,
): Promise<DocumentTokens | null> {
  const { count, lengths } = await partition.documents(signal);
  const starts = new Uint32Array(count + 1);
  for (let document = 0; document < count; document++) {
    starts[document + 1] = starts[document] + lengths[document];
  }
  const next = starts.slice(0, count);
  const tokens = new Uint32Array(starts[count]);
  const positions = new Uint32Array(starts[count]);
  const pace = new Pace(STEP_TOKENS);
  for await (const { id, postings } of partition.allPostings(signal)) {
    let position = 0;
    for (const [index, document] of postings.documents.entries()) {
      const end = next[document] + postings.frequencies[index];
      if (!(end <= starts[document + 1])) return null;
      for (let entry = next[document]; entry < end; entry++, position++) {
        tokens[entry] = id;
        if (postings.positions !== null) positions[entry] = postings.positions[position];
        if (pace.isStep()) await yieldToEventLoop();
      }
      next[document] = end;
    }
  }
  return next.every((end, document) => end === starts[document + 1]) ? { starts, tokens, positions } : null;
}

/** Returns a function from token ids to texts. */
async function tokenTexts(partition: TextPartition, signal?: AbortSignal): Promise<(id: number) => string> {
  const table = await partition.tokens(signal);
  const positions = new Uint32Array(table.count);
  for (let position = 0; position < table.count; position++) positions[table.id(position)] = position;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return (id) => decoder.decode(table.token(positions[id]));
}
