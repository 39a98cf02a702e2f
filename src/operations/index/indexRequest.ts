/** Reads requests for new indexes: the kind, and the settings of all kinds, even if the kind ignores them. */

import { InvalidInputError } from "../../errors.js";
import { isWellFormed } from "../../ident.js";
import { DEFAULT_TEXT_PARAMETERS } from "../../indexes/text/parameters.js";
import { LANGUAGES } from "../../indexes/text/stopWords.js";
import { GRAPH_MAXIMA } from "../../indexes/vector/graph/graphFiles.js";
import type {
  CodedIndexRequest,
  CreateTableIndexRequest,
  GraphIndexRequest,
  PlainIndexRequest,
  TextIndexRequest,
  TokenizerOptions,
  ZoneIndexRequest,
} from "../../namespace/indexes.js";
import { isSystemIndex } from "../../table/fragments/tableStatistics.js";
import { SCALAR_KINDS, TEXT_KINDS, VECTOR_KINDS } from "../../write/indexes/kindNames.js";
import { optionalBoolean, optionalCount, optionalString } from "../request.js";
import { optionalCountTo, requireString } from "../requestValues.js";

export type IndexFamily = "scalar" | "text" | "vector";

/** A kind of index that a request names. */
export interface AskedKind {
  readonly family: IndexFamily;
  readonly name: string;
}

/** Settings of all kinds. They are checked whatever the kind is. */
type AnySettings = Omit<
  PlainIndexRequest & ZoneIndexRequest & TextIndexRequest & CodedIndexRequest & GraphIndexRequest,
  "indexType"
> & { readonly indexType?: unknown };

export type TextSettings = Readonly<Record<string, string | number | boolean | string[]>>;

export interface AskedIndex {
  /** Path of the column. */
  readonly column: string;
  /** Null: the default for the column. */
  readonly kind: AskedKind | null;
  readonly name: string | null;
  readonly replaces: boolean;
  /** False for an index without rows. */
  readonly isTrained: boolean;
  /** Null: the default for the column. */
  readonly distance: string | null;
  readonly vector: Readonly<Record<string, number | undefined>>;
  /** Settings of scalar kinds, in the form of their builders. */
  readonly parameters: Readonly<Record<string, number>>;
  /** Settings of text indexes, in the form of their builder. */
  readonly text: TextSettings;
}

const MAX_NAME_BYTES = 200;
const MAX_ZONE_ROWS = 2 ** 20;
const DISTANCES = ["l2", "cosine", "dot", "hamming"];
/** Synonyms of kinds, without underscores and in one case. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  SCALAR: "BTREE",
  INVERTED: "FTS",
  FMINDEX: "FM",
  VECTOR: "IVF_PQ",
};
const FAMILIES: readonly (readonly [IndexFamily, readonly string[]])[] = [
  ["scalar", SCALAR_KINDS],
  ["text", TEXT_KINDS],
  ["vector", VECTOR_KINDS],
];

/**
 * Reads a request for a new index.
 * @param family `scalar`: allows only scalar and text indexes
 * @throws InvalidInputError
 */
export function readIndexRequest(asked: CreateTableIndexRequest, family: "any" | "scalar"): AskedIndex {
  const request = asked as AnySettings;
  const kind = kindOf(request.indexType, family);
  const distance = optionalString(request.distanceType, "distanceType")?.toLowerCase() ?? null;
  if (distance !== null && distance !== "euclidean" && !DISTANCES.includes(distance)) {
    throw new InvalidInputError(`distanceType: must be one of ${DISTANCES.join(", ")}, not ${distance}`);
  }
  const rowsPerZone = optionalCountTo(request.rowsPerZone, "rowsPerZone", MAX_ZONE_ROWS);
  return {
    column: requireString(request.column, "column"),
    kind,
    name: nameOf(request.name),
    replaces: optionalBoolean(request.replace, "replace") ?? false,
    isTrained: optionalBoolean(request.train, "train") ?? true,
    distance: distance === "euclidean" ? "l2" : distance,
    text: textSettings(request),
    vector: vectorSettings(request),
    parameters: rowsPerZone === undefined ? {} : { rowsPerZone },
  };
}

