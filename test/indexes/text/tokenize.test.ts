/** Tokens of texts: those of LanceDB, over generated texts and all options, and those of an index. */

import { Table } from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError, TableIndexNotFoundError, tokenize, UnsupportedError } from "tiltyard";
import { Index, tokenize as theirTokenize } from "tiltyard-reference/session.js";
import { utf8s } from "../../support/arrowColumns.js";
import { describe, expect, it } from "../../support/fixtures.js";
import { WORLDS } from "../../support/restNamespace.js";
import { makeTempDir } from "../../support/tempDir.js";

const LANGUAGES =
  "Arabic Danish Dutch English Finnish French German Greek Hungarian Italian Norwegian Portuguese Romanian Russian Spanish Swedish Tamil Turkish".split(
    " ",
  );

/** Words of several languages, with accents, signs and odd letters between them. */
const piece = fc.oneof(
  fc.constantFrom(
    ..."Running foxes can't stop the quick-brown e-mail foo_bar user@example.com 3.14 1,000 v2.0 U.S.A. the and of".split(
      " ",
    ),
    ..."naïve café Ünïcode straße İstanbul ΣΊΣΥΦΟΣ Привет мира les chevaux être gatos corriendo häuser และ ﬁn ǅ"
      .split(" ")
      .filter((word) => word !== "และ"),
    ..."تجربة الكتب தமிழ் नमस्ते שלום צה״ל 한국어 a:b x\u00adz a\u0301 👩‍👩‍👧 \u200d \ufeff".split(" "),
  ),
  fc.string({ unit: "grapheme-ascii", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 6 }).filter((text) => !/\p{Cs}/u.test(text)),
);
const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(" "));

const options = fc.record(
  {
    baseTokenizer: fc.constantFrom("simple", "whitespace", "raw", "ngram"),
    language: fc.constantFrom(...LANGUAGES),
    maxTokenLength: fc.constantFrom(1, 5, 40, 1000),
    lowerCase: fc.boolean(),
    stem: fc.boolean(),
    removeStopWords: fc.boolean(),
    customStopWords: fc.constantFrom([], ["the", "fox"]),
    asciiFolding: fc.boolean(),
    ngrams: fc.constantFrom([1, 1], [2, 4], [3, 3], [1, 7]),
    prefixOnly: fc.boolean(),
  },
  { requiredKeys: ["asciiFolding"] },
);

type Options = typeof options extends fc.Arbitrary<infer Value> ? Value : never;

const ours = async (text: string, { ngrams, ...rest }: Partial<Options>) =>
  tokenize({ text, ...rest, ...(ngrams && { minNgramLength: ngrams[0], maxNgramLength: ngrams[1] }) });

const theirs = async (text: string, { ngrams, lowerCase, ...rest }: Partial<Options>) =>
  theirTokenize(text, {
    ...rest,
    ...(lowerCase !== undefined && { lowercase: lowerCase }),
    ...(ngrams && { ngramMinLength: ngrams[0], ngramMaxLength: ngrams[1] }),
  } as never);

it("tokenize returns the tokens of LanceDB for all options", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(texts, options, async (text, chosen) => {
      expect(await ours(text, chosen)).toEqual(await theirs(text, chosen));
    }),
    { numRuns: 1500 },
  );
});

