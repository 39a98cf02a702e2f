/**
 * Functions that embed values when rows are written and searched.
 *
 * @module tiltyard/lancedb/embedding
 */

import { type DataType, Field, Schema } from "apache-arrow";
import { sanitizeType } from "../sanitizeTypes.js";
import { BUILT_IN } from "./builtIn.js";
import { type EmbeddingFunction, SOURCE_KEY, VECTOR_KEY } from "./embedding_function.js";
import {
  type EmbeddingFunctionConfig,
  type EmbeddingFunctionRegistry,
  getRegistry as registryOfProgram,
} from "./registry.js";

export {
  EmbeddingFunction,
  type EmbeddingFunctionConstructor,
  type FieldOptions,
  type FunctionOptions,
  TextEmbeddingFunction,
} from "./embedding_function.js";
export type {
  CreateReturnType,
  EmbeddingFunctionConfig,
  EmbeddingFunctionCreate,
  EmbeddingMetadataEntry,
  ResolvedEmbeddingFunctionConfig,
} from "./registry.js";
export { EmbeddingFunctionRegistry, parseEmbeddingMetadata, register } from "./registry.js";

/** Returns the registry of the program, with the functions of this package. */
export function getRegistry(): EmbeddingFunctionRegistry {
  const registry = registryOfProgram();
  for (const [name, ctor] of BUILT_IN) {
    if (registry.get(name) === undefined) registry.setBuiltIn(name, ctor);
  }
  return registry;
}

/**
 * Makes a schema. Its fields are types, or results of `sourceField` and `vectorField` of embedding functions.
 *
 * @example
 * ```ts
 * const embed = getRegistry().get("openai")!.create({ apiKey: "$var:key" });
 * const schema = LanceSchema({
 *   id: new Int32(),
 *   text: embed.sourceField(new Utf8()),
 *   vector: embed.vectorField(),
 * });
 * const table = await db.createTable("words", rows, { schema });
 * ```
 */
export function LanceSchema(
  fields: Record<string, [object, Map<string, EmbeddingFunction>] | object>,
): Schema {
  const sources = new Map<EmbeddingFunction, string>();
  const vectors: [EmbeddingFunction, string | undefined][] = [];
  const arrowFields = Object.entries(fields).map(([name, value]) => {
    if (!Array.isArray(value)) return new Field(name, typeOf(value), true);
    const [type, roles] = value as [object, Map<string, EmbeddingFunction> | undefined];
    const source = roles?.get(SOURCE_KEY);
    const writer = roles?.get(VECTOR_KEY);
    if (source !== undefined) sources.set(source, name);
    if (writer !== undefined) vectors.push([writer, name]);
    return new Field(name, typeOf(type), true);
  });
  const writers = new Set(vectors.map(([each]) => each));
  for (const each of sources.keys()) if (!writers.has(each)) vectors.push([each, undefined]);
  const configs = vectors.map(([each, vectorColumn]) => {
    const config = { sourceColumn: sources.get(each), vectorColumn, function: each };
    return config as EmbeddingFunctionConfig;
  });
  return new Schema(arrowFields, registryOfProgram().getTableMetadata(configs));
}

/** Returns the type of a field or a type of any copy of apache-arrow. */
function typeOf(value: unknown): DataType {
  const isField = typeof value === "object" && value !== null && "type" in value && "name" in value;
  return sanitizeType(isField ? value.type : value);
}
