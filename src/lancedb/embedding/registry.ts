/** Functions that embed values, by name, and how the metadata of tables records them. */

import type { EmbeddingFunction, EmbeddingFunctionConstructor } from "./embedding_function.js";
import { variables } from "./variables.js";

/** Result of creating a function: a promise if the function has to be initialized. */
export type CreateReturnType<T> = T extends { init: () => Promise<void> } ? Promise<T> : T;

/** Makes functions of one class. */
export interface EmbeddingFunctionCreate<T extends EmbeddingFunction> {
  create(options?: T["TOptions"]): CreateReturnType<T>;
}

/** A function, and the columns that it reads and writes. */
export interface EmbeddingFunctionConfig {
  sourceColumn: string;
  /** Default: `"vector"`. */
  vectorColumn?: string;
  function: EmbeddingFunction;
}

/** A function that was read from the metadata of a table, which always names the column it writes. */
export type ResolvedEmbeddingFunctionConfig = EmbeddingFunctionConfig & { vectorColumn: string };

/** One function in the metadata of a table. */
export type EmbeddingMetadataEntry = {
  name: string;
  sourceColumn: string;
  vectorColumn: string;
  model: EmbeddingFunction["TOptions"];
};

/** Key of a schema's metadata under which the functions are recorded. */
export const EMBEDDING_METADATA = "embedding_functions";

/** Column that a function writes if none is named. */
export const DEFAULT_VECTOR_COLUMN = "vector";

/** Names of classes in the registry. Subclasses that have none share the name of their parent. */
const names = new WeakMap<object, string>();

function nameOf(ctor: object): string {
  for (let each: object | null = ctor; each !== null; each = Object.getPrototypeOf(each)) {
    const name = names.get(each);
    if (name !== undefined) return name;
  }
  return (ctor as { name: string }).name;
}

/** The classes of embedding functions that a program has, by name. There is one: {@link getRegistry}. */
export class EmbeddingFunctionRegistry {
  readonly #constructors = new Map<string, EmbeddingFunctionConstructor>();

  /** Returns the number of classes. */
  length(): number {
    return this.#constructors.size;
  }

  /**
   * Returns a decorator that registers a class, under its own name if there is no alias.
   * @throws Error if the name is taken
   */
  register<T extends EmbeddingFunctionConstructor = EmbeddingFunctionConstructor>(
    this: EmbeddingFunctionRegistry,
    alias?: string,
    // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  ): (ctor: T) => any {
    return (ctor) => {
      const name = alias ?? ctor.name;
      if (this.#constructors.has(name)) {
        throw new Error(`Embedding function with alias "${name}" already exists`);
      }
      return this.setBuiltIn(name, ctor);
    };
  }

  /** Registers a class, in place of one of its name. */
  setBuiltIn<T extends EmbeddingFunctionConstructor = EmbeddingFunctionConstructor>(
    name: string,
    ctor: T,
  ): T {
    this.#constructors.set(name, ctor);
    names.set(ctor, name);
    return ctor;
  }

  /** Returns a maker of the functions of a name; undefined if there is no such class. */
  get<T extends EmbeddingFunction<unknown>>(name: string): EmbeddingFunctionCreate<T> | undefined {
    const ctor = this.#constructors.get(name);
    if (ctor === undefined) return undefined;
    const create = (options?: T["TOptions"]): EmbeddingFunction | Promise<EmbeddingFunction> => {
      const made = new ctor(options);
      return made.init === undefined ? made : made.init().then(() => made);
    };
    return { create: create as EmbeddingFunctionCreate<T>["create"] };
  }

  /** Removes all classes. Variables stay. */
  reset(this: EmbeddingFunctionRegistry): void {
    this.#constructors.clear();
  }

  /**
   * Returns the functions that the metadata of a table records, by the column that they write.
   * @ignore
   * @throws Error for a function that is not registered
   */
  async parseFunctions(
    this: EmbeddingFunctionRegistry,
    metadata: Map<string, string>,
  ): Promise<Map<string, ResolvedEmbeddingFunctionConfig>> {
    const json = metadata.get(EMBEDDING_METADATA);
    const functions = new Map<string, ResolvedEmbeddingFunctionConfig>();
    if (json === undefined) return functions;
    for (const { name, sourceColumn, vectorColumn, model } of parseEmbeddingMetadata(json)) {
      if (functions.has(vectorColumn)) {
        throw new Error(`Multiple embedding configs claim vector column "${vectorColumn}"`);
      }
      const maker = this.get(name);
      if (maker === undefined) throw new Error(`Function "${name}" not found in registry`);
      functions.set(vectorColumn, { sourceColumn, vectorColumn, function: await maker.create(model) });
    }
    return functions;
  }

  /** Returns the record of a function in the metadata of a table. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  functionToMetadata(conf: EmbeddingFunctionConfig): Record<string, any> {
    return {
      sourceColumn: conf.sourceColumn,
      vectorColumn: conf.vectorColumn ?? DEFAULT_VECTOR_COLUMN,
      name: nameOf(conf.function.constructor),
      model: conf.function.toJSON(),
    };
  }

  /** Returns the metadata of a table that has these functions. */
  getTableMetadata(functions: EmbeddingFunctionConfig[]): Map<string, string> {
    const records = functions.map((conf) => this.functionToMetadata(conf));
    return new Map([[EMBEDDING_METADATA, JSON.stringify(records)]]);
  }

  /**
   * Sets a variable. Options of functions name it as `$var:name`, or with a default as `$var:name:default`,
   * and the metadata of tables has only that text: API keys stay out of it. The name has no colons.
   */
  setVar(name: string, value: string): void {
    if (name.includes(":")) throw new Error("Variable names cannot contain colons");
    variables.set(name, value);
  }

  /** Returns the value of a variable. */
  getVar(name: string): string | undefined {
    return variables.get(name);
  }
}

const registry = new EmbeddingFunctionRegistry();

/** Returns the registry of the program. */
export function getRegistry(): EmbeddingFunctionRegistry {
  return registry;
}

/** Returns a decorator that registers a class of embedding functions. */
export function register(
  name?: string,
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
): (ctor: EmbeddingFunctionConstructor<EmbeddingFunction<any, any>>) => any {
  return registry.register(name);
}

/** @ignore Registers a class of this package. */
export function registerBuiltIn<T extends EmbeddingFunctionConstructor = EmbeddingFunctionConstructor>(
  name: string,
  ctor: T,
): T {
  return registry.setBuiltIn(name, ctor);
}

/**
 * Reads the functions that the metadata of a table records, in the spelling of any of LanceDB's languages.
 * @throws Error for text that is not such a record
 */
export function parseEmbeddingMetadata(json: string): EmbeddingMetadataEntry[] {
  const entries: unknown = JSON.parse(json);
  if (!Array.isArray(entries)) throw new Error("Embedding function metadata must be an array");
  return entries.map((entry: Record<string, unknown> | null) => {
    if (typeof entry !== "object" || entry === null) {
      throw new Error("Embedding function metadata must be an array of objects");
    }
    const { name, model } = entry;
    const sourceColumn = entry.sourceColumn ?? entry.source_column;
    const vectorColumn = entry.vectorColumn ?? entry.vector_column;
    if (typeof sourceColumn !== "string" || typeof vectorColumn !== "string") {
      throw new Error(`Embedding function "${name}" metadata names no source or vector column`);
    }
    return { name, sourceColumn, vectorColumn, model } as EmbeddingMetadataEntry;
  });
}
