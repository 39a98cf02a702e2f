/**
 * Embeds texts by models of the Transformers library, in this process. The package
 * `@huggingface/transformers` is loaded when the function is initialized.
 *
 * @module tiltyard/lancedb/embedding/transformers
 */

import { type Float, Float32 } from "apache-arrow";
import { EmbeddingFunction } from "./embedding_function.js";
import { registerBuiltIn } from "./registry.js";

/** Options of {@link TransformersEmbeddingFunction}. */
export type XenovaTransformerOptions = {
  /** Model, in a form for ONNX. Default: `Xenova/all-MiniLM-L6-v2`. */
  model: string;
  /** Tokenizer. Default: that of the model. */
  tokenizer?: string;
  /** Number of dimensions. Default: what the model's configuration tells as its size of hidden states. */
  ndims?: number;
  /** Options of the tokenizer. */
  tokenizerOptions?: {
    textPair?: string | string[];
    padding?: boolean | "max_length";
    addSpecialTokens?: boolean;
    truncation?: boolean;
    maxLength?: number;
  };
};

interface Tensor {
  readonly dims: readonly number[];
  tolist(): number[][];
}
interface Model {
  readonly config: { readonly hidden_size?: number };
  (inputs: unknown): Promise<{ last_hidden_state?: Tensor; logits?: Tensor; token_embeddings?: Tensor }>;
}
type Tokenizer = (texts: string | string[], options: object) => Promise<{ attention_mask: Tensor }>;
/** Members of the Transformers library that this module uses. */
interface Transformers {
  readonly AutoModel: { from_pretrained(name: string): Promise<Model> };
  readonly AutoTokenizer: { from_pretrained(name: string): Promise<Tokenizer> };
  mean_pooling(states: Tensor, mask: Tensor): Tensor & { normalize(): Tensor };
}

const DEFAULT_MODEL = "Xenova/all-MiniLM-L6-v2";

/** Makes vectors of texts by a model that runs in this process. */
export class TransformersEmbeddingFunction extends EmbeddingFunction<
  string,
  Partial<XenovaTransformerOptions>
> {
  readonly #options: Partial<XenovaTransformerOptions> & { readonly model: string };
  #loaded:
    | { readonly library: Transformers; readonly model: Model; readonly tokenizer: Tokenizer }
    | undefined;

  constructor(optionsRaw: Partial<XenovaTransformerOptions> = { model: DEFAULT_MODEL }) {
    super();
    const options = this.resolveVariables(optionsRaw);
    this.#options = { ...options, model: options.model ?? DEFAULT_MODEL };
  }

  override async init(): Promise<void> {
    let library: Transformers;
    try {
      // A literal name, which bundlers can see.
      library = await import("@huggingface/transformers");
    } catch (error) {
      throw new Error(`error loading @huggingface/transformers\nReason: ${error}`, { cause: error });
    }
    const { model: modelName, tokenizer: tokenizerName = modelName } = this.#options;
    const [model, tokenizer] = await Promise.all([
      library.AutoModel.from_pretrained(modelName),
      library.AutoTokenizer.from_pretrained(tokenizerName),
    ]);
    this.#loaded = { library, model, tokenizer };
  }

  override ndims(): number {
    const dimensions = this.#options.ndims ?? this.#loaded?.model.config.hidden_size;
    if (dimensions !== undefined) return dimensions;
    throw new Error(
      "The model does not tell its number of dimensions: pass the option ndims, or call init() first",
    );
  }

  embeddingDataType(): Float {
    return new Float32();
  }

  async computeSourceEmbeddings(data: string[]): Promise<number[][]> {
    if (this.#loaded === undefined) {
      throw new Error("something went wrong: embedding function not initialized. Please call init()");
    }
    const { library, model, tokenizer } = this.#loaded;
    const {
      textPair,
      padding = true,
      addSpecialTokens,
      truncation = true,
      maxLength,
    } = this.#options.tokenizerOptions ?? {};
    const inputs = await tokenizer(data, {
      text_pair: textPair,
      padding,
      add_special_tokens: addSpecialTokens,
      truncation,
      max_length: maxLength,
    });
    const { last_hidden_state, token_embeddings, logits } = await model(inputs);
    const states = last_hidden_state ?? token_embeddings ?? logits;
    if (states === undefined) throw new Error("The model returned no hidden states");
    return library.mean_pooling(states, inputs.attention_mask).normalize().tolist();
  }

  override async computeQueryEmbeddings(data: string): Promise<number[]> {
    return (await this.computeSourceEmbeddings([data]))[0];
  }
}

registerBuiltIn("huggingface", TransformersEmbeddingFunction);
