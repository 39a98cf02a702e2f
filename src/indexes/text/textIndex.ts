/**
 * An open full-text index:
 *
 *     metadata.lance   deleted_fragments  binary, one row: ids of fragments whose documents are deleted
 *
 * and the files of its partitions (textPartition.ts). The metadata of the first file describes the tokenizer
 * and the layout of the others. LanceDB before 0.21 wrote only the files of one partition.
 */

import { decodeRoaring } from "../../bytes/roaring.js";
import { InternalError, UnsupportedError } from "../../errors.js";
import { BINARY_TYPE } from "../indexColumns.js";
import { OpenIndexFile } from "../indexFile.js";
import type { IndexFiles, OpenIndex } from "../kind.js";
import { Analyzer } from "./analyzer.js";
import { parseTextParameters, type TextParameters } from "./parameters.js";
import type { TailCodec } from "./postingBlocks.js";
import type { PositionLayout } from "./postingFile.js";
import { LEGACY_FILES, type PartitionForm, TextPartition } from "./textPartition.js";

export const METADATA_FILE = "metadata.lance";
export const DELETED_FRAGMENTS = "deleted_fragments";

/** Bounds against corrupt files. */
const MAX_PARTITIONS = 100_000;
const MAX_FRAGMENTS = 2 ** 26;
/** Approximate memory of an open file. */
const FILE_BYTES = 8192;

export class TextIndex implements OpenIndex {
  readonly kind = "FTS";
  #analyzer: Promise<Analyzer> | null = null;

  constructor(
    readonly parameters: TextParameters,
    readonly partitions: readonly TextPartition[],
    /** Fragments whose documents are deleted. */
    readonly deletedFragments: ReadonlySet<number>,
    /** Layout of the partitions; null before LanceDB 0.21. */
    readonly form: PartitionForm | null,
  ) {}

  /** @throws UnsupportedError if this release lacks the tokenizer */
  analyzer(): Promise<Analyzer> {
    this.#analyzer ??= Analyzer.load(this.parameters);
    return this.#analyzer;
  }

  get memoryWeight(): number {
    return FILE_BYTES * (1 + 3 * this.partitions.length);
  }

  /** Returns false: filters cannot use the index. */
  answers(): boolean {
    return false;
  }

  estimate(): never {
    throw new InternalError("a full-text index cannot answer a filter");
  }

  async search(): Promise<never> {
    throw new InternalError("a full-text index cannot answer a filter");
  }
}

/** @throws UnsupportedError for a layout or tokenizer that this release lacks; CorruptFileError */
export async function openTextIndex(files: IndexFiles): Promise<TextIndex> {
  const isLegacy = !(await files.has(METADATA_FILE)) && (await files.has(LEGACY_FILES.tokens));
  const index = isLegacy ? await openLegacyIndex(files) : await openPartitions(files);
  await index.analyzer();
  return index;
}

async function openPartitions(files: IndexFiles): Promise<TextIndex> {
  // LanceDB before 0.27 wrote only metadata to the file.
  const file = await OpenIndexFile.open(files, METADATA_FILE, [
    { name: DELETED_FRAGMENTS, type: BINARY_TYPE, nullable: true, isOptional: true },
  ]);
  const parameters = parametersIn(file, "params");
  const form = formOf(file, parameters);
  const partitions: TextPartition[] = [];
  for (const id of partitionIds(file)) partitions.push(await TextPartition.open(files, id, form));
  return new TextIndex(parameters, partitions, await deletedFragments(file), form);
}

/** Opens an index of LanceDB before 0.21: one partition, whose token file holds the parameters. */
async function openLegacyIndex(files: IndexFiles): Promise<TextIndex> {
  const file = await OpenIndexFile.open(files, LEGACY_FILES.tokens, []);
  const partition = await TextPartition.openLegacy(files);
  const parameters = { ...parametersIn(file, "tokenizer", "{}"), withPosition: partition.hasPositions };
  return new TextIndex(parameters, [partition], new Set(), null);
}

function parametersIn(file: OpenIndexFile, name: string, fallback = ""): TextParameters {
  const parameters = parseTextParameters(file.text(name) ?? fallback);
  if (parameters !== null) return parameters;
  throw new UnsupportedError(`${file.path}: this release does not support the tokenizer`);
}

function formOf(file: OpenIndexFile, { withPosition }: TextParameters): PartitionForm {
  const tokens = file.text("token_set_format") ?? "arrow";
  const tail = file.text("posting_tail_codec") ?? "fixed32_v1";
  const blockSize = file.count("posting_block_size", 128, 256);
  if (tokens !== "fst" && tokens !== "arrow") throw unknownForm(file, `token_set_format ${tokens}`);
  if (tail !== "varint_delta_v1" && tail !== "fixed32_v1") {
    throw unknownForm(file, `posting_tail_codec ${tail}`);
  }
  if (blockSize !== 128 && blockSize !== 256) throw unknownForm(file, `posting_block_size ${blockSize}`);
  const positions = withPosition ? positionLayout(file) : null;
  return { tokens, tail: tail as TailCodec, blockSize, positions };
}

function positionLayout(file: OpenIndexFile): PositionLayout {
  const layout = file.text("positions_layout");
  const codec = file.text("positions_codec");
  if (layout === null && codec === null) return "listed";
  if (layout === "shared_stream_v2" && codec === "packed_delta_v1") return "packed";
  throw unknownForm(file, `positions_layout ${layout} with positions_codec ${codec}`);
}

const unknownForm = ({ path }: OpenIndexFile, what: string): UnsupportedError =>
  new UnsupportedError(`${path} has ${what.slice(0, 100)}, which this release does not support`);

/** Ids are 64-bit integers, so they stay text. */
function partitionIds(file: OpenIndexFile): string[] {
  const text = file.text("partitions") ?? "";
  if (!/^\s*\[\s*(\d{1,20}\s*(,\s*\d{1,20}\s*)*)?\]\s*$/.test(text))
    file.fail("the metadata do not list the partitions");
  const ids = text.match(/\d+/g) ?? [];
  if (ids.length > MAX_PARTITIONS || new Set(ids).size < ids.length)
    file.fail("the metadata list partitions twice");
  return ids;
}

async function deletedFragments(file: OpenIndexFile): Promise<Set<number>> {
  if (file.rowCount === 0 || !file.has(DELETED_FRAGMENTS)) return new Set();
  const column = await file.column(DELETED_FRAGMENTS);
  if (column.kind !== "variable" || column.bytes.length === 0) return new Set();
  const { bytes, offsets } = column;
  const bitmap = bytes.subarray(Number(offsets[0]), Number(offsets[1]));
  return new Set(decodeRoaring(bitmap, MAX_FRAGMENTS, { path: file.path, byteOffset: 0 }));
}
