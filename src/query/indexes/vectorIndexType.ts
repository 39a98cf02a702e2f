/** Recorded type and metric of a vector index, even if this release cannot search it. */

import { parseBoundedJson } from "../../bytes/boundedJson.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { readLegacyMessage } from "../../file/container/legacyFile.js";
import { LegacyVectorIndex, METRICS, VectorIndexDetails } from "../../format/indexDetails.js";
import type { IndexMetadata } from "../../format/table.js";
import type { Metric } from "../../indexes/vector/distance/metric.js";
import { resolveIndexDirectory } from "../../table/fragments/fileLookup.js";
import { isJsonObject } from "../../table/versions/jsonValues.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { ReaderEnvironment } from "./versionSource.js";

/** File whose metadata tell the type, and their key. */
const FILE = "index.idx";
const KEY = "lance:index";

export interface VectorIndexType {
  /** `IVF_…`; undefined if unknown. */
  readonly indexType?: string;
  /** Undefined if unknown. */
  readonly distanceType?: Metric;
}

/** Types read from files, which are long in format 0.1. */
const fileTypes = new WeakMap<IndexMetadata, VectorIndexType>();

/** Returns the type from the manifest, else from the index file; nothing if neither can be read. */
export async function vectorIndexType(
  { table, file }: OpenVersion<ReaderEnvironment>,
  entry: IndexMetadata,
): Promise<VectorIndexType> {
  const recorded = typeOfDetails(entry) ?? fileTypes.get(entry);
  if (recorded !== undefined) return recorded;
  try {
    const directory = await resolveIndexDirectory(table, file.manifest, entry);
    const type = await typeOfFile(table.environment, `${directory}/${FILE}`);
    fileTypes.set(entry, type);
    return type;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return {};
  }
}

/** Returns the details of a vector index; null if invalid. */
export function vectorDetails({ name, indexDetails }: IndexMetadata): VectorIndexDetails | null {
  const value = indexDetails?.value ?? new Uint8Array(0);
  try {
    return VectorIndexDetails.decode(value, { path: `details of index ${name}`, byteOffset: 0 });
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return null;
  }
}

function typeOfDetails(entry: IndexMetadata): VectorIndexType | null {
  const details = vectorDetails(entry);
  if (details === null) return null;
  const { hnsw, pq, sq, rq, flat, metricType } = details;
  const codes = pq ? "PQ" : sq ? "SQ" : rq ? "RQ" : flat ? "FLAT" : null;
  return codes === null ? null : { indexType: `IVF_${hnsw ? "HNSW_" : ""}${codes}`, ...metricOf(metricType) };
}

/** @throws CorruptFileError; UnsupportedError */
async function typeOfFile(environment: ReaderEnvironment, path: string): Promise<VectorIndexType> {
  let text: string;
  try {
    const { descriptor } = await environment.openDataFile(path);
    text = new TextDecoder().decode(descriptor.schema?.metadata.get(KEY));
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    const legacy = await environment.handles.withHandle(path, (handle) => readLegacyMessage(handle, path));
    if (legacy === null) throw error;
    return typeOfLegacyFile(legacy.bytes, { path, byteOffset: legacy.byteOffset });
  }
  const { type, distance_type } = parseObject(text, path);
  return {
    ...(typeof type === "string" && /^IVF_[A-Z_]{2,20}$/.test(type) && { indexType: type }),
    ...metricOf((METRICS as readonly unknown[]).indexOf(distance_type)),
  };
}

function typeOfLegacyFile(
  bytes: Uint8Array,
  origin: { readonly path: string; readonly byteOffset: number },
): VectorIndexType {
  const { vectorIndex } = LegacyVectorIndex.decode(bytes, origin);
  if (vectorIndex === undefined) return {};
  const { stages, metricType } = vectorIndex;
  const isIvfPq = stages.some(({ ivf }) => ivf) && stages.some(({ pq }) => pq);
  return { ...(isIvfPq && { indexType: "IVF_PQ" }), ...metricOf(metricType) };
}

const metricOf = (number: number): { readonly distanceType?: Metric } => {
  const distanceType: Metric | undefined = METRICS[number];
  return distanceType === undefined ? {} : { distanceType };
};

/** True if the error means that an index cannot be read. Lists still show it; only its use fails. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof CorruptFileError || error instanceof UnsupportedError;

function parseObject(text: string, path: string): Record<string, unknown> {
  try {
    const value: unknown = parseBoundedJson(text);
    return isJsonObject(value) ? value : {};
  } catch (cause) {
    throw new CorruptFileError(path, 0, "the index type is not JSON", { cause });
  }
}
