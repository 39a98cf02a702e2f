/**
 * A user's choice of encodings for a column, in the metadata of its Arrow field:
 *
 *     lance-encoding:compression           zstd, lz4, fsst, none; anything else is refused
 *     lance-encoding:compression-level     a whole number, for zstd
 *     lance-encoding:rle-threshold         runs per value, 0 to 1, below which runs are stored; default: if
 *                                          it saves
 *     lance-encoding:bss                   byte-stream split before general compression: on, off, auto
 *     lance-encoding:dict-size-ratio       share of the plain size that a dictionary may take; default 0.8
 *     lance-encoding:structural-encoding   miniblock, fullzip
 *
 * They choose among encodings that fit the values; one that doesn't fit is ignored, as in the reference. In
 * version 2.0 only the first two have an effect, and only on strings and binaries.
 */

import { InvalidInputError } from "../../errors.js";

export interface CompressionOptions {
  readonly compression: "zstd" | "lz4" | "fsst" | "none" | null;
  readonly level: number | null;
  readonly rleThreshold: number | null;
  readonly byteStreamSplit: "on" | "off" | "auto";
  readonly dictionaryRatio: number;
  readonly structure: "miniblock" | "fullzip" | null;
}

const PREFIX = "lance-encoding:";
const COMPRESSIONS = ["zstd", "lz4", "fsst", "none"] as const;
const DEFAULT_DICTIONARY_RATIO = 0.8;

export const DEFAULT_COMPRESSION: CompressionOptions = {
  compression: null,
  level: null,
  rleThreshold: null,
  byteStreamSplit: "auto",
  dictionaryRatio: DEFAULT_DICTIONARY_RATIO,
  structure: null,
};

/**
 * Reads the options from a field's metadata. Malformed numbers and unknown modes of byte-stream split are
 * ignored, as in the reference.
 * @param path of the column, for messages
 * @throws InvalidInputError for an unknown compression or structural encoding, and for a dictionary ratio
 *   that is not above 0 and at most 1
 */
export function compressionOptions(metadata: ReadonlyMap<string, string>, path: string): CompressionOptions {
  if (metadata.size === 0) return DEFAULT_COMPRESSION;
  const read = (key: string): string | null => metadata.get(PREFIX + key) ?? null;
  return {
    compression: choice(read("compression"), COMPRESSIONS, "compression", path),
    level: levelOf(read("compression-level")),
    rleThreshold: numeric(read("rle-threshold")),
    byteStreamSplit: modeOf(read("bss")),
    dictionaryRatio: ratioOf(read("dict-size-ratio"), path),
    structure: choice(read("structural-encoding"), ["miniblock", "fullzip"], "structural-encoding", path),
  };
}

/**
 * Returns the options of version 2.0: the compression of strings and binaries, and its level. An unknown
 * compression is ignored there, as in the reference.
 */
export function arrayCompression(
  metadata: ReadonlyMap<string, string>,
): Pick<CompressionOptions, "compression" | "level"> {
  const compression = COMPRESSIONS.find((name) => name === metadata.get(`${PREFIX}compression`)) ?? null;
  return { compression, level: levelOf(metadata.get(`${PREFIX}compression-level`) ?? null) };
}

const levelOf = (level: string | null): number | null =>
  level !== null && /^[+-]?\d+$/.test(level) ? Number(level) : null;

function choice<T extends string>(
  value: string | null,
  names: readonly T[],
  key: string,
  path: string,
): T | null {
  if (value === null) return null;
  const chosen = names.find((name) => name === value);
  if (chosen === undefined) {
    throw new InvalidInputError(
      `column ${path}: ${PREFIX}${key} is "${value}", not one of ${names.join(", ")}`,
    );
  }
  return chosen;
}

function numeric(value: string | null): number | null {
  if (value === null || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

const modeOf = (value: string | null): CompressionOptions["byteStreamSplit"] =>
  value === "on" || value === "off" ? value : "auto";

function ratioOf(value: string | null, path: string): number {
  const ratio = numeric(value);
  if (ratio === null) return DEFAULT_DICTIONARY_RATIO;
  if (!(ratio > 0 && ratio <= 1)) {
    throw new InvalidInputError(
      `column ${path}: ${PREFIX}dict-size-ratio is ${ratio}, but must be above 0 and at most 1`,
    );
  }
  return ratio;
}
