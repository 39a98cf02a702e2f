/** How an index of words cuts text, as the manifest has it beside the index's entry. */

import { CorruptFileError } from "../../errors.js";
import { InvertedIndexDetails } from "../../format/indexDetails.js";
import type { IndexMetadata } from "../../format/table.js";
import { messageName } from "../messageName.js";
import { DEFAULT_TEXT_PARAMETERS, type TextParameters } from "./parameters.js";

/** Details of an index of words; null for any other index, and for details that are empty or no such message. */
export function textDetails({ name, indexDetails }: IndexMetadata): InvertedIndexDetails | null {
  const { typeUrl, value } = indexDetails ?? { typeUrl: "", value: new Uint8Array(0) };
  if (messageName(typeUrl) !== "InvertedIndexDetails" || value.length === 0) return null;
  try {
    return InvertedIndexDetails.decode(value, { path: `details of index ${name}`, byteOffset: 0 });
  } catch (error) {
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

/** @returns null where the details do not tell, or tell more than this release knows */
export function detailedParameters(entry: IndexMetadata): TextParameters | null {
  const details = textDetails(entry);
  if (details === null || details.unknown !== undefined) return null;
  const { maxTokenLength, blockSize, language, ...shared } = details;
  return {
    ...shared,
    language: language.replace(/^"(.*)"$/, "$1"),
    maxTokenLength: maxTokenLength ?? null,
    customStopWords: null,
    blockSize: blockSize ?? DEFAULT_TEXT_PARAMETERS.blockSize,
  };
}