function kindOf(indexType: unknown, family: "any" | "scalar"): AskedKind | null {
  const text = optionalString(indexType, "indexType")?.trim();
  if (text === undefined) return null;
  const fold = (name: string): string => name.replaceAll("_", "").toUpperCase();
  const folded = fold(OTHER_NAMES[fold(text)] ?? text);
  const choices: string[] = [];
  for (const [each, names] of FAMILIES) {
    if (family === "scalar" && each === "vector") continue;
    const name = names.find((synonym) => fold(synonym) === folded);
    if (name !== undefined) return { family: each, name };
    choices.push(...names);
  }
  const shown = JSON.stringify(text.slice(0, 80));
  throw new InvalidInputError(`indexType: must be one of ${choices.join(", ")}, not ${shown}`);
}

/** Names appear in paths of the HTTP interface and in manifests, but never in file names. */
function nameOf(value: unknown): string | null {
  const name = optionalString(value, "name");
  if (name === undefined) return null;
  if (name === "" || !isWellFormed(name) || /\p{Cc}/u.test(name)) {
    throw new InvalidInputError("name: must be a text without control characters that is not empty");
  }
  if (new TextEncoder().encode(name).length > MAX_NAME_BYTES) {
    throw new InvalidInputError(`name: must be of at most ${MAX_NAME_BYTES} bytes of UTF-8`);
  }
  if (isSystemIndex(name)) throw new InvalidInputError(`name: the format reserves ${name}`);
  return name;
}

const TOKENIZERS = ["simple", "whitespace", "raw", "ngram", "icu", "icu/split"];
/** Tokenizers that only LanceDB has. The last two need models, whose names follow a slash. */
const OTHER_TOKENIZERS = /^(code|jieba|(jieba|lindera)\/.+)$/;
const BLOCK_SIZES = [128, 256];

/** Members of a request that set how a text is cut. */
type CutSettings = TokenizerOptions & Pick<TextIndexRequest, "withPosition" | "blockSize">;

/**
 * Reads how a text is cut.
 * @throws InvalidInputError naming the member
 */
export function textSettings(request: CutSettings): TextSettings {
  const tokenizer = optionalString(request.baseTokenizer, "baseTokenizer");
  // The build of a text index reports LanceDB's tokenizers as unsupported.
  if (tokenizer !== undefined && !TOKENIZERS.includes(tokenizer) && !OTHER_TOKENIZERS.test(tokenizer)) {
    throw new InvalidInputError(
      `baseTokenizer: must be one of ${TOKENIZERS.join(", ")}, not ${JSON.stringify(tokenizer.slice(0, 80))}`,
    );
  }
  const language = optionalString(request.language, "language");
  const knownLanguage = LANGUAGES.find((each) => each.toLowerCase() === language?.toLowerCase());
  if (language !== undefined && knownLanguage === undefined) {
    throw new InvalidInputError(
      `language: must be one of ${LANGUAGES.join(", ")}, not ${JSON.stringify(language.slice(0, 80))}`,
    );
  }
  const shortest = optionalCountTo(request.minNgramLength, "minNgramLength", 100);
  const longest = optionalCountTo(request.maxNgramLength, "maxNgramLength", 100);
  const greatest = longest ?? DEFAULT_TEXT_PARAMETERS.maxNgramLength;
  if ((shortest ?? DEFAULT_TEXT_PARAMETERS.minNgramLength) > greatest) {
    throw new InvalidInputError(
      `minNgramLength: must be at most maxNgramLength, ${greatest}, not ${shortest ?? DEFAULT_TEXT_PARAMETERS.minNgramLength}`,
    );
  }
  const blockSize = optionalCount(request.blockSize, "blockSize", 1);
  if (blockSize !== undefined && !BLOCK_SIZES.includes(blockSize)) {
    throw new InvalidInputError(`blockSize: must be 128 or 256, not ${blockSize}`);
  }
  const settings = {
    ...{
      baseTokenizer: tokenizer,
      language: knownLanguage,
      minNgramLength: shortest,
      maxNgramLength: longest,
      blockSize,
    },
    maxTokenLength: optionalCount(request.maxTokenLength, "maxTokenLength"),
    withPosition: optionalBoolean(request.withPosition, "withPosition"),
    lowerCase: optionalBoolean(request.lowerCase, "lowerCase"),
    stem: optionalBoolean(request.stem, "stem"),
    removeStopWords: optionalBoolean(request.removeStopWords, "removeStopWords"),
    asciiFolding: optionalBoolean(request.asciiFolding, "asciiFolding"),
    prefixOnly: optionalBoolean(request.prefixOnly, "prefixOnly"),
    customStopWords: stopWords(request.customStopWords),
  };
  // Windows of characters are not words, so stemming and stop words do not apply.
  const ofWindows: TextSettings = tokenizer === "ngram" ? { stem: false, removeStopWords: false } : {};
  const present = Object.entries(settings).flatMap(([member, value]) =>
    value === undefined ? [] : [[member, value] as const],
  );
  return { ...ofWindows, ...Object.fromEntries(present) };
}

