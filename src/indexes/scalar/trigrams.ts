/**
 * Cuts text into trigrams: all runs of three letters and digits of ASCII, after the text was lower-cased and letters with
 * marks were replaced by those without. Each has a number: as digits to the base 37, 1 to 10 for 0 to 9 and 11 to 36
 * for a to z.
 */

/** Numbers are below this. */
const TRIGRAM_COUNT = 37 ** 3;
const LENGTH = 3;

/** Letters that are no other letter with a mark. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["ß", "ss"],
  ["æ", "ae"],
  ["œ", "oe"],
  ["ø", "o"],
  ["ð", "d"],
  ["þ", "th"],
  ["đ", "d"],
  ["ħ", "h"],
  ["ı", "i"],
  ["ĸ", "q"],
  ["ł", "l"],
  ["ŋ", "n"],
  ["ŧ", "t"],
  ["ƀ", "b"],
  ["ƃ", "b"],
  ["ɓ", "b"],
  ["ƈ", "c"],
  ["ƌ", "d"],
  ["ɖ", "d"],
  ["ɗ", "d"],
  ["ǝ", "a"],
  ["ə", "a"],
  ["ɛ", "e"],
  ["ƒ", "f"],
  ["ɠ", "g"],
  ["ǥ", "g"],
  ["ƕ", "hv"],
  ["ɩ", "i"],
  ["ɨ", "i"],
  ["ƙ", "k"],
  ["ƚ", "l"],
  ["ɯ", "m"],
  ["ɲ", "n"],
  ["ƞ", "n"],
  ["ɔ", "o"],
  ["ɵ", "o"],
  ["ƥ", "p"],
  ["ʀ", "r"],
  ["ƫ", "t"],
  ["ƭ", "t"],
  ["ʈ", "t"],
  ["ʉ", "u"],
  ["ʋ", "v"],
  ["ƴ", "y"],
  ["ƶ", "z"],
  ["ȥ", "z"],
  ["ȡ", "d"],
  ["ȴ", "l"],
  ["ȵ", "n"],
  ["ȶ", "t"],
  ["ȷ", "j"],
  ["ɐ", "a"],
  ["ɑ", "a"],
  ["ɡ", "g"],
]);

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Finds the trigrams of one text after the other. */
export class TrigramFinder {
  /** By number: the text in which it was last found. */
  readonly #seen = new Uint32Array(TRIGRAM_COUNT);
  #text = 0;

  /** Calls `use` with the number of each trigram of a text, each once. */
  find(bytes: Uint8Array, start: number, end: number, use: (trigram: number) => void): void {
    this.#text++;
    const folded = foldText(bytes, start, end);
    if (folded === null) this.#scan(bytes, start, end, use);
    else this.#scan(folded, 0, folded.length, use);
  }

  #scan(bytes: Uint8Array, start: number, end: number, use: (trigram: number) => void): void {
    const seen = this.#seen;
    const text = this.#text;
    let run = 0;
    let number = 0;
    for (let offset = start; offset < end; offset++) {
      const digit = digitOf(bytes[offset]);
      if (digit === 0) {
        run = 0;
        continue;
      }
      number = ((number % (37 * 37)) * 37 + digit) % TRIGRAM_COUNT;
      if (++run < LENGTH || seen[number] === text) continue;
      seen[number] = text;
      use(number);
    }
  }
}

/**
 * The trigrams that every text with the given one in it has, each once. Only those of plain letters count: how others
 * are replaced depends on who made the index.
 */
export function trigramsWithin(text: string): number[] {
  const bytes = encoder.encode(text.toLowerCase());
  const found = new Set<number>();
  for (let offset = 0; offset + LENGTH <= bytes.length; offset++) {
    const digits = [digitOf(bytes[offset]), digitOf(bytes[offset + 1]), digitOf(bytes[offset + 2])];
    if (!digits.includes(0)) found.add((digits[0] * 37 + digits[1]) * 37 + digits[2]);
  }
  return [...found];
}

/** 0 for what is no letter or digit of ASCII. */
function digitOf(byte: number): number {
  if (byte >= 0x61 && byte <= 0x7a) return byte - 0x61 + 11;
  if (byte >= 0x41 && byte <= 0x5a) return byte - 0x41 + 11;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30 + 1;
  return 0;
}

/** The text with plain letters; null where all of it is ASCII, of which the case does not matter. */
function foldText(bytes: Uint8Array, start: number, end: number): Uint8Array | null {
  let offset = start;
  while (offset < end && bytes[offset] < 0x80) offset++;
  if (offset === end) return null;
  const text = decoder.decode(bytes.subarray(start, end)).toLowerCase();
  let folded = "";
  for (const character of text.normalize("NFKD")) folded += LETTERS.get(character) ?? plain(character);
  return encoder.encode(folded);
}

/** Marks vanish, all else stays. */
const plain = (character: string): string => (/^\p{M}$/u.test(character) ? "" : character);
