/**
 * Makes texts for searches: sentences over a vocabulary with the word lengths and frequencies of a natural
 * language. The most frequent words are English stop words, which indexes omit by default. The others are
 * made of syllables, many with endings that stemmers cut off. A number always gives the same text.
 */

import { Table, Utf8, vectorFromArray } from "apache-arrow";

/** The most frequent words, by frequency. */
const PARTICLES =
  "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all her she there would their we him been has when who will no more if out so up said what its about than into them can only other time new some could these two may first then do any like my now over such our man me even most made after also did many off before must well back through years where much your way down should because long each just state those people too mr how little good world make very year still see own work men day get here old life both between being under three never know same last another while us might great go come since against right came take used himself few house use place during high without again home around small however found";

const ONSETS =
  "b c d f g h j k l m n p r s t v w br ch cl cr dr fl fr gl gr pl pr qu sh sl sp st str th tr wh".split(" ");
const NUCLEI = "a e i o u a e i o ai ea ee ou oo io".split(" ");
const CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "nd", "nt", "rt", "st", "ll", "ss"];
/** Endings of inflection and derivation. */
const ENDINGS = [
  "s",
  "s",
  "ed",
  "ing",
  "er",
  "ly",
  "al",
  "ness",
  "ation",
  "ations",
  "ive",
  "ment",
  "able",
  "ity",
];

/** Different words, beside numbers. */
const VOCABULARY = 120_000;
/**
 * Constants of the Zipf–Mandelbrot law: the word of rank r has a frequency of (r + SHIFT) to the power of
 * -EXPONENT.
 */
const SHIFT = 2.7;
const EXPONENT = 1.08;
/** Tokens of which one is a number, or a name that no other text has. */
const RARE = 60;

/** Numbers below 1 in no order, the same each time. */
export function drawing(first: number): () => number {
  let state = Math.imul(first + 1, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Vocabulary {
  readonly words: readonly string[];
  /** For each word, the share of tokens that are this one or a more frequent one. */
  readonly shares: Float64Array;
}

let made: Vocabulary | null = null;

function vocabulary(): Vocabulary {
  if (made !== null) return made;
  const words = [...new Set(PARTICLES.split(" "))];
  const uniqueWords = new Set(words);
  const draw = drawing(7);
  const pick = (parts: readonly string[]): string => parts[Math.floor(draw() * parts.length)];
  while (words.length < VOCABULARY) {
    // Rarer words are longer.
    const syllables = 1 + Math.floor(draw() * (1 + Math.log10(words.length)) * 0.5);
    let word = "";
    for (let syllable = 0; syllable < syllables; syllable++) word += pick(ONSETS) + pick(NUCLEI);
    word += pick(CODAS);
    // A stem comes with some of its forms.
    for (const form of [word, word + pick(ENDINGS), word + pick(ENDINGS)]) {
      if (form.length > 2 && !uniqueWords.has(form)) {
        uniqueWords.add(form);
        words.push(form);
      }
    }
  }
  const shares = new Float64Array(words.length);
  let sum = 0;
  for (let rank = 0; rank < words.length; rank++) {
    sum += (rank + SHIFT) ** -EXPONENT;
    shares[rank] = sum;
  }
  made = { words, shares: shares.map((share) => share / sum) };
  return made;
}

/** The word of a rank; 0 is the most frequent. */
export const wordOf = (rank: number): string => vocabulary().words[rank];

/** The first word that is neither left out nor rarer than a rank. */
export const FIRST_CONTENT_RANK = new Set(PARTICLES.split(" ")).size;

function drawWord(draw: () => number): string {
  const { words, shares } = vocabulary();
  if (draw() * RARE < 1) {
    return draw() < 0.5 ? String(Math.floor(draw() * 3000)) : `Q${Math.floor(draw() * 2 ** 32).toString(36)}`;
  }
  const share = draw();
  let low = 0;
  let high = shares.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (shares[middle] < share) low = middle + 1;
    else high = middle;
  }
  return words[low];
}

/** One to four sentences of 4 to 22 words. */
export function textOf(id: number): string {
  const draw = drawing(id);
  const sentences = 1 + Math.floor(4 * draw() ** 2);
  const parts: string[] = [];
  for (let sentence = 0; sentence < sentences; sentence++) {
    const length = 4 + Math.floor(draw() * 19);
    let text = drawWord(draw);
    text = text[0].toUpperCase() + text.slice(1);
    for (let word = 1; word < length; word++) text += (draw() < 0.06 ? ", " : " ") + drawWord(draw);
    parts.push(`${text}${draw() < 0.1 ? "?" : "."}`);
  }
  return parts.join(" ");
}

/** Rows with texts. */
export function textRows(first: number, count: number): Table {
  const ids = Int32Array.from({ length: count }, (_, row) => first + row);
  return new Table({
    id: vectorFromArray(ids),
    text: vectorFromArray(
      Array.from(ids, (id) => textOf(id)),
      new Utf8(),
    ),
  });
}
