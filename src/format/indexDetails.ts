/**
 * Details of indexes: the manifest's record beside an index's files, as the value of an `Any`. Those of
 * scalar indexes are empty. The files repeat the details and say more; readers use the files.
 */

import {
  bool,
  explicitUint32,
  int32,
  type MessageOf,
  message,
  repeatedMessage,
  string,
  stringMapField,
  submessage,
  uint32,
  uint64,
} from "./message.js";

/** Details of an index on vectors; possibly empty. */
export const VectorIndexDetails = message("VectorIndexDetails", {
  /** A {@link METRICS} number. */
  metricType: int32(1),
  /** Rows. */
  targetPartitionSize: uint64(2),
  hnsw: submessage(
    3,
    message("HnswIndexDetails", {
      maxConnections: uint32(1),
      constructionEf: uint32(2),
      maxLevel: uint32(3),
    }),
  ),
  pq: submessage(4, message("PqDetails", { numBits: uint32(1), numSubVectors: uint32(2) })),
  sq: submessage(5, message("SqDetails", { numBits: uint32(1) })),
  rq: submessage(6, message("RqDetails", { numBits: uint32(1), rotationType: int32(2) })),
  flat: submessage(8, message("FlatDetails", {})),
  /** Settings of the build that searches do not need. */
  runtimeHints: stringMapField(9),
});
export type VectorIndexDetails = MessageOf<typeof VectorIndexDetails>;

const LegacyStage = message(
  "VectorIndexStage",
  { ivf: submessage(2, message("Ivf", {}, true)), pq: submessage(3, message("Pq", {}, true)) },
  true,
);
/** `metricType` is a {@link METRICS} number. */
const LegacyDescription = message(
  "VectorIndex",
  { stages: repeatedMessage(3, LegacyStage), metricType: int32(4) },
  true,
);
/** Ends the only file of vector indexes of LanceDB before 0.19. */
export const LegacyVectorIndex = message("Index", { vectorIndex: submessage(5, LegacyDescription) }, true);

/** Distances by their numbers. */
export const METRICS = ["l2", "cosine", "dot", "hamming"] as const;

export const InvertedIndexDetails = message("InvertedIndexDetails", {
  baseTokenizer: string(1),
  /** The text of a JSON string, quotes included. */
  language: string(2),
  withPosition: bool(3),
  maxTokenLength: explicitUint32(4),
  lowerCase: bool(5),
  stem: bool(6),
  removeStopWords: bool(7),
  asciiFolding: bool(8),
  minNgramLength: uint32(9),
  maxNgramLength: uint32(10),
  prefixOnly: bool(11),
  blockSize: explicitUint32(12),
});
export type InvertedIndexDetails = MessageOf<typeof InvertedIndexDetails>;
