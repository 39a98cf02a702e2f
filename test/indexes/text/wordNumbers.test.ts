/** Words that are found by their bytes give the tokens that texts are cut into. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../../src/indexes/text/parameters.js";
import { wordKernel } from "../../../src/indexes/text/wordKernel.js";
import { wordNumbers } from "../../../src/indexes/text/wordNumbers.js";

const encoder = new TextEncoder();

/** Numbers of tokens as they come. */
function numbering(analyzer: Analyzer, kernel: ReturnType<typeof wordKernel>) {
  const tokens: string[] = [];
  const known = new Map<string, number>();
  const numberOf = (token: string): number => {
    const number = known.get(token) ?? tokens.push(token) - 1;
    known.set(token, number);
    return number;
  };
  const numbers = wordNumbers(analyzer, numberOf, kernel);
  const tokensOf = (text: string): [string, number][] | null => {
    const bytes = encoder.encode(`?${text}x`);
    const found: [string, number][] = [];
    numbers.beginTexts();
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

describe.each(["kernel", "plain form"])("the %s", (form) => {
  const kernelOf = () => (form === "kernel" ? wordKernel() : null);

  it("gives tokens as the analyzer does", async () => {
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, maxTokenLength: 20 });
    const ours = numbering(analyzer, kernelOf());
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

  it("leaves text outside ASCII to the analyzer, or cuts it as this does", async () => {
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, maxTokenLength: null });
    const ours = numbering(analyzer, kernelOf());
    if (form === "plain form") {
      expect(ours.tokensOf("caf\u00e9 runs")).toBeNull();
      return;
    }
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

  it("goes on where words are more than are remembered", async () => {
    const plain = { stem: false, removeStopWords: false, maxTokenLength: null };
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, ...plain });
    const ours = numbering(analyzer, kernelOf());
    for (let first = 0; first < 400_000; first += 20_000) {
      const text = Array.from({ length: 20_000 }, (_, index) => `W${first + index} w7`).join(" ");
      const expected = tokensOf(analyzer, text);
      // As texts: many pairs are compared one by one for seconds.
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

it("the kernel leaves texts to the analyzer that are longer than its memory", async () => {
  const analyzer = await Analyzer.load(DEFAULT_TEXT_PARAMETERS);
  expect(numbering(analyzer, wordKernel()).tokensOf("a ".repeat(2 ** 18))).toBeNull();
});