describe.each(["icu", "icu/split"])("the tokenizer %s", (baseTokenizer) => {
  const plain = {
    baseTokenizer,
    stem: false,
    removeStopWords: false,
    asciiFolding: false,
    maxTokenLength: 1000,
  };

  it("cuts texts of scripts with spaces as LanceDB does", { timeout: 300_000 }, async () => {
    // Letters, marks, digits, signs and spaces of all scripts that need no dictionary.
    const needed =
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tai_Viet}\p{Script=Ahom}]/u;
    const characters = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code)).filter(
      (each) => !/[\p{Cs}\p{Cn}\p{Co}]/u.test(each) && !needed.test(each),
    );
    const character = fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(...characters) },
      fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 1 }),
    );
    const anyText = fc
      .oneof(
        texts,
        fc.array(character, { maxLength: 10 }).map((list) => list.join("")),
      )
      .filter((text) => !needed.test(text));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await tokenize({ text, ...plain })).toEqual(await theirs(text, plain as never));
      }),
      { numRuns: 3000 },
    );
  });

  it("cuts long texts of any signs as LanceDB does", { timeout: 300_000 }, async () => {
    const signs = "aaBé1я _'\".,;:-()|\u200d\u0301\u2019\u201c\u3001€+©👩⌚\r\n\t".match(/./gsu) ?? [];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...signs), { minLength: 600, maxLength: 1500 }),
        async (list) => {
          const text = list.join("");
          expect(await tokenize({ text, ...plain })).toEqual(await theirs(text, plain as never));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("cuts a long text without spaces quickly", { timeout: 30_000 }, async () => {
    const tokens = await tokenize({ text: "ü,".repeat(400_000), ...plain });
    expect(tokens.length).toBe(400_000);
    const long = `${"x".repeat(300_000)}${",ü".repeat(200_000)}`;
    const [first, second] = await tokenize({ text: long, ...plain, maxTokenLength: 1_000_000 });
    expect([first.text.length, second]).toEqual([300_000, { text: "ü", position: 1 }]);
  });

  it.each([
    "今日は",
    "我爱北京",
    "カタカナ",
    "สวัสดี",
    "ພາສາລາວ",
    "ភាសាខ្មែរ",
    "မြန်မာ",
  ])("refuses %s, which LanceDB cuts by a dictionary", async (text) => {
    const refused = tokenize({ text: `word ${text}`, baseTokenizer });
    await expect(refused).rejects.toThrow(/does not cut .* text as LanceDB does/);
    await expect(tokenize({ text, baseTokenizer })).rejects.toThrow(UnsupportedError);
  });

  it("builds indexes that LanceDB searches, and searches those that LanceDB builds", async ({
    ns,
    theirs,
  }) => {
    const rows = ["don't stop v2.0", "foo_bar naïve", "don stop", "Привет, мир! 3.14", "foo bar"].map(
      (s, n) => ({ n, s }),
    );
    for (const id of ["ours", "theirs"]) await ns.createTable({ id }, rows);
    const asked = { indexType: "FTS", baseTokenizer, stem: false, removeStopWords: false } as const;
    const { jobId } = await ns.table("ours").createIndex("s", asked);
    await ns.waitForJob({ jobId: jobId as string });
    const native = await theirs.openTable("theirs");
    const config = Index.fts({ baseTokenizer: baseTokenizer as "icu", stem: false, removeStopWords: false });
    await native.createIndex("s", { config });
    for (const name of ["ours", "theirs"]) {
      const table = await theirs.openTable(name);
      for (const word of ["don't", "don", "foo_bar", "foo", "привет", "3.14", "v2.0", "naive"]) {
        const found = await ns
          .table(name)
          .search({ text: word, columns: ["n"] })
          .toArray();
        const expected = await table.query().fullTextSearch(word).select(["n"]).toArray();
        expect(found.map(({ n }) => n).sort(), `${name} ${word}`).toEqual(expected.map(({ n }) => n).sort());
      }
    }
  });
});

it("tokenize refuses unknown and model-backed tokenizers by name, and bounds its work", async () => {
  const text = "Hello world";
  for (const baseTokenizer of ["jieba/default", "lindera/ipadic"]) {
    await expect(tokenize({ text, baseTokenizer })).rejects.toThrow(UnsupportedError);
    await expect(tokenize({ text, baseTokenizer })).rejects.toThrow(baseTokenizer);
  }
  const refused: object[] = [
    { baseTokenizer: "nope" },
    { language: "Klingon" },
    { minNgramLength: 3, maxNgramLength: 2 },
    { text: undefined },
    { text: 7 },
    { text: "x".repeat(1_000_001) },
    { text: "x".repeat(10_000), baseTokenizer: "ngram", minNgramLength: 1, maxNgramLength: 50 },
    { column: "s" },
    { tokenizer: "simple" },
  ];
  for (const members of refused) {
    const call = tokenize({ text, ...members });
    await expect(call, JSON.stringify(members).slice(0, 80)).rejects.toThrow(InvalidInputError);
  }
  expect((await tokenize({ text: "word ".repeat(100_000) })).length).toBe(100_000);
});

describe.each(WORLDS)("tokenize of %s", (_, openWorld) => {
  it("cuts as the full-text index of a column or name", async () => {
    await using ns = openWorld(await makeTempDir());
    const id = ["t"];
    await ns.createTable({ id }, new Table({ s: utf8s(["the running foxes"]), other: utf8s(["x"]) }));
    const asked = { id, column: "s", name: "words", indexType: "FTS", customStopWords: ["fox"] } as const;
    const { jobId } = await ns.createTableIndex({ ...asked, maxTokenLength: 9 });
    await ns.waitForJob({ jobId: jobId as string });
    const expected = [
      { text: "the", position: 0 },
      { text: "run", position: 1 },
      { text: "dog", position: 4 },
    ];
    const text = "the running foxes everlastingly dog";
    expect(await ns.tokenize({ id, text, column: "s" })).toEqual(expected);
    expect(await ns.tokenize({ id, text, indexName: "words" })).toEqual(expected);
    expect(await ns.table(id).tokenize(text, { column: "s" })).toEqual(expected);
    expect(await ns.tokenize({ text: "the running foxes" })).toEqual([
      { text: "run", position: 0 },
      { text: "fox", position: 1 },
    ]);
    await expect(ns.tokenize({ id, text, column: "other" })).rejects.toThrow(TableIndexNotFoundError);
    await expect(ns.tokenize({ id, text, indexName: "none" })).rejects.toThrow(TableIndexNotFoundError);
    for (const members of [
      { id },
      { id, column: "s", indexName: "words" },
      { id, column: "s", stem: true },
      { column: "s" },
    ]) {
      await expect(ns.tokenize({ text, ...members }), JSON.stringify(members)).rejects.toThrow(
        InvalidInputError,
      );
    }
  });
});
