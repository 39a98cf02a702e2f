/** Base classes of functions that embed values. */

import { type DataType, type Float, Float32, Utf8 } from "apache-arrow";
import { isFixedSizeList, isFloat } from "../like.js";
import { sanitizeType } from "../sanitizeTypes.js";
import { type IntoVector, newVectorType } from "../vectors.js";
import { variables } from "./variables.js";

/** Options of an embedding function. Tables record them as JSON in their metadata. */
export interface FunctionOptions {
  // biome-ignore lint/suspicious/noExplicitAny: each function has options of its own
  [key: string]: any;
}

/** A class of embedding functions. */
export interface EmbeddingFunctionConstructor<T extends EmbeddingFunction = EmbeddingFunction> {
  new (modelOptions?: T["TOptions"]): T;
}

/** Type of a field, and the number of dimensions of its vectors. */
export interface FieldOptions<T extends DataType = DataType> {
  datatype: T;
  dims?: number;
}

/** Key for the function that reads a column, in the second part of a field of `LanceSchema`. */
export const SOURCE_KEY = "source_column_for";
/** Key for the function that writes a column. */
export const VECTOR_KEY = "vector_column_for";

/** Start of an option that names a variable of the registry, and perhaps a default after a further colon. */
const VARIABLE = "$var:";

const isVariable = (value: unknown): value is string =>
  typeof value === "string" && value.startsWith(VARIABLE);

/**
 * A function that makes vectors of the values of a column, when rows are written and when they are searched.
 *
 * A subclass hands its original options to `resolveVariables`, and uses what that returns: variables such as
 * `$var:key` stay in the metadata of tables, where their values would be seen.
 *
 * @example
 * ```ts
 * class MyFunction extends TextEmbeddingFunction {
 *   readonly #model: string;
 *   constructor(options: { model?: string } = {}) {
 *     super();
 *     this.#model = this.resolveVariables(options).model ?? "small";
 *   }
 *   async generateEmbeddings(texts: string[]) {
 *     return embed(this.#model, texts);
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
export abstract class EmbeddingFunction<T = any, M extends FunctionOptions = FunctionOptions> {
  /** @ignore Only the type checker uses it. */
  declare readonly TOptions: M;
  #options: Partial<M> = {};

  /** Returns the original options, from which the function can be made again. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  toJSON(): Record<string, any> {
    return this.#options;
  }

  /** Returns the options that must be variables, such as API keys. */
  protected getSensitiveKeys(): string[] {
    return [];
  }

  /**
   * Returns the options with the values of their variables.
   * @throws Error for a variable without value and default, and for a sensitive option that is none
   */
  protected resolveVariables(config: Partial<M>): Partial<M> {
    this.#options = config;
    for (const key of this.getSensitiveKeys()) {
      if (!Object.hasOwn(config, key) || config[key] === undefined || isVariable(config[key])) continue;
      throw new Error(
        `The key "${key}" is sensitive and cannot be set directly. Please use the $var: syntax to set it.`,
      );
    }
    const resolved = { ...config };
    for (const [key, value] of Object.entries(config)) {
      if (isVariable(value)) resolved[key as keyof M] = valueOfVariable(value) as M[keyof M];
    }
    return resolved;
  }

  /** Loads what the function needs, such as a model. It runs before the first embedding. */
  init?(): Promise<void>;

  /** Returns a field of `LanceSchema` that the function reads. */
  sourceField(
    optionsOrDatatype: Partial<FieldOptions> | DataType,
  ): [DataType, Map<string, EmbeddingFunction>] {
    const datatype = "datatype" in optionsOrDatatype ? optionsOrDatatype.datatype : optionsOrDatatype;
    if (datatype === undefined) throw new Error("Datatype is required");
    return [sanitizeType(datatype), new Map<string, EmbeddingFunction>([[SOURCE_KEY, this]])];
  }

  /** Returns a field of `LanceSchema` that the function writes. */
  vectorField(
    optionsOrDatatype?: Partial<FieldOptions> | DataType,
  ): [DataType, Map<string, EmbeddingFunction>] {
    return [this.#vectorType(optionsOrDatatype), new Map<string, EmbeddingFunction>([[VECTOR_KEY, this]])];
  }

  #vectorType(options: Partial<FieldOptions> | DataType = {}): DataType {
    const isOptions = !("typeId" in options);
    const datatype = isOptions ? (options as Partial<FieldOptions>).datatype : options;
    const type = datatype === undefined ? new Float32() : sanitizeType(datatype);
    if (isFixedSizeList(type)) return type;
    if (!isFloat(type)) throw new Error("Expected FixedSizeList or Float as datatype for vector field");
    const dims = this.ndims() ?? (isOptions ? (options as Partial<FieldOptions>).dims : undefined);
    if (dims === undefined) throw new Error("ndims is required for vector field");
    return newVectorType(dims, type);
  }

  /** Returns the number of dimensions of the vectors, if it is known. */
  ndims(): number | undefined {
    return undefined;
  }

  /** Returns the type of the items of the vectors. */
  abstract embeddingDataType(): Float;

  /** Returns the vectors of values, one for each. */
  abstract computeSourceEmbeddings(data: T[]): Promise<number[][] | Float32Array[] | Float64Array[]>;

  /** Returns the vector of a query. */
  async computeQueryEmbeddings(data: T): Promise<Awaited<IntoVector>> {
    return (await this.computeSourceEmbeddings([data]))[0];
  }
}

/** A function that makes vectors of texts. */
export abstract class TextEmbeddingFunction<
  M extends FunctionOptions = FunctionOptions,
> extends EmbeddingFunction<string, M> {
  /** Returns the vectors of texts, one for each. */
  abstract generateEmbeddings(
    texts: string[],
    // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
    ...args: any[]
  ): Promise<number[][] | Float32Array[] | Float64Array[]>;

  override async computeQueryEmbeddings(data: string): Promise<Awaited<IntoVector>> {
    return (await this.generateEmbeddings([data]))[0];
  }

  embeddingDataType(): Float {
    return new Float32();
  }

  override sourceField(): [DataType, Map<string, EmbeddingFunction>] {
    return super.sourceField(new Utf8());
  }

  computeSourceEmbeddings(data: string[]): Promise<number[][] | Float32Array[] | Float64Array[]> {
    return this.generateEmbeddings(data);
  }
}

function valueOfVariable(text: string): string {
  const [name, ...rest] = text.slice(VARIABLE.length).split(":");
  const value = variables.get(name) ?? (rest.length > 0 ? rest.join(":") : undefined);
  if (value === undefined) throw new Error(`Variable "${name}" not found`);
  return value;
}
