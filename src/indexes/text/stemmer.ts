/**
 * Stems words: cuts off what inflection adds, so that a word is found in all its forms.
 *
 * English is stemmed here. The other languages are stemmed by the platform's stemmers, which are loaded when an index
 * wants one of them. Both are compared with the reference's stems word by word in the tests: another stem is a word that
 * the other engine does not find.
 */

import { UnsupportedError } from "../../errors.js";
import { loadStemmer } from "../../platform/native.js";
import { stemEnglish } from "./englishStemmer.js";

/** The stem of a word in lower case. */
export type Stem = (word: string) => string;

/** Most stems that are kept. A few thousand words are most of what people write. */
const MAX_KEPT = 32_768;
/** Longer words are rare, and would take memory. */
const MAX_KEPT_LENGTH = 24;

/**
 * The stemmer of a language by the name that indexes have for it.
 * @throws UnsupportedError where the language is not stemmed
 */
export async function stemmerOf(language: string): Promise<Stem> {
  if (language === "English") return keptStems(stemEnglish);
  const stem = await loadStemmer?.(language);
  if (stem != null) return keptStems(stem);
  throw new UnsupportedError(
    `stem: words of the language ${language.slice(0, 80)} are not stemmed ${loadStemmer === null ? "in this runtime" : "by this release"}; give stem: false, or English`,
  );
}

/** Remembers stems. What is kept is dropped at once when there is too much: the words at hand come back soon. */
function keptStems(stem: Stem): Stem {
  const kept = new Map<string, string>();
  return (word) => {
    if (word.length > MAX_KEPT_LENGTH) return stem(word);
    const known = kept.get(word);
    if (known !== undefined) return known;
    if (kept.size >= MAX_KEPT) kept.clear();
    const found = stem(word);
    kept.set(word, found);
    return found;
  };
}
