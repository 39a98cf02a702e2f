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
  repeatedInt32,
  repeatedMessage,
  repeatedString,
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

/** A rule that computes the shard of a row from columns. */
const ShardingField = message("ShardingField", {
  name: string(1),
  sourceFieldIds: repeatedInt32(2),
  /** `bucket`, `identity` or `unsharded`. */
  transform: string(3),
  /** Arrow type of the result, such as `int32`. */
  resultType: string(5),
  parameters: stringMapField(6),
});

/** Details of `__lance_mem_wal`: how writers of LanceDB divide rows among logs. It has no files. */
export const MemWalIndexDetails = message("MemWalIndexDetails", {
  numShards: uint32(2),
  shardingSpecs: repeatedMessage(
    7,
    message("ShardingSpec", { specId: uint32(1), fields: repeatedMessage(2, ShardingField) }),
  ),
  maintainedIndexes: repeatedString(8),
  writerConfigDefaults: stringMapField(11),
});
