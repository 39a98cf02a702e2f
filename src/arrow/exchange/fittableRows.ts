/**
 * Rows whose types the target may decide: those of files (`tiltyard/files`). The name of the method is
 * global, because the entry points of a program may be ES modules and CommonJS at once.
 */

import type { RecordBatch } from "apache-arrow";
import type { ObjectTypes } from "../objects/objectBatches.js";

/** Name of the method that reads rows with the types of a target. */
export const FIT_ROWS = Symbol.for("tiltyard.fitRows");

/** Rows that can be read with the types of a target. */
export interface FittableRows extends AsyncIterable<RecordBatch> {
  /** Reads the rows. The first batch has the schema, even if there are no rows. */
  [FIT_ROWS](types: ObjectTypes): AsyncIterable<RecordBatch>;
}

/** True for rows whose types the target may decide. */
export const isFittable = (data: unknown): data is FittableRows =>
  typeof data === "object" && data !== null && typeof (data as FittableRows)[FIT_ROWS] === "function";
