/** Loads stemmers with the first index of a language other than English. */

import { importModule } from "./native.js";

/** Loads a stemmer of lower-case words; null for an unknown language. */
export const loadStemmer = async (language: string): Promise<((word: string) => string) | null> =>
  (await importModule(() => import("./stemmers.js"))).snowballStemmer(language);
