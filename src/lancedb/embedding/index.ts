/**
 * Functions that embed values when rows are written and searched.
 *
 * @module tiltyard/lancedb/embedding
 */

export * from "./embedding_function.js";
export * from "./registry.js";
