/** Vectors of texts that are searched, made by the embedding function of the table. */

import type { Schema } from "apache-arrow";
import { failure } from "../failures.js";
import { type VectorNumbers, vectorNumbers } from "./numbers.js";

/** A vector, and the column that has vectors of the same function. */
export interface EmbeddedText {
  readonly numbers: VectorNumbers;
  readonly column: string | null;
}

/**
 * Returns the vector of a text.
 * @param schema schema of the table; its metadata names the functions
 * @returns null if the table has no embedding function
 */
export async function embeddedText(schema: Schema, text: string): Promise<EmbeddedText | null> {
  if (!schema.metadata.has("embedding_functions")) return null;
  throw failure(`embedding functions are not there yet: ${text.length} ${vectorNumbers([]).length}`);
}
