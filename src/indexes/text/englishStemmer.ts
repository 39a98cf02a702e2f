/**
 * Snowball English stemmer ("Porter 2"): removes suffixes in steps, if enough of the word remains. R1 follows
 * the first consonant after a vowel, R2 the same within R1. Characters other than ASCII vowels count as
 * consonants.
 */

import { parsePairs } from "../textPairs.js";

const VOWELS = "aeiouy";
const isVowel = (word: string, index: number): boolean => VOWELS.includes(word[index]);

const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  parsePairs(
    "skis:ski skies:sky idly:idl gently:gentl ugly:ugli early:earli only:onli singly:singl sky:sky " +
      "news:news howe:howe atlas:atlas cosmos:cosmos bias:bias andes:andes",
  ),
);

const DOUBLES: ReadonlySet<string> = new Set(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"]);
/** Prefixes that end where R1 begins. */
const PREFIXES = ["gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter"];

/** Suffixes and their replacements, longest first: step 2 in R1, step 3 in R1, step 4 in R2. */
const STEP_2 = parsePairs(
  "ational:ate fulness:ful iveness:ive ization:ize ousness:ous biliti:ble lessli:less tional:tion " +
    "alism:al aliti:al ation:ate entli:ent fulli:ful iviti:ive ogist:og ousli:ous abli:able alli:al " +
    "anci:ance ator:ate enci:ence izer:ize bli:ble ogi:og li:",
);
const STEP_3 = parsePairs("ational:ate tional:tion alize:al ative: icate:ic iciti:ic ical:ic ness: ful:");
const STEP_4 = parsePairs(
  "ement: able: ance: ence: ible: ment: ant: ate: ent: ion: ism: iti: ive: ize: ous: al: er: ic:",
);

/** Returns the stem. @param lowerCased word in lower case */
export function stemEnglish(lowerCased: string): string {
  if (lowerCased.length <= 2) return lowerCased;
  const exception = EXCEPTIONS.get(lowerCased);
  if (exception !== undefined) return exception;
  // Only some tokenizers leave apostrophes in words.
  const start = lowerCased.startsWith("'") ? lowerCased.slice(1) : lowerCased;
  const word = markConsonants(start);
  const r1 = regionOne(word);
  const r2 = regionAfter(word, r1);
  const first = step1a(word.includes("'") ? word.replace(/'(?:s'?)?$/, "") : word);
  const second = step1c(step1b(first, r1));
  const third = step3(step2(second, r1), r1, r2);
  const stem = step5(step4(third, r2), r1, r2);
  // A word that was not lower-cased may have a Y of its own.
  return word === start ? stem : stem.replaceAll("Y", "y");
}

/** Marks a consonant y as Y. */
function markConsonants(word: string): string {
  if (!word.includes("y")) return word;
  let marked = "";
  for (let index = 0; index < word.length; index++) {
    const isConsonant = word[index] === "y" && (index === 0 || isVowel(marked, index - 1));
    marked += isConsonant ? "Y" : word[index];
  }
  return marked;
}

function regionOne(word: string): number {
  const prefix = PREFIXES.find((each) => word.startsWith(each));
  return prefix === undefined ? regionAfter(word, 0) : prefix.length;
}

/** Returns the index after the first consonant after a vowel, from `start` on. */
function regionAfter(word: string, start: number): number {
  for (let index = start + 1; index < word.length; index++) {
    if (!isVowel(word, index) && isVowel(word, index - 1)) return index + 1;
  }
  return word.length;
}

function hasVowel(word: string, end: number): boolean {
  for (let index = 0; index < end; index++) if (isVowel(word, index)) return true;
  return false;
}

/** True if the word ends in a short syllable. */
function endsShort(word: string): boolean {
  const last = word.length - 1;
  if (word === "past") return true;
  if (last === 1) return isVowel(word, 0) && !isVowel(word, 1);
  if (last < 2 || isVowel(word, last) || !isVowel(word, last - 1) || isVowel(word, last - 2)) return false;
  return !"wxY".includes(word[last]);
}

const cut = (word: string, suffix: string): string => word.slice(0, word.length - suffix.length);

function step1a(word: string): string {
  if (word.endsWith("sses")) return cut(word, "es");
  if (word.endsWith("ied") || word.endsWith("ies")) return word.length > 4 ? cut(word, "es") : cut(word, "s");
  if (word.endsWith("us") || word.endsWith("ss") || !word.endsWith("s")) return word;
  return hasVowel(word, word.length - 2) ? cut(word, "s") : word;
}

const UNCHANGED: ReadonlySet<string> = new Set(
  "inning outing canning herring earring evening proceed exceed succeed".split(" "),
);

function step1b(word: string, r1: number): string {
  if (UNCHANGED.has(word)) return word;
  for (const suffix of ["eedly", "eed"]) {
    if (!word.endsWith(suffix)) continue;
    return word.length - suffix.length >= r1 ? `${cut(word, suffix)}ee` : word;
  }
  const suffix = ["ingly", "edly", "ing", "ed"].find((each) => word.endsWith(each));
  if (suffix === undefined) return word;
  const rest = cut(word, suffix);
  // dying, lying, tying
  if (suffix === "ing" && rest.length === 2 && rest[1] === "y" && !isVowel(rest, 0)) return `${rest[0]}ie`;
  if (!hasVowel(rest, rest.length)) return word;
  if (/(at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (DOUBLES.has(rest.slice(-2))) {
    // add, egg, off
    return rest.length === 3 && "aeo".includes(rest[0]) ? rest : rest.slice(0, -1);
  }
  return rest.length <= r1 && endsShort(rest) ? `${rest}e` : rest;
}

function step1c(word: string): string {
  const last = word.length - 1;
  if (last < 2 || (word[last] !== "y" && word[last] !== "Y") || isVowel(word, last - 1)) return word;
  return `${word.slice(0, last)}i`;
}

/** Replaces the longest suffix of a step if the rest of the word allows it. */
function replaceSuffix(
  word: string,
  rules: readonly (readonly [string, string])[],
  isAllowed: (rest: string, suffix: string) => boolean,
): string {
  const rule = rules.find(([suffix]) => word.endsWith(suffix));
  if (rule === undefined) return word;
  const rest = cut(word, rule[0]);
  return isAllowed(rest, rule[0]) ? rest + rule[1] : word;
}

const step2 = (word: string, r1: number): string =>
  replaceSuffix(word, STEP_2, (rest, suffix) => {
    if (suffix === "ogi" && !rest.endsWith("l")) return false;
    return rest.length >= r1 && (suffix !== "li" || /[cdeghkmnrt]$/.test(rest));
  });

const step3 = (word: string, r1: number, r2: number): string =>
  replaceSuffix(word, STEP_3, (rest, suffix) => rest.length >= (suffix === "ative" ? r2 : r1));

const step4 = (word: string, r2: number): string =>
  replaceSuffix(
    word,
    STEP_4,
    (rest, suffix) => rest.length >= r2 && (suffix !== "ion" || /[st]$/.test(rest)),
  );

function step5(word: string, r1: number, r2: number): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("e")) {
    return rest.length >= r2 || (rest.length >= r1 && !endsShort(rest)) ? rest : word;
  }
  return word.endsWith("ll") && rest.length >= r2 ? rest : word;
}
