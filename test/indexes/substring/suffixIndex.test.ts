/** Texts are found in documents as `includes` finds them. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { SuffixIndex } from "../../../src/indexes/substring/suffixIndex.js";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function indexOf(texts: readonly string[]): SuffixIndex {
  const starts: number[] = [];
  const bytes: number[] = [];
  for (const text of texts) {
    starts.push(bytes.length);
    bytes.push(...bytesOf(text), 255);
  }
  const documents = { starts: Uint32Array.from(starts), addresses: new Uint32Array(2 * texts.length) };
  return runSync(
    SuffixIndex.build(texts.length === 0 ? new Uint8Array(0) : Uint8Array.of(...bytes, 0), documents),
  );
}

const find = (index: SuffixIndex, text: string): number[] | null => {
  const found = runSync(index.find(bytesOf(text)));
  return found && [...found].sort((a, b) => a - b);
};

const text = fc.string({ unit: fc.constantFrom("a", "b", "ä", "\u{1f600}", " "), maxLength: 12 });

it("documents that hold a text are found, and no others", () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 30 }), text, (texts, wanted) => {
      fc.pre(wanted !== "");
      const expected = [...texts.keys()].filter((document) => texts[document].includes(wanted));
      expect(find(indexOf(texts), wanted)).toEqual(expected);
    }),
  );
});

it("the string of the documents is restored", () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 30 }), (texts) => {
      const restored = runSync(indexOf(texts).text());
      expect(restored).toEqual(Uint8Array.of(...texts.flatMap((each) => [...bytesOf(each), 255]), 0));
    }),
  );
});

describe("in many documents", () => {
  const texts = Array.from({ length: 3000 }, (_, row) => `row ${row} has a common word and ${row % 7}`);
  const index = indexOf(texts);

  it("a rare text is found", () => {
    expect(find(index, "row 2999 ")).toEqual([2999]);
    expect(find(index, "9 has a common word and 3")).toEqual(
      [...texts.keys()].filter((row) => row % 10 === 9 && row % 7 === 3),
    );
    expect(find(index, "uncommon")).toEqual([]);
  });

  it("a search for a common text gives up", () => {
    expect(find(index, " ")).toBeNull();
  });
});
