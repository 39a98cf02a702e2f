import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { WordNumbers } from "../../../src/indexes/text/wordNumbers.js";

const encoder = new TextEncoder();

function numbering(analyzer: Analyzer) {
  const tokens: string[] = [];
  const tokenNumbers = new Map<string, number>();
  const numberOf = (token: string): number => {
    const number = tokenNumbers.get(token) ?? tokens.push(token) - 1;
    tokenNumbers.set(token, number);
    return number;
  };
  const numbers = WordNumbers.of(analyzer, numberOf) as WordNumbers;
  const tokensOf = (text: string): [string, number][] | null => {
    const bytes = encoder.encode(`?${text}x`);
    const tokenList: [string, number][] = [];
    numbers.beginTexts();
    const isDone = numbers.each(bytes, 1, bytes.length - 1, (number, position) =>
      tokenList.push([tokens[number], position]),
    );
    return isDone ? tokenList : null;
  };
  return { numbers, tokensOf };
}

function tokensOf(analyzer: Analyzer, text: string): [string, number][] {
  const tokenList: [string, number][] = [];
  analyzer.tokens(text, (token, position) => tokenList.push([token, position]));
  return tokenList;
}

describe("word numbers", () => {
  it("returns the tokens of the analyzer", async () => {
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, maxTokenLength: 20 });
    const ours = numbering(analyzer);
    const words = ["the", "The", "running", "runs", "a1", "longer than", "x-y", "\0", ""];
    const long = [
      "abcdefghijklmnop",
      "abcdefghijklmnopq",
      "ABCDEFGHIJKLMNOPs",
      "a".repeat(33),
      "a".repeat(34),
    ];
    const word = fc.constantFrom(...words, ...long, "b".repeat(255), "b".repeat(256), "@[`{/:");
    fc.assert(
      fc.property(fc.array(word), fc.boolean(), (drawn, forgets) => {
        const text = drawn.join(" ");
        if (forgets) ours.numbers.forget();
        expect(ours.tokensOf(text)).toEqual(tokensOf(analyzer, text));
      }),
    );
  });

  it("cuts non-ASCII text like the analyzer", async () => {
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, maxTokenLength: null });
    const ours = numbering(analyzer);
    const word = fc.oneof(
      fc.constantFrom(
        "it\u2019s",
        "caf\u00e9",
        "\u2014",
        "a\u2014b",
        "\u6771\u4eac",
        "the",
        "\ufeff",
        "e\u0301",
      ),
      fc.string({ unit: "grapheme" }),
    );
    fc.assert(
      fc.property(fc.array(word), (drawn) => {
        const text = drawn.join(" ");
        expect(ours.tokensOf(text)).toEqual(tokensOf(analyzer, text));
      }),
    );
  });

  it("continues after its memory of words is full", async () => {
    const plain = { stem: false, removeStopWords: false, maxTokenLength: null };
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, ...plain });
    const ours = numbering(analyzer);
    for (let first = 0; first < 400_000; first += 20_000) {
      const text = Array.from({ length: 20_000 }, (_, index) => `W${first + index} w7`).join(" ");
      const expected = tokensOf(analyzer, text);
      // Compared as text, since a comparison of many pairs takes seconds.
      expect(JSON.stringify(ours.tokensOf(text) ?? expected)).toBe(JSON.stringify(expected));
    }
    const long = "y".repeat(200_000);
    expect(ours.tokensOf(`a ${long} a`)).toEqual([
      ["a", 0],
      [long, 1],
      ["a", 2],
    ]);
  });
});

it("the kernel leaves texts beyond its memory to the analyzer", async () => {
  const analyzer = await Analyzer.load(DEFAULT_TEXT_PARAMETERS);
  expect(numbering(analyzer).tokensOf("a ".repeat(2 ** 18))).toBeNull();
});
