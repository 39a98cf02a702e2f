import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packedPositions } from "../../../src/indexes/text/positions.js";
import { ENCODE_POSTINGS } from "../../../src/indexes/text/postingEncoder.js";
import { PostingList } from "../../../src/indexes/text/postingList.js";
import { lengthNorm, wordScore, wordWeight } from "../../../src/indexes/text/score.js";

/** Few or many documents of a token, dense or sparse, with positions. */
const list = fc
  .record({
    count: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 100, max: 700 })),
    gap: fc.constantFrom(1, 3, 5000, 2 ** 20),
    most: fc.constantFrom(1, 2, 9, 300),
    step: fc.constantFrom(1, 40, 2 ** 22),
    seed: fc.nat(),
  })
  .map(({ count, gap, most, step, seed }) => {
    let state = seed;
    const draw = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    let document = draw(gap);
    return Array.from({ length: count }, () => {
      document += 1 + draw(gap);
      let position = draw(step);
      const positions = Array.from({ length: 1 + draw(most) }, () => {
        position += 1 + draw(step);
        return position;
      });
      return { document, positions };
    });
  });

describe.each([128, 256])("posting lists with blocks of %i", (blockSize) => {
  it("decode to their input, with block scores that no document exceeds", () => {
    fc.assert(
      fc.property(fc.array(list, { minLength: 1, maxLength: 4 }), fc.boolean(), (lists, withPosition) => {
        const entries = lists
          .flat()
          .flatMap(({ document, positions }) => positions.map((index) => ({ document, at: index })));
        const starts = [0];
        for (const each of lists) {
          starts.push(each.reduce((sum, { positions }) => sum + positions.length, starts.at(-1) as number));
        }
        const documentCount = Math.max(...lists.flat().map(({ document }) => document)) + 1;
        const lengthOf = (document: number): number => 1 + (document % 50);
        // Only lengths of documents in a list are read.
        const lengths = new Proxy({} as Uint32Array, { get: (_, name) => lengthOf(Number(name)) });
        const corpus = { documents: documentCount, tokens: 20 * documentCount };
        const encoded = ENCODE_POSTINGS.run({
          documents: Uint32Array.from(entries, ({ document }) => document),
          positions: withPosition ? Uint32Array.from(entries, ({ at: index }) => index) : null,
          starts: Uint32Array.from(starts),
          form: { blockSize, withPosition },
          corpus,
          lengths,
        });
        expect(encoded.count).toBe(lists.length);
        for (const [token, expected] of lists.entries()) {
          const [from, to] = [encoded.blockStarts[token], encoded.blockStarts[token + 1]];
          const blocks = Array.from({ length: to - from }, (_, index) =>
            encoded.bytes.subarray(encoded.byteStarts[from + index], encoded.byteStarts[from + index + 1]),
          );
          const { positions } = encoded;
          const decoded = new PostingList({
            blocks,
            count: encoded.documentCounts[token],
            documentCount,
            form: { blockSize, tail: "varint_delta_v1" },
            positions:
              positions &&
              packedPositions(
                positions.bytes.subarray(positions.starts[token], positions.starts[token + 1]),
                positions.blockOffsets.subarray(from, to),
                "postings",
              ),
            path: "postings",
          });
          const { documents, frequencies } = decoded.all();
          expect([...documents]).toEqual(expected.map(({ document }) => document));
          expect([...frequencies]).toEqual(expected.map(({ positions }) => positions.length));
          if (withPosition) {
            expect([...decoded.allPositions(frequencies)]).toEqual(
              expected.flatMap(({ positions }) => positions),
            );
          }
          const weight = wordWeight(documentCount, expected.length);
          for (const [index, { document, positions: expectedPositions }] of expected.entries()) {
            const score = wordScore(weight, expectedPositions.length, lengthNorm(corpus, lengthOf(document)));
            expect(decoded.scores[Math.floor(index / blockSize)]).toBeGreaterThanOrEqual(score);
            expect(encoded.scores[token] * (1 + 2 ** -20)).toBeGreaterThanOrEqual(score);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
