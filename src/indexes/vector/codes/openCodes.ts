/** Opens the codes of an index, by their kind. */

import type { LogicalType } from "../../../arrow/types/type.js";
import type { OpenIndexFile } from "../../indexFile.js";
import { distanceToRow, fillDistances, queryVector } from "../distance/distance.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import { BYTE, type Codes, codeColumn, floatBits, oneByOne, storageMembers } from "./codes.js";
import { openProductCodes } from "./productCodes.js";
import { openRotatedCodes } from "./rotatedCodes.js";
import { openScalarCodes } from "./scalarCodes.js";
import type { CodeKind } from "./vectorKindNames.js";

/** @throws CorruptFileError; UnsupportedError */
export async function openCodes(
  kind: CodeKind,
  metric: Metric,
  file: OpenIndexFile,
  item: VectorItem,
  dimension: number,
): Promise<Codes> {
  switch (kind) {
    case "FLAT":
      storageMembers(file);
      return flatCodes(metric, item, dimension);
    case "PQ":
      return openProductCodes(metric, file, dimension);
    case "SQ":
      return openScalarCodes(metric, file, { item, dimension });
    case "RQ":
      return openRotatedCodes(metric, file, dimension);
  }
}

function flatCodes(metric: Metric, item: VectorItem, dimension: number): Codes {
  const codeType: LogicalType = item === "uint8" ? BYTE : { kind: "float", bits: floatBits(item) };
  return {
    columns: [codeColumn("flat", codeType, dimension)],
    needsPartition: false,
    memoryWeight: 0,
    model: { kind: "FLAT" },
    from(query) {
      const vector = queryVector(item, query);
      return {
        all: (_, codes, distances) => fillDistances(item, metric, [vector], codes, [distances]),
        some: (_, codes) => oneByOne(distanceToRow(item, metric, vector, codes)),
      };
    },
  };
}
