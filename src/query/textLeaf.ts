/** Finds and scores the documents of one partition of an index, or of texts without one, for the words of a query. */

import { breathe } from "../async/eventLoop.js";
import type { Analyzer } from "../indexes/text/analyzer.js";
import { documentTokens } from "../indexes/text/fts.js";
import { type Corpus, lengthNorm, wordScore, wordWeight } from "../indexes/text/score.js";
import type { TextPartition, TokenPostings } from "../indexes/text/textPartition.js";
import { lowerBound } from "../rows/rowPositions.js";
import type { MatchQuery, PhraseQuery } from "./textQuery.js";
import { isPhrase, type QueryWord, type Term } from "./textTerms.js";

export interface Leaf {
  readonly query: MatchQuery | PhraseQuery;
  readonly words: readonly QueryWord[];
}

const needsAll = ({ query }: Leaf): boolean => query.kind === "phrase" || query.isAll;

/** The tokens of a partition that a query has, with the ids that they have there. */
export interface PartitionTerms {
  readonly partition: TextPartition;
  readonly terms: readonly Term[];
  readonly ids: ReadonlyMap<string, number>;
}

/** Calls `use` with each document that matches, and its score. */
export async function scorePartition(
  leaf: Leaf,
  { partition, terms, ids }: PartitionTerms,
  corpus: Corpus,
  having: ReadonlyMap<string, number>,
  use: (document: number, score: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { lengths, count } = await partition.documents(signal);
  const isPhraseQuery = leaf.query.kind === "phrase";
  const wanted = Uint32Array.from(new Set(ids.values())).sort();
  const found = await partition.postings(wanted, isPhraseQuery, signal);
  const byId = new Map(Array.from(wanted, (id, index) => [id, found[index]]));
  const scores = new Float64Array(count);
  /** Words found so far in each document: where all are wanted, of the first ones only. */
  const hits = new Uint32Array(count);
  const isAll = needsAll(leaf);
  for (const { word, token } of terms) {
    const postings = byId.get(ids.get(token) ?? -1);
    if (postings === undefined) continue;
    const { documents, frequencies } = postings;
    const weight = wordWeight(corpus.documents, having.get(token) ?? 0);
    for (let index = 0; index < documents.length; index++) {
      const document = documents[index];
      if (isAll && hits[document] !== word && hits[document] !== word + 1) continue;
      hits[document] = isAll ? word + 1 : 1;
      scores[document] += wordScore(weight, frequencies[index], lengthNorm(corpus, lengths[document]));
    }
    await breathe();
    signal?.throwIfAborted();
  }
  const needed = isAll ? leaf.words.length : 1;
  const lists = isPhraseQuery
    ? leaf.words.map(({ token }) => new PositionLists(byId.get(ids.get(token) ?? -1)))
    : [];
  for (let document = 0; document < count; document++) {
    if (hits[document] !== needed) continue;
    if (leaf.query.kind === "phrase") {
      const positions = lists.map((list) => list.of(document));
      if (!isPhrase(leaf.words, positions, leaf.query.slop)) continue;
    }
    use(document, scores[document]);
  }
  await breathe();
}

/** The positions of a token by document. */
class PositionLists {
  readonly #postings: TokenPostings | undefined;
  readonly #starts: Uint32Array;

  constructor(postings: TokenPostings | undefined) {
    this.#postings = postings;
    const frequencies = postings?.frequencies ?? new Uint32Array(0);
    this.#starts = new Uint32Array(frequencies.length + 1);
    for (let index = 0; index < frequencies.length; index++) {
      this.#starts[index + 1] = this.#starts[index] + frequencies[index];
    }
  }

  of(document: number): Uint32Array {
    if (this.#postings?.positions == null) return new Uint32Array(0);
    const index = lowerBound(this.#postings.documents, document);
    return this.#postings.positions.subarray(this.#starts[index], this.#starts[index + 1]);
  }
}

/** A text that has words of the query. */
interface FoundText {
  readonly address: number;
  readonly length: number;
  /** Of each different word. */
  readonly frequencies: readonly number[];
}

/** Counts words in texts that no index covers. Scores are known once all texts were seen. */
export class FlatTexts {
  readonly #leaf: Leaf;
  readonly #analyzer: Analyzer;
  /** Numbers of the different words. */
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #found: FoundText[] = [];
  readonly #having: number[];
  #documents = 0;
  #tokens = 0;

  constructor(leaf: Leaf, analyzer: Analyzer) {
    this.#leaf = leaf;
    this.#analyzer = analyzer;
    const tokens = [...new Set(leaf.words.map(({ token }) => token))];
    this.#numbers = new Map(tokens.map((token, number) => [token, number]));
    this.#having = tokens.map(() => 0);
  }

  add(address: number, texts: readonly string[]): void {
    const frequencies = this.#having.map(() => 0);
    const positions: number[][] = this.#having.map(() => []);
    let length = 0;
    documentTokens(this.#analyzer, texts, (token, position) => {
      length++;
      const number = this.#numbers.get(token);
      if (number === undefined) return;
      frequencies[number]++;
      positions[number].push(position);
    });
    if (length === 0) return;
    this.#documents++;
    this.#tokens += length;
    for (const [number, frequency] of frequencies.entries()) if (frequency > 0) this.#having[number]++;
    if (this.#matches(frequencies, positions)) this.#found.push({ address, length, frequencies });
  }

  #matches(frequencies: readonly number[], positions: readonly (readonly number[])[]): boolean {
    const { query, words } = this.#leaf;
    const isSome = frequencies.some((frequency) => frequency > 0);
    if (!isSome || !needsAll(this.#leaf)) return isSome;
    if (frequencies.some((frequency) => frequency === 0)) return false;
    if (query.kind !== "phrase") return true;
    const ofWords = words.map(({ token }) => Uint32Array.from(positions[this.#numbers.get(token) as number]));
    return isPhrase(words, ofWords, query.slop);
  }

  /**
   * Calls `use` with the address and the score of each text.
   * @param indexed what indexes hold besides
   */
  finish(
    indexed: Corpus,
    indexedHaving: ReadonlyMap<string, number>,
    use: (address: number, score: number) => void,
  ): void {
    const corpus = {
      documents: indexed.documents + this.#documents,
      tokens: indexed.tokens + this.#tokens,
    };
    const weights = this.#having.map(() => 0);
    for (const { token } of this.#leaf.words) {
      const number = this.#numbers.get(token) as number;
      // A word that is given twice counts twice.
      weights[number] += wordWeight(corpus.documents, this.#having[number] + (indexedHaving.get(token) ?? 0));
    }
    for (const { address, length, frequencies } of this.#found) {
      const norm = lengthNorm(corpus, length);
      let score = 0;
      for (const [number, frequency] of frequencies.entries()) {
        if (frequency > 0) score += wordScore(weights[number], frequency, norm);
      }
      use(address, score);
    }
  }
}
