/**
 * Embeds texts by the API of OpenAI. The package `openai` is loaded with the first embedding.
 *
 * @module tiltyard/lancedb/embedding/openai
 */

import { type Float, Float32 } from "apache-arrow";
import { EmbeddingFunction } from "./embedding_function.js";
import { registerBuiltIn } from "./registry.js";

/** Options of {@link OpenAIEmbeddingFunction}. */
export type OpenAIOptions = {
  /** A variable such as `$var:openai_api_key`; by default the environment variable `OPENAI_API_KEY`. */
  apiKey: string;
  /** Default: `text-embedding-ada-002`. */
  model: string;
};

/** Members of OpenAI's client that this module uses. */
interface OpenAIClient {
  readonly embeddings: {
    create(request: {
      model: string;
      input: string | string[];
    }): Promise<{ data: readonly { embedding: number[] }[] }>;
  };
}

const DIMENSIONS: ReadonlyMap<string, number> = new Map([
  ["text-embedding-ada-002", 1536],
  ["text-embedding-3-small", 1536],
  ["text-embedding-3-large", 3072],
]);

/** Makes vectors of texts by OpenAI's models. */
export class OpenAIEmbeddingFunction extends EmbeddingFunction<string, Partial<OpenAIOptions>> {
  readonly #apiKey: string;
  readonly #model: string;
  #client: Promise<OpenAIClient> | undefined;

  constructor(optionsRaw: Partial<OpenAIOptions> = {}) {
    super();
    const { apiKey = process.env.OPENAI_API_KEY, model = "text-embedding-ada-002" } =
      this.resolveVariables(optionsRaw);
    if (apiKey === undefined || apiKey === "") throw new Error("OpenAI API key is required");
    this.#apiKey = apiKey;
    this.#model = model;
  }

  protected override getSensitiveKeys(): string[] {
    return ["apiKey"];
  }

  override ndims(): number {
    const dimensions = DIMENSIONS.get(this.#model);
    if (dimensions === undefined) throw new Error(`Unknown model: ${this.#model}`);
    return dimensions;
  }

  embeddingDataType(): Float {
    return new Float32();
  }

  async computeSourceEmbeddings(data: string[]): Promise<number[][]> {
    const { data: answers } = await this.#embed(data);
    return answers.map(({ embedding }) => embedding);
  }

  override async computeQueryEmbeddings(data: string): Promise<number[]> {
    if (typeof data !== "string") throw new Error("Data must be a string");
    const { data: answers } = await this.#embed(data);
    return answers[0].embedding;
  }

  async #embed(input: string | string[]) {
    this.#client ??= loadClient(this.#apiKey);
    return (await this.#client).embeddings.create({ model: this.#model, input });
  }
}

async function loadClient(apiKey: string): Promise<OpenAIClient> {
  let loaded: { default: unknown; OpenAI?: unknown };
  try {
    // A literal name, which bundlers can see.
    loaded = await import("openai");
  } catch (error) {
    throw new Error("please install openai@^4.24.1 using npm install openai", { cause: error });
  }
  const OpenAI = (loaded.OpenAI ?? loaded.default) as new (options: { apiKey: string }) => OpenAIClient;
  return new OpenAI({ apiKey });
}

registerBuiltIn("openai", OpenAIEmbeddingFunction);
