/** Names that any file system treats as one must fold together. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldName, foldPath, isDeviceName } from "../../../src/io/names/foldName.js";
import { fileSystems } from "../../support/foldingDisk.js";

/** Every character that has another case or form, is a mark, or is invisible. */
const characters = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter(
    (character) =>
      character !== character.toLowerCase() ||
      character !== character.toUpperCase() ||
      character !== character.normalize("NFKD") ||
      /[\p{M}\p{Default_Ignorable_Code_Point}]/u.test(character),
  );

const visible = (text: string): string =>
  Array.from(text, (character) => character.codePointAt(0)?.toString(16)).join(" ");

/** Characters with special mappings, among others. */
const special = fc.constantFrom(
  ..."aAbBeEéÉèßẞſsSiIıİjkKσςΣμµåÅÅÇçĳĲﬁﬀǆǅǄΐΰᾳᾼꭰᏠᏸაⴀႠᲐ\u0301\u0307\u0323\u0345\u200d\u00ad\ufeff가각\u1100\u1161ｱｶﾞ².․ ",
);
const name = fc.array(fc.oneof({ weight: 4, arbitrary: special }, fc.string({ unit: "grapheme" })), {
  minLength: 1,
  maxLength: 8,
});
const changes: readonly ((text: string) => string)[] = [
  (text) => text.toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.normalize("NFC"),
  (text) => text.normalize("NFD"),
  (text) => Array.from(text, (each, index) => (index % 2 ? each.toUpperCase() : each.toLowerCase())).join(""),
  (text) => `${text}.`,
  (text) => `${text}. .`,
  (text) => `\u200e${text}`,
  (text) => text,
];

describe("names fold together", () => {
  it("that are one to a file system, character by character", () => {
    for (const { key, name } of fileSystems) {
      const folds = new Map<string, string>();
      for (const character of characters) {
        const inName = `x${character}x`;
        const sameName = folds.get(key(inName));
        if (sameName === undefined) folds.set(key(inName), foldName(inName));
        else if (sameName !== foldName(inName)) expect.fail(`${name}: ${visible(character)} folds otherwise`);
      }
    }
  });

  it("that are one to a file system, whatever their characters", () => {
    const way = fc.array(fc.constantFrom(...changes), { maxLength: 4 });
    fc.assert(
      fc.property(name, way, way, (parts, oneWay, otherWay) => {
        const [one, second] = [oneWay, otherWay].map((steps) =>
          steps.reduce((text, change) => change(text), parts.join("")),
        );
        for (const { key, storedName: inputName, name } of fileSystems) {
          if (key(inputName(one)) !== key(inputName(second)) || foldName(one) === foldName(second)) continue;
          expect.fail(`${name}: ${visible(one)} and ${visible(second)} fold otherwise`);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ["Trees", "trees"],
    ["été", "ÉTÉ"],
    ["été", "été".normalize("NFD")],
    ["v1", "v1."],
    ["v1", "v1 .. "],
    ["straße", "STRASSE"],
    ["straße", "STRAẞE"],
    ["ſ", "S"],
    ["ı", "I"],
    ["İ", "i"],
    ["k", "\u212a"],
    ["ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"],
    ["Ꭰ", "ꭰ"],
    ["Ⴀ", "ა"],
    ["ﬁ", "FI"],
    ["a\u00adb", "AB"],
    ["\ufeffx", "X"],
    ["ｄａｔａ", "data"],
  ])("%j and %j", (one, second) => {
    expect(foldName(one)).toBe(foldName(second));
  });
});

it.each([
  ["e", "é"],
  ["v1", "v10"],
  ["v1", "v1.0"],
  ["a.b", "ab"],
  ["a b", "ab"],
  [".a", "a"],
  [" a", "a"],
  ["a-b", "a_b"],
  ["ａ", "ｂ"],
])("%j and %j stay two", (one, second) => {
  expect(foldName(one)).not.toBe(foldName(second));
});

it("a folded name folds to itself", () => {
  for (const character of characters) {
    const folded = foldName(`${character}x${character}`);
    if (foldName(folded) !== folded) expect.fail(visible(character));
  }
  fc.assert(
    fc.property(name, (parts) => {
      const folded = foldName(parts.join(""));
      expect(foldName(folded)).toBe(folded);
    }),
    { numRuns: 5_000 },
  );
});

it("each part of a path is folded", () => {
  expect(foldPath("A./été/b ")).toBe(`A/${foldName("ÉTÉ")}/B`);
});

it.each([
  ...["con", "PRN", "Aux", "nul", "com0", "com9", "COM¹", "lpt3", "LPT³", "conin$", "CONOUT$"],
  ...["con.lance", "nul.tar.gz", "aux ", "aux .txt", "com1.", "CON:"],
])("%j is a device of Windows", (device) => {
  expect(isDeviceName(device)).toBe(true);
});

const plainNames = ["co", "con1", "com", "com10", "conx.txt", ".con", "my.con", "console", "lpt", "x nul"];
it.each(plainNames)("%j is not a device of Windows", (word) => {
  expect(isDeviceName(word)).toBe(false);
});
