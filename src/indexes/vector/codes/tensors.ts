/** Checked tensors and JSON of vector index files. */

import { parseBoundedJson } from "../../../bytes/boundedJson.js";
import { CorruptFileError, UnsupportedError } from "../../../errors.js";
import { TENSOR_TYPES, type Tensor } from "../../../format/vectorIndex.js";
import type { OpenIndexFile } from "../../indexFile.js";
import { ITEM_BYTES, numbersIn, type VectorItem } from "../distance/metric.js";

/** Row-major numbers of vectors. */
export type TensorNumbers = Float32Array | Float64Array | Uint8Array;

export interface TensorValues {
  readonly item: VectorItem;
  readonly rowCount: number;
  readonly numbers: TensorNumbers;
}

/** Decodes a tensor of width `columns`. @throws CorruptFileError for another width; UnsupportedError */
export function tensorValues(
  { dataType, shape, data }: Tensor,
  file: OpenIndexFile,
  columns: number,
): TensorValues {
  const item = TENSOR_TYPES[dataType];
  if (item === undefined || item === "bfloat16") {
    throw new UnsupportedError(`${file.path}: this release does not read tensors of type ${dataType}`);
  }
  const [rowCount, width] = shape;
  if (shape.length !== 2 || width !== columns || rowCount * width * ITEM_BYTES[item] !== data.length) {
    file.fail(`a tensor of ${shape.join(" × ")} values in ${data.length} bytes, for vectors of ${columns}`);
  }
  return { item, rowCount, numbers: numbersIn(item, data.slice()) };
}

/** Parses a JSON object of a file. @throws CorruptFileError */
export function jsonMembers(file: OpenIndexFile, text: string | null): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseBoundedJson(text ?? "");
  } catch (cause) {
    throw new CorruptFileError(file.path, 0, "the metadata are not JSON", { cause });
  }
  if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  return file.fail("the metadata are not a JSON object");
}
