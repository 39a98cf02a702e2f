import type { Column } from "../../../arrow/columns/column.js";
import type { Tensor } from "../../../format/vectorIndex.js";
import type { FileColumnType } from "../../indexColumns.js";
import type { CodeModel } from "./codes.js";

/** Encodes vectors with a model. */
export interface Encoder {
  readonly model: CodeModel;
  /** Columns of the codes. */
  readonly columns: readonly FileColumnType[];
  /** Bytes of a vector's code. */
  readonly codeBytes: number;
  /** Null for encodings without one. */
  readonly codebook: Tensor | null;
  /** Returns the settings for readers. @param codebook number of its global buffer; 0 for none */
  storage(codebook: number): object;
  /** Multiplications per encoded vector. */
  readonly products: number;
  /** @param vectors row-major, with a partition each */
  encode(vectors: Float32Array, partitions: Uint32Array): Uint8Array;
  /** Cuts codes into the columns. Default: the only column, a fixed-size list. */
  columnsOf?(codes: Uint8Array, rowCount: number): Column[];
}