function stopWords(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const words: unknown[] = Array.isArray(value) ? value : [null];
  if (words.every((word) => typeof word === "string")) return [...words];
  throw new InvalidInputError("customStopWords: must be a list of words");
}

/** Maximum values of numeric settings, far beyond useful values. */
const VECTOR_MAXIMA = {
  numPartitions: 1_000_000,
  numSubVectors: 65_536,
  numBits: 9,
  sampleRate: 1_000_000,
  maxIterations: 100_000,
  targetPartitionSize: 2 ** 32 - 1,
  ...GRAPH_MAXIMA,
} as const;

function vectorSettings(request: AnySettings): AskedIndex["vector"] {
  const members = Object.keys(VECTOR_MAXIMA) as (keyof typeof VECTOR_MAXIMA)[];
  return Object.fromEntries(
    members.map((member) => [member, optionalCountTo(request[member], member, VECTOR_MAXIMA[member])]),
  );
}

/**
 * Checks the settings of a vector index against its column and each other.
 * @param dimension number of values per vector
 * @throws InvalidInputError
 */
export function checkVectorSettings(
  { kind, distance, vector }: AskedIndex & { readonly kind: AskedKind; readonly distance: string },
  dimension: number,
  isBinary: boolean,
): void {
  if (isBinary !== (distance === "hamming")) {
    const allowed = isBinary ? "hamming, for vectors of uint8" : "l2, cosine or dot, for vectors of floats";
    throw new InvalidInputError(`distanceType: must be ${allowed}, not ${distance}`);
  }
  const { numSubVectors, numBits } = vector;
  if (kind.name.endsWith("PQ")) {
    if (numBits !== undefined && numBits !== 4 && numBits !== 8) {
      throw new InvalidInputError(`numBits: must be 4 or 8, not ${numBits}`);
    }
    if (numSubVectors !== undefined && dimension % numSubVectors !== 0) {
      throw new InvalidInputError(
        `numSubVectors: must divide ${dimension}, the dimension of the vectors, not ${numSubVectors}`,
      );
    }
    if (numBits === 4 && numSubVectors !== undefined && numSubVectors % 2 !== 0) {
      throw new InvalidInputError(`numSubVectors: must be even for numBits 4, not ${numSubVectors}`);
    }
  }
  if (kind.name === "IVF_RQ" && dimension % 8 !== 0) {
    throw new InvalidInputError(
      `column: vectors of an IVF_RQ index must have a multiple of 8 values, not ${dimension}`,
    );
  }
}
