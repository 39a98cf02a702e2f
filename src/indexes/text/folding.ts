/** Replaces letters outside ASCII by the letters of ASCII that they look like; what looks like none stays. */

const NON_ASCII = /[^\0-\x7f]/;
const MARKS = /\p{M}/gu;

/** Letters that are no other letter with a mark. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["ß", "ss"],
  ["ẞ", "SS"],
  ["æ", "ae"],
  ["Æ", "AE"],
  ["œ", "oe"],
  ["Œ", "OE"],
  ["ø", "o"],
  ["Ø", "O"],
  ["ð", "d"],
  ["Ð", "D"],
  ["þ", "th"],
  ["Þ", "TH"],
  ["đ", "d"],
  ["Đ", "D"],
  ["ħ", "h"],
  ["Ħ", "H"],
  ["ı", "i"],
  ["ĸ", "q"],
  ["ł", "l"],
  ["Ł", "L"],
  ["ŋ", "n"],
  ["Ŋ", "N"],
  ["ŧ", "t"],
  ["Ŧ", "T"],
]);

export function foldToAscii(token: string): string {
  if (!NON_ASCII.test(token)) return token;
  let folded = "";
  for (const character of token) {
    if (character <= "\x7f") {
      folded += character;
      continue;
    }
    const known = LETTERS.get(character);
    if (known !== undefined) {
      folded += known;
      continue;
    }
    const plain = character.normalize("NFKD").replace(MARKS, "").replaceAll("⁄", "");
    folded += plain !== "" && !NON_ASCII.test(plain) ? plain : character;
  }
  return folded;
}
