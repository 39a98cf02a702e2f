/** Scalar quantisation (SQ): each value becomes one of 256 equal steps between two bounds. */

import type { OpenIndexFile } from "../../indexFile.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import { BYTE, type Codes, codeColumn, storageMembers } from "./codes.js";
import { MAX_STEP_VALUES, stepSquaresInKernel } from "./stepSquaresKernel.js";

/** @throws CorruptFileError */
export function openScalarCodes(
  metric: Metric,
  file: OpenIndexFile,
  { item, dimension }: { readonly item: VectorItem; readonly dimension: number },
): Codes {
  const members = storageMembers(file);
  const { start, end } = (members.bounds ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof start !== "number" || typeof end !== "number" || !(end >= start)) {
    return file.fail(`the bounds are ${JSON.stringify(members.bounds)}`);
  }
  const width = (end - start) / 255;
  return {
    columns: [codeColumn("__sq_code", BYTE, dimension)],
    needsPartition: false,
    memoryWeight: 0,
    model: { kind: "SQ", start, end },
    from(query) {
      // Unit vectors are rounded to the column's type before encoding, like the indexed vectors.
      const steps = item === "float64" ? query.slice() : new Float64Array(new Float32Array(query));
      for (let index = 0; index < steps.length; index++) steps[index] = quantized(steps[index], start, end);
      const distanceAt = (codes: Uint8Array, first: number): number => {
        let sum = 0;
        if (metric === "dot") {
          for (let index = 0; index < dimension; index++)
            sum += query[index] * (start + codes[first + index] * width);
          return 1 - sum;
        }
        for (let index = 0; index < dimension; index++) {
          const difference = steps[index] - codes[first + index];
          sum += difference * difference;
        }
        return sum * width * width;
      };
      const queryCode = new Uint8Array(steps);
      /** Returns false without a kernel. */
      const squares = (codes: Uint8Array, rows: Uint32Array | null, count: number, sums: Float64Array) =>
        metric !== "dot" && stepSquaresInKernel(queryCode, codes, rows, count, sums);
      return {
        all(_, codes, distances) {
          const sums = new Float64Array(distances.length);
          const hasKernel = squares(codes, null, distances.length, sums);
          for (let row = 0; row < distances.length; row++)
            distances[row] = hasKernel ? sums[row] * width * width : distanceAt(codes, row * dimension);
        },
        ...(metric !== "dot" && dimension <= MAX_STEP_VALUES && { steps: { code: queryCode, width } }),
        some: (_, codes) => (rows, count, distances) => {
          const hasKernel = squares(codes, rows, count, distances);
          for (let index = 0; index < count; index++)
            distances[index] = hasKernel
              ? distances[index] * width * width
              : distanceAt(codes, rows[index] * dimension);
        },
      };
    },
  };
}

/** Rounds like the encoder, so that equal vectors have equal codes. */
const quantized = (value: number, start: number, end: number): number =>
  start === end ? 0 : Math.max(0, Math.min(255, Math.trunc(((value - start) * 255) / (end - start))));
