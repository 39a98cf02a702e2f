/** Index details of vector indexes, as the manifest records them. */

import { METRICS, VectorIndexDetails } from "../../../format/indexDetails.js";
import type { TableField } from "../../../schema/schema.js";
import type { IndexParameters, VectorKindName } from "../../kind.js";
import { defaultParts } from "../codes/defaultParts.js";
import { codeKindOf, hasGraphs } from "../codes/vectorKindNames.js";
import { vectorTypeOf } from "../distance/vectorType.js";
import { MAX_LEVELS } from "../graph/maxLevels.js";
import { DEFAULT_EF_CONSTRUCTION, DEFAULT_M } from "./buildTimes.js";
import type { VectorParameters } from "./writeIvf.js";

/** Encodes the details of an index with some parameters. */
export function vectorIndexDetails(
  kind: VectorKindName,
  settings: IndexParameters,
  field: TableField,
): Uint8Array {
  const parameters = settings as unknown as VectorParameters;
  const { distanceType, m = DEFAULT_M, efConstruction = DEFAULT_EF_CONSTRUCTION } = parameters;
  const graph = { maxConnections: m, constructionEf: efConstruction, maxLevel: MAX_LEVELS };
  return VectorIndexDetails.encode(
    VectorIndexDetails.create({
      metricType: METRICS.indexOf(distanceType),
      targetPartitionSize: parameters.targetPartitionSize ?? 0,
      ...(hasGraphs(kind) && { hnsw: graph }),
      ...codesOf(kind, parameters, vectorTypeOf(field)?.dimension ?? 1),
    }),
  );
}

function codesOf(
  kind: VectorKindName,
  { numBits, numSubVectors }: VectorParameters,
  dimension: number,
): Partial<VectorIndexDetails> {
  switch (codeKindOf(kind)) {
    case "FLAT":
      return { flat: {} };
    case "SQ":
      return { sq: { numBits: 8 } };
    case "PQ":
      return { pq: { numBits: numBits ?? 8, numSubVectors: numSubVectors ?? defaultParts(dimension) } };
    case "RQ":
      return { rq: { numBits: numBits ?? 1, rotationType: 0 } };
  }
}
