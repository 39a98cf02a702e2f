/** Reads tokenizer parameters from the index details in a manifest. */

import { CorruptFileError } from "../../errors.js";
import { InvertedIndexDetails } from "../../format/indexDetails.js";
import type { IndexMetadata } from "../../format/table.js";
import { messageName } from "../messageName.js";
import { DEFAULT_TEXT_PARAMETERS, type TextParameters } from "./parameters.js";

/** Returns the details of a full-text index; null for other indexes, and for empty or invalid details. */
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

/** @returns null if the details are missing, or hold fields that this release does not know */
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
