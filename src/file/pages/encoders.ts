/** Encoders that few columns need. A writer loads those of its columns before it encodes the first page. */

import type { LeafLayout } from "../../arrow/columns/column.js";
import { leafOf } from "../../arrow/columns/spine.js";
import { type Lazy, lazyModule } from "../../async/lazy.js";
import { compressZstd } from "../../platform/native.js";
import { arrayCompression } from "../compression/compressionOptions.js";
import { zstdEncoder } from "../compression/compressors.js";
import type { FileColumn, FileVersion } from "../container/page.js";

/** Pages of version 2.0. */
export const arrayEncoder = lazyModule(() => import("../v20/nestedArrays.js"));
/** Pages with the locations of blobs. */
export const blobEncoder = lazyModule(() => import("./blobPages.js"));
/** Pages of strings, binaries, dictionary-typed values and packed structs. */
export const variableEncoder = lazyModule(() => import("./encodeVariable.js"));

/** Kinds of leaves that {@link variableEncoder} encodes. */
const VARIABLE: readonly LeafLayout["kind"][] = ["variable", "dictionary", "packedStruct"];

/** Loads the encoders of columns. */
export async function loadEncoders(columns: readonly FileColumn[], version: FileVersion): Promise<void> {
  await Promise.all([...new Set(columns.flatMap((column) => encodersOf(column, version)))].map(load));
}

/** Loads all encoders, for code that encodes pages of any column. */
export async function loadAllEncoders(): Promise<void> {
  await Promise.all([arrayEncoder, blobEncoder, variableEncoder, zstdEncoder].map(load));
}

const load = (encoder: Lazy<object>): Promise<object> => encoder.get();

function encodersOf({ layout, blobs, metadata }: FileColumn, version: FileVersion): Lazy<object>[] {
  const isVariable = VARIABLE.includes(leafOf(layout).kind);
  // The encoder of variable values tries Zstandard for huge values.
  const mayCompress = isVariable || arrayCompression(metadata).compression === "zstd";
  return [
    ...(version === "2.0" ? [arrayEncoder] : []),
    ...(blobs?.kind === "inFile" ? [blobEncoder] : []),
    ...(isVariable && version !== "2.0" ? [variableEncoder] : []),
    ...(mayCompress && compressZstd === null ? [zstdEncoder] : []),
  ];
}
