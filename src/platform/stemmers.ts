/**
 * Stemmers by the algorithms of the Snowball project, compiled to WebAssembly. A module by itself: it has 370 kB, and is
 * loaded with the first index of a language other than English.
 */

import { createStemmer, Languages } from "multilingual-stemmer";

/** Stems words in lower case; null where the language is not known. */
export function snowballStemmer(language: string): ((word: string) => string) | null {
  const known: Readonly<Record<string, string | number>> = Languages;
  const number = Object.hasOwn(known, language) ? known[language] : undefined;
  return typeof number === "number" ? createStemmer(number) : null;
}
