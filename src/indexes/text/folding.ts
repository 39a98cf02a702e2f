/** Folds characters to the ASCII letters, digits and signs that they consist of; other characters stay. */

const NON_ASCII = /[^\0-\x7f]/;

/** Letters that Unicode does not decompose. */
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
  ["ĸ", "k"],
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
  for (const character of token) folded += character <= "\x7f" ? character : foldCharacter(character);
  return folded;
}

function foldCharacter(character: string): string {
  let folded = "";
  for (const part of character.normalize("NFKD")) {
    folded += part <= "\x7f" ? part : (LETTERS.get(part) ?? "");
  }
  return folded === "" ? character : folded;
}
