/** Details of an index as JSON text, with the members and values that LanceDB shows. */

import { METRICS } from "../../format/indexDetails.js";
import type { IndexMetadata } from "../../format/table.js";
import { isVectorTypeUrl } from "../../indexes/kinds/kinds.js";
import { textDetails } from "../../indexes/text/detailedParameters.js";
import { vectorDetails } from "../../query/indexes/vectorIndexType.js";

const ROTATIONS = ["fast", "matrix"] as const;

/**
 * Returns the details of an index; `{}` for an unknown form.
 * @param type type of the index. It may have the distance from the index file, which the details may lack
 */
export function detailsText(
  segment: IndexMetadata,
  { distanceType }: { readonly distanceType?: string },
): string {
  if (isVectorTypeUrl(segment.indexDetails?.typeUrl ?? "")) return vectorText(segment, distanceType);
  const text = textDetails(segment);
  if (text === null) return "{}";
  return JSON.stringify({
    ascii_folding: text.asciiFolding,
    base_tokenizer: text.baseTokenizer,
    block_size: text.blockSize,
    custom_stop_words: null,
    index_operators: false,
    lance_tokenizer: "text",
    language: text.language.replace(/^"(.*)"$/, "$1"),
    lower_case: text.lowerCase,
    max_ngram_length: text.maxNgramLength,
    max_token_length: text.maxTokenLength ?? null,
    min_ngram_length: text.minNgramLength,
    prefix_only: text.prefixOnly,
    preserve_original: false,
    remove_stop_words: text.removeStopWords,
    split_identifiers: false,
    split_on_numerics: false,
    stem: text.stem,
    with_position: text.withPosition,
  });
}

function vectorText(segment: IndexMetadata, distanceType: string | undefined): string {
  const details = vectorDetails(segment);
  if (details === null) return "{}";
  const { metricType, targetPartitionSize, hnsw, pq, sq, rq, runtimeHints } = details;
  const hints = [...runtimeHints].sort(([a], [b]) => (a < b ? -1 : 1));
  const codes = pq
    ? { num_bits: pq.numBits, num_sub_vectors: pq.numSubVectors, type: "pq" }
    : sq
      ? { num_bits: sq.numBits, type: "sq" }
      : rq && { num_bits: rq.numBits, rotation_type: ROTATIONS[rq.rotationType], type: "rq" };
  return JSON.stringify({
    compression: codes,
    hnsw: hnsw && {
      construction_ef: hnsw.constructionEf,
      max_connections: hnsw.maxConnections,
      max_level: hnsw.maxLevel,
    },
    metric_type: (distanceType ?? METRICS[metricType])?.toUpperCase(),
    runtime_hints: hints.length === 0 ? undefined : Object.fromEntries(hints),
    target_partition_size: targetPartitionSize || undefined,
  });
}
