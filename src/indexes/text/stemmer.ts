/**
 * Stems words, so that a search finds all inflections. English is built in; the platform's stemmers for other
 * languages load on demand. Tests compare both with LanceDB's stems word by word, because LanceDB would not
 * find a different stem.
 */

import { UnsupportedError } from "../../errors.js";
import { loadStemmer } from "../../platform/loadStemmer.js";
import { stemEnglish } from "./englishStemmer.js";

/** Returns the stem of a word in lower case. */
export type Stem = (word: string) => string;

/** Maximum number of cached stems; a few thousand words make up most text. */
const MAX_KEPT = 32_768;
/** Maximum length of cached words; longer ones are rare. */
const MAX_KEPT_LENGTH = 24;

/** Returns the stemmer of a language, by its name in indexes. @throws UnsupportedError if there is none */
export async function stemmerOf(language: string): Promise<Stem> {
  if (language === "English") return cachedStems(stemEnglish);
  const stem = await loadStemmer(language);
  if (stem !== null) return cachedStems(stem);
  throw new UnsupportedError(
    `stem: this release has no stemmer for the language ${language.slice(0, 80)}; set stem to false, or the language to English`,
  );
}

/** Caches stems. A full cache is cleared, and common words soon return. */
function cachedStems(stem: Stem): Stem {
  const cache = new Map<string, string>();
  return (word) => {
    if (word.length > MAX_KEPT_LENGTH) return stem(word);
    const cached = cache.get(word);
    if (cached !== undefined) return cached;
    if (cache.size >= MAX_KEPT) cache.clear();
    const result = stem(word);
    cache.set(word, result);
    return result;
  };
}
