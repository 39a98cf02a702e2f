/** Fuzzy terms from partitions equal those of a letter-by-letter comparison. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { compareBytes } from "../../../src/bytes/compare.js";
import { lettersOfTokens } from "../../../src/indexes/text/tokenLetters.js";
import { type MatchQuery, textLeaf } from "../../../src/query/text/textQuery.js";
import { queryTerms, type SearchedTokens } from "../../../src/query/text/textTerms.js";

const encoder = new TextEncoder();

function searched(words: readonly string[]): SearchedTokens {
  const tokens = [...new Set(words)].map((word) => encoder.encode(word)).sort(compareBytes);
  const lowerBound = (bytes: Uint8Array): number => {
    const position = tokens.findIndex((token) => compareBytes(token, bytes) >= 0);
    return position < 0 ? tokens.length : position;
  };
  const table = {
    count: tokens.length,
    token: (offset: number) => tokens[offset],
    id: (position: number) => position,
    find: (token: Uint8Array) => tokens.findIndex((each) => compareBytes(each, token) === 0),
    lowerBound,
  };
  return { table, letters: runSync(lettersOfTokens(table)) };
}

function distance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const letter of a) {
    const next = [row[0] + 1];
    for (const [index, otherLetter] of b.entries()) {
      next.push(Math.min(row[index] + (letter === otherLetter ? 0 : 1), row[index + 1] + 1, next[index] + 1));
    }
    row = next;
  }
  return row[b.length];
}

function alike(word: string, tables: readonly (readonly string[])[], query: MatchQuery): string[] {
  const letters = Array.from(word);
  const prefix = letters.slice(0, query.prefixLength).join("");
  return [...new Set(tables.flat())]
    .filter((token) => token.startsWith(prefix) && distance(letters, Array.from(token)) <= query.fuzziness)
    .sort((a, b) => compareBytes(encoder.encode(a), encoder.encode(b)));
}

/** Words of few distinct letters, some outside ASCII, shorter and longer than the maximum letter count. */
const letter = fc.constantFrom("a", "b", "h", "n", "é", "𝒳");
const word = fc.oneof(
  fc.array(letter, { minLength: 1, maxLength: 7 }).map((letters) => letters.join("")),
  fc
    .record({ length: fc.integer({ min: 60, max: 68 }), at: fc.nat(59), put: letter })
    .map(({ length, at: index, put }) => `${"a".repeat(index)}${put}${"a".repeat(length - index - 1)}`),
);
const table = fc.array(word, { maxLength: 40 });

it("fuzzy terms equal those of a comparison with every word", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(table, { minLength: 1, maxLength: 3 }),
      fc.array(word, { minLength: 1, maxLength: 3 }),
      fc.record({
        fuzziness: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 16 })),
        prefixLength: fc.constantFrom(0, 0, 1, 2),
        maxExpansions: fc.constantFrom(50, 1000, 4),
      }),
      async (tables, words, options) => {
        const terms = words.join(" ");
        const query: MatchQuery = { kind: "match", column: "t", terms, boost: 1, isAll: false, ...options };
        const leaf = textLeaf(
          query,
          words.map((token, position) => ({ token, position })),
        );
        const expected: { word: number; token: string }[] = [];
        for (const [slot, each] of words.entries()) {
          const left = query.maxExpansions - expected.length;
          expected.push(
            ...alike(each, tables, query)
              .slice(0, Math.max(0, left))
              .map((token) => ({ word: slot, token })),
          );
        }
        expect(await queryTerms(leaf, async () => tables.map(searched))).toEqual(expected);
      },
    ),
    { numRuns: 250 },
  );
});
