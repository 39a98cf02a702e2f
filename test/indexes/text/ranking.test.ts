/** Index searches rank like a scan, for any partitions, deletions and stable row ids. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogicalType } from "../../../src/arrow/types/type.js";
import { FTS } from "../../../src/indexes/text/fts.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { PartitionBuilder } from "../../../src/indexes/text/partitionBuilder.js";
import type { PostingList } from "../../../src/indexes/text/postingList.js";
import { lengthNorm, wordScore, wordWeight } from "../../../src/indexes/text/score.js";
import { scoreDocuments } from "../../../src/indexes/text/scoreDocuments.js";
import { scoreFloor } from "../../../src/indexes/text/scoreFloor.js";
import { openTextIndex } from "../../../src/indexes/text/textIndex.js";
import { sharedNamespace } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";
import { makeTempDir } from "../../support/tempDir.js";
import { filesIn, rowsOf, targetOf } from "../indexDirectory.js";

const namespace = sharedNamespace();

const WORDS = Array.from({ length: 30 }, (_, word) => `w${word}`);
/** Zipf-like: few words are in most texts, many in few. */
const word = fc.nat(899).map((drawn) => WORDS[Math.floor(Math.sqrt(drawn))]);
const text = fc.array(word, { maxLength: 25 }).map((words) => words.join(" "));

interface Text {
  readonly id: number;
  readonly words: readonly string[];
}

/** BM25 over all texts with words. */
function rank(
  all: readonly Text[],
  alive: ReadonlySet<number>,
  terms: readonly string[],
  isAll: boolean,
): [number, number][] {
  const texts = all.filter(({ words }) => words.length > 0);
  const corpus = { documents: texts.length, tokens: texts.reduce((sum, { words }) => sum + words.length, 0) };
  const weights = terms.map((term) =>
    wordWeight(corpus.documents, texts.filter(({ words }) => words.includes(term)).length),
  );
  return texts
    .flatMap(({ id, words }): [number, number][] => {
      const counts = terms.map((term) => words.filter((each) => each === term).length);
      const isFound = isAll ? counts.every((count) => count > 0) : counts.some((count) => count > 0);
      if (!isFound || !alive.has(id)) return [];
      const norm = lengthNorm(corpus, words.length);
      const scores = counts.map((count, index) => (count === 0 ? 0 : wordScore(weights[index], count, norm)));
      return [[id, scores.reduce((sum, score) => sum + score, 0)]];
    })
    .sort(([idA, a], [idB, b]) => b - a || idA - idB);
}

const wordsIn = (text: string): string[] => (text === "" ? [] : text.split(" "));

