/** Words that are found by their bytes give the tokens that texts are cut into. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { WordNumbers } from "../../../src/indexes/text/wordNumbers.js";

const encoder = new TextEncoder();

/** Numbers of tokens as they come. */
function numbering(analyzer: Analyzer) {
  const tokens: string[] = [];
  const known = new Map<string, number>();
  const numbers = new WordNumbers(analyzer, (token) => {
    const number = known.get(token) ?? tokens.push(token) - 1;
    known.set(token, number);
    return number;
  });
  const tokensOf = (text: string): [string, number][] | null => {
    const bytes = encoder.encode(`?${text}x`);
    const found: [string, number][] = [];
    const isDone = numbers.each(bytes, 1, bytes.length - 1, (number, position) =>
      found.push([tokens[number], position]),
    );
    return isDone ? found : null;
  };
  return { numbers, tokensOf };
}

function tokensOf(analyzer: Analyzer, text: string): [string, number][] {
  const found: [string, number][] = [];
  analyzer.tokens(text, (token, position) => found.push([token, position]));
  return found;
}

it("as the analyzer gives them", async () => {
  const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, maxTokenLength: 8 });
  const ours = numbering(analyzer);
  const word = fc.constantFrom(
    "the",
    "The",
    "running",
    "runs",
    "a1",
    "longer than",
    "abcdefgh",
    "x-y",
    "\0",
    "",
  );
  fc.assert(
    fc.property(fc.array(word), fc.boolean(), (words, forgets) => {
      const text = words.join(" ");
      if (forgets) ours.numbers.forget();
      expect(ours.tokensOf(text)).toEqual(tokensOf(analyzer, text));
    }),
  );
  expect(ours.tokensOf("caf\u00e9 runs")).toBeNull();
});

it("of more words than are remembered", async () => {
  const plain = { stem: false, removeStopWords: false, maxTokenLength: null };
  const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, ...plain });
  const ours = numbering(analyzer);
  for (let first = 0; first < 400_000; first += 50_000) {
    const text = Array.from({ length: 50_000 }, (_, at) => `W${first + at} w7`).join(" ");
    expect(ours.tokensOf(text)).toEqual(tokensOf(analyzer, text));
  }
  const long = "y".repeat(5 * 2 ** 20);
  expect(ours.tokensOf(`a ${long} a`)).toEqual([
    ["a", 0],
    [long, 1],
    ["a", 2],
  ]);
});
