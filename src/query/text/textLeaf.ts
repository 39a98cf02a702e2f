/**
 * Searches one column for words: by its index in covered fragments, and by reading texts in the others.
 * Indexed rows are scored with the statistics of the index; other rows with those of the index and their own.
 */

import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { Pace, runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";
import { InvalidInputError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { parseFieldPath } from "../../ident.js";
import type { Analyzer } from "../../indexes/text/analyzer.js";
import { BestFirst } from "../../indexes/text/bestFirst.js";
import { phraseTest } from "../../indexes/text/phrases.js";
import type { PostingList } from "../../indexes/text/postingList.js";
import { RowTexts } from "../../indexes/text/rowTexts.js";
import { type Corpus, wordWeight } from "../../indexes/text/score.js";
import { scoreDocuments } from "../../indexes/text/scoreDocuments.js";
import { scoreFloor } from "../../indexes/text/scoreFloor.js";
import type { TextPartition } from "../../indexes/text/textPartition.js";
import type { DocumentQuery } from "../../indexes/text/tokenCursor.js";
import { STREAMED } from "../../rows/readAhead.js";
import { ColumnReads } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { addressOf } from "../columns/rowAddresses.js";
import { isSelected, LiveRows, type SearchedRows } from "../scan/liveRows.js";
import { physicalRow, scanColumns } from "../scan/scan.js";
import { FlatTexts } from "./flatTexts.js";
import { type OpenWordSegment, openWordIndex, type WordScope } from "./openWordIndex.js";
import { type Leaf, type MatchQuery, needsAll, type PhraseQuery, textLeaf } from "./textQuery.js";
import { queryTerms, queryWords, type SearchedTokens, type Term } from "./textTerms.js";
import { TopDocuments } from "./topDocuments.js";

const BATCH_ROWS = 4096;
/** Query words between yields. */
const STEP_WORDS = 256;
/** UTF-16 units of text between yields, and minimum counted per row. */
const STEP_LETTERS = 16_384;
const ROW_LETTERS = 256;
/** Documents per batch of phrase checks. */
const PHRASE_BATCH = 1024;
/** Scores with a smaller boost may underflow float32. */
const LEAST_BOOST = 2 ** -64;
/** Tolerance for the division of score bounds by a boost. */
const SLACK = 1 - 2 ** -40;

/** Scope of a search. */
export interface TextScope extends WordScope {
  readonly source: FragmentSource;
  /** Rows that may match; null for all. */
  readonly selection: SearchedRows | null;
  readonly signal?: AbortSignal;
}

/** Collector of matching rows, by address. */
export interface RowSink {
  /** Maximum number of rows to keep, best first. */
  readonly wanted: number;
  /** Minimum score of useful rows. */
  readonly threshold: number;
  /** True if a row is useful; decides for scores equal to the threshold. */
  takes(address: number, score: number): boolean;
  add(address: number, score: number): void;
}

/** A partition with tokens of the query. */
interface PartitionMatch {
  readonly partition: TextPartition;
  /** Posting lists by token. */
  readonly lists: ReadonlyMap<string, PostingList>;
  readonly covered: ReadonlySet<number>;
  /** Updates the cache after a search, which may have unpacked blocks. */
  readonly keepLists: () => Promise<void>;
}

/** Statistics of the indexes. */
interface Indexed {
  readonly corpus: Corpus;
  /** Number of documents by token. */
  readonly having: ReadonlyMap<string, number>;
}

/** Words of a query on one column. */
export interface LeafWords {
  readonly path: string;
  readonly analyzer: Analyzer;
  readonly leaf: Leaf;
  /** Tokens that match the words, with word indices. */
  readonly terms: readonly Term[];
}

/** Returns the words of a query, cut as in the searched column. */
export async function leafWords(query: MatchQuery | PhraseQuery, scope: TextScope): Promise<LeafWords> {
  const { path, segments, analyzer } = await openWordIndex(query.column, scope);
  const isFuzzy = query.kind === "match" && query.fuzziness > 0;
  const exact = textLeaf(query, await queryWords(analyzer, query.terms, false));
  if (!isFuzzy) return { path, analyzer, leaf: exact, terms: await queryTerms(exact, async () => []) };
  const leaf = textLeaf(query, await queryWords(analyzer, query.terms, true));
  const { terms } = await findTokens(leaf, segments, scope.signal);
  // Rows without coverage match the exact words.
  const exactTerms = await queryTerms({ ...exact, query: { ...query, fuzziness: 0 } }, async () => []);
  return { path, analyzer, leaf, terms: [...terms, ...exactTerms] };
}

/** Passes each matching row once to the sink. */
export async function searchLeaf(
  query: MatchQuery | PhraseQuery,
  scope: TextScope,
  sink: RowSink,
): Promise<void> {
  const { path, segments, others, analyzer } = await openWordIndex(query.column, scope);
  if (query.kind === "phrase" && segments.some(({ index: { parameters } }) => !parameters.withPosition)) {
    throw new InvalidInputError(
      `fullTextQuery: the index on ${path} has no positions, which phrases need; build it with withPosition: true`,
    );
  }
  const isFuzzy = query.kind === "match" && query.fuzziness > 0;
  const leaf = textLeaf(query, await queryWords(analyzer, query.terms, isFuzzy));
  const boosted = query.kind === "match" && query.boost !== 1 ? new BoostedSink(sink, query.boost) : sink;
  const indexed = await searchIndexed(leaf, segments, scope, boosted);
  if (others.length === 0) return;
  const flat = { leaf, analyzer, path, fragments: others };
  if (!isFuzzy) return searchFlat(flat, scope, indexed, boosted);
  const plain = textLeaf({ ...query, fuzziness: 0 }, await queryWords(analyzer, query.terms, false));
  const plainIndexed = await findTokens(plain, segments, scope.signal);
  return searchFlat({ ...flat, leaf: plain }, scope, plainIndexed, boosted);
}

class BoostedSink implements RowSink {
  readonly #sink: RowSink;
  readonly #boost: number;

  constructor(sink: RowSink, boost: number) {
    this.#sink = sink;
    this.#boost = boost;
  }

  get wanted(): number {
    // Outside this range, distinct scores may round to one float32.
    const isFair = this.#boost > LEAST_BOOST && this.#boost < 1 / LEAST_BOOST;
    return isFair ? this.#sink.wanted : Number.POSITIVE_INFINITY;
  }

  get threshold(): number {
    if (!(this.#boost > 0)) return Number.NEGATIVE_INFINITY;
    const { threshold } = this.#sink;
    return threshold > 0 ? (threshold / this.#boost) * SLACK : threshold;
  }

  takes(address: number, score: number): boolean {
    return this.#sink.takes(address, score * this.#boost);
  }

  add(address: number, score: number): void {
    this.#sink.add(address, score * this.#boost);
  }
}

async function searchIndexed(
  leaf: Leaf,
  segments: readonly OpenWordSegment[],
  scope: TextScope,
  sink: RowSink,
): Promise<Indexed> {
  const { parts, terms, ...indexed } = await findTokens(leaf, segments, scope.signal);
  if (parts.length === 0) return indexed;
  const { file } = scope.version;
  const rowsOf = new Map<ReadonlySet<number>, LiveRows>();
  for (const part of parts) {
    const { covered } = part;
    const fragments = file.manifest.fragments.filter(({ id }) => covered.has(id));
    const rows = rowsOf.get(covered) ?? (await LiveRows.open(scope.source, file, fragments, scope.selection));
    rowsOf.set(covered, rows);
    try {
      await searchPart(leaf, { ...part, terms }, indexed, rows, sink, scope.signal);
    } finally {
      await part.keepLists();
    }
  }
  return indexed;
}

/** Looks up the words in all partitions, since scores depend on document frequencies in all of them. */
async function findTokens(
  leaf: Leaf,
  segments: readonly OpenWordSegment[],
  signal: AbortSignal | undefined,
): Promise<Indexed & { readonly parts: readonly PartitionMatch[]; readonly terms: readonly Term[] }> {
  const encoder = new TextEncoder();
  const partitions: { partition: TextPartition; covered: ReadonlySet<number> }[] = [];
  const corpus = { documents: 0, tokens: 0 };
  for (const { index, covered } of segments) {
    for (const partition of index.partitions) {
      corpus.documents += partition.documentCount;
      corpus.tokens += await partition.totalTokens(signal);
      partitions.push({ partition, covered });
      await yieldToEventLoop();
    }
  }
  const terms = await queryTerms(
    leaf,
    async () => {
      const searched: SearchedTokens[] = [];
      for (const { partition } of partitions) {
        const table = await partition.tokens(signal);
        searched.push({ table, letters: await partition.letters(table) });
      }
      return searched;
    },
    signal,
  );
  const tokens = new Set(terms.map(({ token }) => token));
  const isPhraseQuery = leaf.query.kind === "phrase";
  const pace = new Pace(STEP_WORDS);
  const having = new Map<string, number>();
  const parts: PartitionMatch[] = [];
  for (const { partition, covered } of partitions) {
    const finder = await partition.finder(signal);
    const ids = new Map<string, number>();
    for (const token of tokens) {
      const id = finder.find(encoder.encode(token));
      if (id >= 0) ids.set(token, id);
      if (pace.isStep()) await yieldToEventLoop();
    }
    if (ids.size === 0) continue;
    const wanted = Uint32Array.from(new Set(ids.values())).sort();
    const postings = await partition.lists(wanted, isPhraseQuery, signal);
    const lists = new Map<string, PostingList>();
    for (const [token, id] of ids) {
      const list = postings[lowerBound(wanted, id)];
      lists.set(token, list);
      having.set(token, (having.get(token) ?? 0) + list.count);
      if (pace.isStep()) await yieldToEventLoop();
    }
    const keepLists = () => partition.keep(wanted, postings, isPhraseQuery);
    parts.push({ partition, lists, covered, keepLists });
    await yieldToEventLoop();
  }
  return { corpus, having, parts, terms };
}

async function searchPart(
  leaf: Leaf,
  { partition, terms, lists }: PartitionMatch & { readonly terms: readonly Term[] },
  { corpus, having }: Indexed,
  rows: LiveRows,
  sink: RowSink,
  signal: AbortSignal | undefined,
): Promise<void> {
  const scored = terms.flatMap(({ word, token }) => {
    const list = lists.get(token);
    const weight = wordWeight(corpus.documents, having.get(token) ?? 0);
    return list === undefined ? [] : [{ word, list, weight }];
  });
  const neededWords = needsAll(leaf) ? leaf.wordPositions.length : 0;
  if (neededWords > scored.length) return;
  const lengths = await partition.lengths(signal);
  const partitionCorpus = { documents: partition.documentCount, tokens: await partition.totalTokens(signal) };
  const query = { terms: scored, neededWords, corpus, partition: partitionCorpus, lengths };
  const hasFloor = neededWords === 0 || scored.length === 1;
  if (leaf.query.kind !== "phrase" && rows.mostlyFindsAll && partition.prefersSingleIds) {
    const floor = hasFloor ? scoreFloor(query, sink.wanted, () => true) : Number.NEGATIVE_INFINITY;
    if (await addBest(partition, query, floor, rows, sink, signal)) return;
  }
  const ids = await partition.documentIds(signal);
  const rowOf = (document: number): number => {
    ids.find(document);
    return rows.find(ids.low, ids.high);
  };
  if (leaf.query.kind === "phrase") {
    const wordLists = leaf.words.map(({ token }) => lists.get(token) as PostingList);
    const isPhraseIn = phraseTest(leaf.words, wordLists, leaf.query.slop);
    // If positions are unpacked repeatedly, documents are checked in order.
    const batchSize = wordLists.every(({ keepsPositions }) => keepsPositions) ? PHRASE_BATCH : 1;
    const areInOrder =
      scored.length === wordLists.length && scored.every(({ list }, index) => list === wordLists[index]);
    const best = new BestFirst(sink, scored.length, batchSize, (document, score, listIndices, from) => {
      const address = rowOf(document);
      if (address < 0 || !sink.takes(address, score)) return;
      if (isPhraseIn(document, areInOrder ? listIndices : null, from)) sink.add(address, score);
    });
    await scoreDocuments(query, best, signal);
    return best.finish();
  }
  const accepts = (document: number): boolean => rowOf(document) >= 0;
  const floor = hasFloor ? scoreFloor(query, sink.wanted, accepts) : Number.NEGATIVE_INFINITY;
  const documentSink = {
    get threshold() {
      return Math.max(floor, sink.threshold);
    },
    add(document: number, score: number): void {
      const address = rowOf(document);
      if (address >= 0) sink.add(address, score);
    },
  };
  await scoreDocuments(query, documentSink, signal);
}

/**
 * Scores the documents, then looks up the row ids of the best ones. Returns false, without an effect, if
 * there are too many of them, or the table has lost a row of one.
 */
async function addBest(
  partition: TextPartition,
  query: DocumentQuery,
  floor: number,
  rows: LiveRows,
  sink: RowSink,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (!TopDocuments.suits(sink)) return false;
  partition.noteSingleIds();
  const top = new TopDocuments(sink, floor);
  await scoreDocuments(query, top, signal);
  const best = top.finish();
  if (top.isIncomplete) return false;
  if (best.length === 0) return true;
  const words = await partition.idsOf(
    Uint32Array.from(best, ({ document }) => document),
    signal,
  );
  const addresses = best.map((_, index) => rows.find(words[2 * index], words[2 * index + 1]));
  if (addresses.some((address) => address < 0)) return false;
  for (const [index, { score }] of best.entries()) sink.add(addresses[index], score);
  return true;
}

/** Texts to search without an index. */
interface FlatSearch {
  readonly leaf: Leaf;
  readonly analyzer: Analyzer;
  readonly path: string;
  readonly fragments: readonly DataFragment[];
}

/** Searches the texts of fragments. */
async function searchFlat(
  { leaf, analyzer, path, fragments }: FlatSearch,
  { fields, source, selection, signal }: TextScope,
  { corpus, having }: Indexed,
  sink: RowSink,
): Promise<void> {
  if (leaf.words.length === 0) return;
  const reads = new ColumnReads(fields);
  reads.source(parseFieldPath(path));
  const texts = new FlatTexts(leaf, analyzer);
  const batches = scanColumns(source, {
    fragments,
    projection: { ...reads.plan(), withAddresses: false },
    offset: 0,
    limit: Number.POSITIVE_INFINITY,
    batchRows: BATCH_ROWS,
    readAhead: STREAMED,
    ...(signal && { signal }),
  });
  let letters = 0;
  for await (const { columns, rowCount, places } of batches) {
    const values = new RowTexts(plainColumn(columns[0]));
    for (let row = 0; row < rowCount; row++) {
      const address = addressOf(places.fragmentId, physicalRow(places, row));
      letters += ROW_LETTERS;
      if (selection === null || isSelected(selection, address)) {
        const rowTexts = values.of(row);
        const steps = texts.add(address, rowTexts);
        while (steps.next().done !== true) await yieldToEventLoop();
        for (const { length } of rowTexts) letters += Math.min(length, STEP_LETTERS);
        letters += leaf.words.length;
      }
      if (letters < STEP_LETTERS) continue;
      letters = 0;
      await yieldToEventLoop();
    }
  }
  await runAsync(texts.finish(corpus, having, (address, score) => sink.add(address, score)));
}
