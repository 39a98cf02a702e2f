/** The embedding functions of this package, by the names under which tables record them. */

import type { EmbeddingFunctionConstructor } from "./embedding_function.js";
import { OpenAIEmbeddingFunction } from "./openai.js";
import { TransformersEmbeddingFunction } from "./transformers.js";

export const BUILT_IN: ReadonlyMap<string, EmbeddingFunctionConstructor> = new Map<
  string,
  EmbeddingFunctionConstructor
>([
  ["openai", OpenAIEmbeddingFunction],
  ["huggingface", TransformersEmbeddingFunction],
]);
