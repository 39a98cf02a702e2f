import { describe, expect, it } from "vitest";
import { Analyzer } from "../../../src/indexes/text/analyzer.js";
import { DEFAULT_TEXT_PARAMETERS, type TextParameters } from "../../../src/indexes/text/parameters.js";
import { LANGUAGES, stopWordsOf } from "../../../src/indexes/text/stopWords.js";
import { hostileTexts, knownWords, wordsOf } from "../../support/corpora.js";
import { someOf } from "../../support/effort.js";
import { type PlacedToken, tokensThere } from "../../support/tokensThere.js";

const PLAIN = { stem: false, removeStopWords: false, lowerCase: false, asciiFolding: false };
const PARAMETERS: Partial<TextParameters>[] = [
  {},
  { ...PLAIN, asciiFolding: true, baseTokenizer: "raw" },
  { ...PLAIN, lowerCase: true, baseTokenizer: "raw" },
  { ...PLAIN, baseTokenizer: "whitespace" },
  { ...PLAIN, maxTokenLength: 6 },
  { stem: false, removeStopWords: false, baseTokenizer: "ngram", minNgramLength: 2, maxNgramLength: 4 },
  { ...PLAIN, baseTokenizer: "ngram", minNgramLength: 1, maxNgramLength: 3, prefixOnly: true },
  { customStopWords: ["apple", "run", "naiv"] },
];

function tokensHere(analyzer: Analyzer, text: string): PlacedToken[] {
  const tokens: PlacedToken[] = [];
  analyzer.tokens(text, (token, position) => tokens.push([token, position]));
  return tokens.sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1));
}

async function expectSame(texts: readonly string[], parameters: Partial<TextParameters>): Promise<void> {
  const there = await tokensThere(texts, parameters);
  const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, ...parameters });
  const different = texts.flatMap((text, row) => {
    const here = tokensHere(analyzer, text);
    return JSON.stringify(here) === JSON.stringify(there[row]) ? [] : [{ text, here, there: there[row] }];
  });
  expect(different.slice(0, 20)).toEqual([]);
}

it("English words have the stems of LanceDB", async () => {
  const words = knownWords();
  expect(words.length).toBeGreaterThan(20_000);
  await expectSame(someOf(words, 8), {});
});

describe.each(LANGUAGES)("the analyzer for %s", (language) => {
  it("cuts words into the tokens of LanceDB", async () => {
    const words = wordsOf(language, 22_000);
    expect(words.length).toBeGreaterThan(20_000);
    await expectSame(someOf(words, 11), { language });
  });

  it("drops the stop words of LanceDB in any base tokenizer", async () => {
    const parameters = { language, stem: false, baseTokenizer: "raw" };
    await expectSame([...((await stopWordsOf(language)) ?? []), "x"], parameters);
    const analyzer = await Analyzer.load({ ...DEFAULT_TEXT_PARAMETERS, ...parameters });
    for (const word of (await stopWordsOf(language)) ?? []) expect(tokensHere(analyzer, word)).toEqual([]);
  });

  it("cuts hostile texts like LanceDB", async () => {
    await expectSame([...hostileTexts(500), "", "\0", "\0\u0300"], { language });
    await expectSame(hostileTexts(500), { language, baseTokenizer: "whitespace", asciiFolding: false });
  });
});

it("the analyzer refuses an unknown language only if it needs one", async () => {
  const parameters = { ...DEFAULT_TEXT_PARAMETERS, language: "Klingon" };
  await expect(Analyzer.load(parameters)).rejects.toMatchObject({ type: "Unsupported" });
  await expect(Analyzer.load({ ...parameters, stem: false })).rejects.toMatchObject({ type: "Unsupported" });
  const plain = await Analyzer.load({ ...parameters, stem: false, removeStopWords: false });
  expect(tokensHere(plain, "nuqneH")).toEqual([["nuqneh", 0]]);
});

it.each(PARAMETERS)("the analyzer cuts characters of all scripts like LanceDB: %o", async (parameters) => {
  const texts: string[] = [];
  for (let code = 1; code < 0x1_fbff; code++) {
    const isOfMany = (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xf900);
    if (isOfMany && code % 64 !== 0) continue;
    if (code >= 0x1_7000 && code < 0x1_8d00) continue;
    const character = String.fromCodePoint(code);
    if (!/[\p{Cn}\p{Cs}]/u.test(character)) texts.push(`aΣ${character}b Σ${character}Σ ${character}Σ`);
  }
  await expectSame(someOf(texts, 11), parameters);
});

it.each(PARAMETERS)("the analyzer cuts texts of hostile parts like LanceDB: %o", async (parameters) => {
  const texts = [...hostileTexts(1500), "", " ", "\0", "naïve apples running The Apple"];
  await expectSame(texts, parameters);
});

it("the analyzer cuts a megabyte without spaces", async () => {
  const long = ["a".repeat(2 ** 20), "é".repeat(2 ** 19), "ab ".repeat(2 ** 16), "x-".repeat(2 ** 16)];
  await expectSame(long, {});
  await expectSame(long, { maxTokenLength: 2 ** 21, stem: false });
});