describe("tables", () => {
  it("return the best rows, and all rows", async () => {
    let tables = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 400 }),
        fc.array(
          fc.tuple(
            fc.array(word, { minLength: 1, maxLength: 4 }),
            fc.boolean(),
            fc.integer({ min: 1, max: 20 }),
          ),
          {
            minLength: 4,
            maxLength: 8,
          },
        ),
        fc.integer({ min: 2, max: 9 }),
        fc.constantFrom(128, 256),
        async (texts, queries, rest, blockSize) => {
          const id = [`t${tables++}`];
          const rows = texts.map((t, row) => ({ id: row, t }));
          const half = Math.ceil(rows.length / 2);
          await namespace.createTable({ id }, rows.slice(0, half));
          if (half < rows.length) await namespace.insertIntoTable({ id }, rows.slice(half));
          await buildIndex(namespace, { id, column: "t", indexType: "FTS", stem: false, blockSize });
          await namespace.deleteFromTable({ id, predicate: `id % ${rest} = 1` });
          const all = rows.map((row) => ({ id: row.id, words: wordsIn(row.t) }));
          const alive = new Set(rows.flatMap((row) => (row.id % rest === 1 ? [] : [row.id])));
          for (const [terms, isAll, limit] of queries) {
            const expected = rank(all, alive, terms, isAll);
            const query = {
              match: { terms: terms.join(" "), column: "t", operator: isAll ? "And" : "Or" },
            } as const;
            const asked = namespace.table(id).query().matching(query).select(["id"]);
            for (const [best, ranked] of [
              [expected, await asked.toArray()],
              [expected.slice(0, limit), await asked.limit(limit).toArray()],
            ] as const) {
              const scores = ranked.map((row) => (row as unknown as { _score: number })._score);
              expect(scores.length).toBe(best.length);
              for (const [index, [, score]] of best.entries()) expect(scores[index]).toBeCloseTo(score, 4);
              const expectedScores = new Map(expected);
              for (const [slot, row] of ranked.entries()) {
                expect(expectedScores.get(Number(row.id))).toBeCloseTo(scores[slot], 4);
              }
            }
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});

const TEXT: LogicalType = { kind: "string", large: false };
const FIELD = { id: 0, name: "t", type: TEXT, nullable: true, children: [], metadata: new Map() } as never;

describe("partitions", () => {
  it.each([128, 256])("skip blocks of %i without losing a best document", async (blockSize) => {
    const directory = await makeTempDir();
    const count = 30_000;
    const texts = Array.from({ length: count }, (_, row) => {
      const drawn = Math.imul(row + 1, 2_654_435_761) >>> 0;
      // Bursts of words give few blocks high scores.
      const burst = row % 7000 < 60 ? "burst burst burst" : "";
      return `common ${drawn % 3 === 0 ? "third" : ""} ${drawn % 40 === 0 ? "rare" : ""} ${burst} ${"pad ".repeat(drawn % 50)}`;
    });
    const encoder = new TextEncoder();
    const rows = rowsOf(
      TEXT,
      texts.map((each) => encoder.encode(each)),
      texts.map((_, row) => BigInt(row)),
    );
    const parameters = { ...DEFAULT_TEXT_PARAMETERS, stem: false, removeStopWords: false, blockSize };
    await FTS.build(rows, targetOf(directory, FIELD, parameters));
    const files = filesIn(directory);
    try {
      const { partitions } = await openTextIndex(files);
      expect(partitions).toHaveLength(1);
      const [partition] = partitions;
      const { lengths } = await partition.documents();
      const partitionCorpus = { documents: partition.documentCount, tokens: await partition.totalTokens() };
      const table = await partition.tokens();
      for (const words of [
        ["burst"],
        ["common", "rare"],
        ["common", "burst", "third"],
        ["rare", "third", "common"],
      ]) {
        for (const scale of [1, 0.5, 2]) {
          const corpus = { documents: partitionCorpus.documents, tokens: partitionCorpus.tokens * scale };
          const ids = Uint32Array.from(words, (each) => table.find(encoder.encode(each)));
          const lists = await partition.lists(ids.slice().sort(), false);
          const listOf = new Map(
            Array.from(ids.slice().sort(), (id, index) => [id, lists[index]] as [number, PostingList]),
          );
          const terms = words.map((_, index) => {
            const list = listOf.get(ids[index]) as PostingList;
            return { word: index, list, weight: wordWeight(corpus.documents, list.count) };
          });
          const run = async (most: number, neededWords: number) => {
            const kept: number[] = [];
            let seen = 0;
            const sink = {
              get threshold() {
                return kept.length < most ? Number.NEGATIVE_INFINITY : kept[most - 1];
              },
              add(_document: number, score: number) {
                seen++;
                kept.push(score);
                kept.sort((a, b) => b - a);
                if (kept.length > most) kept.pop();
              },
            };
            await scoreDocuments({ terms, neededWords, corpus, partition: partitionCorpus, lengths }, sink);
            return { kept, seen };
          };
          for (const neededWords of [0, words.length]) {
            const all: number[] = [];
            const sink = {
              threshold: Number.NEGATIVE_INFINITY,
              add: (_: number, score: number) => void all.push(score),
            };
            await scoreDocuments({ terms, neededWords, corpus, partition: partitionCorpus, lengths }, sink);
            all.sort((a, b) => b - a);
            const { kept, seen } = await run(10, neededWords);
            expect(kept).toEqual(all.slice(0, 10));
            if (all.length > 5000) expect(seen).toBeLessThan(all.length / 4);
          }
          for (const isFound of [() => true, (document: number) => document % 3 !== 1]) {
            const scores: number[] = [];
            const add = (document: number, score: number) => void (isFound(document) && scores.push(score));
            const sink = { threshold: Number.NEGATIVE_INFINITY, add };
            const query = { terms, neededWords: 0, corpus, partition: partitionCorpus, lengths };
            await scoreDocuments(query, sink);
            scores.sort((a, b) => b - a);
            for (const wanted of [0, 1, 10, 150, 1000, 5000, 40_000]) {
              const floor = scoreFloor(query, wanted, isFound);
              const isKnown = wanted > 0 && wanted <= 150;
              if (isKnown) expect(floor).toBeGreaterThan(0);
              if (floor > 0) expect(floor).toBeLessThanOrEqual(scores[wanted - 1]);
            }
          }
        }
      }
    } finally {
      await files.close();
    }
  });

  it("go on reading their tokens when one of the searches that wait for them is aborted", async () => {
    const directory = await makeTempDir();
    const texts = Array.from({ length: 500 }, (_, row) => new TextEncoder().encode(`word${row}`));
    const rows = rowsOf(
      TEXT,
      texts,
      texts.map((_, row) => BigInt(row)),
    );
    await FTS.build(rows, targetOf(directory, FIELD, DEFAULT_TEXT_PARAMETERS));
    const files = filesIn(directory);
    try {
      const [partition] = (await openTextIndex(files)).partitions;
      const abort = new AbortController();
      const aborted = partition.tokens(abort.signal);
      const other = partition.tokens(new AbortController().signal);
      abort.abort(new Error("no longer wanted"));
      const outcomes = await Promise.allSettled([aborted, other]);
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
      expect((await other).count).toBe(500);
    } finally {
      await files.close();
    }
  });

  it("update the cache weights of their lists after a search", async () => {
    const directory = await makeTempDir();
    const texts = Array.from({ length: 4000 }, (_, row) => `one ${row % 2 === 0 ? "two" : "three"}`);
    const rows = rowsOf(
      TEXT,
      texts.map((each) => new TextEncoder().encode(each)),
      texts.map((_, row) => BigInt(row)),
    );
    await FTS.build(rows, targetOf(directory, FIELD, { ...DEFAULT_TEXT_PARAMETERS, stem: false }));
    const files = filesIn(directory);
    try {
      const [partition] = (await openTextIndex(files)).partitions;
      const { lengths } = await partition.documents();
      const ids = Uint32Array.of(0, 1, 2);
      const lists = await partition.lists(ids, false);
      const before = files.parts.weight;
      const corpus = { documents: partition.documentCount, tokens: await partition.totalTokens() };
      const terms = lists.map((list, word) => ({ word, list, weight: wordWeight(4000, list.count) }));
      const sink = { threshold: Number.NEGATIVE_INFINITY, add: () => {} };
      await scoreDocuments({ terms, neededWords: 0, corpus, partition: corpus, lengths }, sink);
      await partition.keep(ids, lists, false);
      const grown = lists.reduce((sum, { count }) => sum + 8 * count, 0);
      expect(files.parts.weight).toBeGreaterThanOrEqual(before + grown);
    } finally {
      await files.close();
    }
  });

  it("multiply with the number of texts", async () => {
    const directory = await makeTempDir();
    const target = targetOf(directory, FIELD, {});
    const builder = new PartitionBuilder(target, { blockSize: 128, withPosition: false }, 0, 50);
    for (let document = 0; document < 100; document++) {
      builder.addNumber(builder.numberOf(`w${document % 9}`), 0);
      builder.endDocument(document, 0);
      if (builder.isFull) await builder.flush();
    }
    await builder.flush();
    expect(builder.partitionIds).toEqual(["0", "1"]);
  });
});
