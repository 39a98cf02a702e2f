/**
 * Stemmers by the algorithms of the Snowball project, compiled to WebAssembly. They are a separate module of
 * 370 kB, loaded with the first index of a language other than English.
 */

import { createStemmer, Languages } from "multilingual-stemmer";

/** Returns a function that stems lower-case words; null for an unknown language. */
export function snowballStemmer(language: string): ((word: string) => string) | null {
  const numbers: Readonly<Record<string, string | number>> = Languages;
  const number = Object.hasOwn(numbers, language) ? numbers[language] : undefined;
  return typeof number === "number" ? createStemmer(number) : null;
}
