/** Vectors of texts that are searched, made by the embedding function of the table. */

import type { Schema } from "apache-arrow";
import { getRegistry } from "../embedding/index.js";
import { type VectorNumbers, vectorNumbers } from "./numbers.js";

/** A vector, and the column that has vectors of the same function. */
export interface EmbeddedText {
  readonly numbers: VectorNumbers;
  /** Null if the table has no column of the recorded name. */
  readonly column: string | null;
}

/**
 * Returns the vector of a text, made by the first function of the table.
 * @param schema schema of the table; its metadata records the functions
 * @returns null if the table has no embedding function
 */
export async function embeddedText(schema: Schema, text: string): Promise<EmbeddedText | null> {
  const [config] = (await getRegistry().parseFunctions(schema.metadata)).values();
  if (config === undefined) return null;
  const numbers = vectorNumbers(await config.function.computeQueryEmbeddings(text));
  const isColumn = schema.fields.some(({ name }) => name === config.vectorColumn);
  return { numbers, column: isColumn ? config.vectorColumn : null };
}
