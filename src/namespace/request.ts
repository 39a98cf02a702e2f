/**
 * What every request may have, and what several of them share. Names of requests and responses are the
 * namespace spec's in camelCase; maps supplied by users keep their keys. Types only: nothing here runs.
 */

/** The caller, as given in the request; the REST handler fills this from headers. */
export interface Identity {
  /** An API key. */
  readonly apiKey?: string | undefined;
  /** A bearer token. */
  readonly authToken?: string | undefined;
}

/** The caller, once verified. */
export interface Principal {
  /**
   * Name of the caller: the `sub` of a token; `api-key-` and the position of the key, from 0, for a list of API keys;
   * `anonymous` for a caller without credentials where such callers are allowed. A position in the list names another
   * key when the list changes: give a function instead of a list where rights depend on it.
   */
  readonly subject: string;
  /** How the caller was verified: `apiKey`, `bearer`, `anonymous`, or the name that a lookup of the host gives. */
  readonly method: string;
  /** The claims of a verified token. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Path of an object: the names of namespaces, then its own. As one text, its parts are joined by `$`, as `listAllTables`
 * gives them: `"sales$orders"` is `["sales", "orders"]`.
 */
export type ObjectId = string | readonly string[];

/** A choice in PascalCase, in any case, or in snake_case. */
export type AnyCase<Choice extends string> =
  | Choice
  | Uncapitalize<Choice>
  | Lowercase<Choice>
  | Uppercase<Choice>
  | SnakeCase<Choice>
  | Uppercase<SnakeCase<Choice>>;

/** `ExistOk` → `exist_ok`. */
export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Lowercase<Head>}${Tail extends Uncapitalize<Tail> ? "" : "_"}${SnakeCase<Tail>}`
  : Name;

/** Members that every request may have. */
export interface RequestBase {
  /** As the caller gave it, unverified. */
  readonly identity?: Identity | undefined;
  /** Set by the code that verified the identity: the REST handler, or the program itself. */
  readonly principal?: Principal | undefined;
  /** Whatever the caller sends along, for `authorize`. The engine gives it no meaning. */
  readonly context?: Readonly<Record<string, string>> | undefined;
  /** The object that the request is about. */
  readonly id?: ObjectId | undefined;
  /**
   * Aborting it ends the operation; changes that were not committed by then are dropped. The call rejects with a
   * ServiceUnavailableError of the name `AbortError`, whose cause is the signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Members that every request about a table has. */
export interface TableRequest extends RequestBase {
  /** Path of the table: its namespaces, then its name. */
  readonly id: ObjectId;
}

/**
 * A row as a plain object: values by the names of columns. Where rows go to a table that has columns, or a `schema` is
 * given, values are fitted to these; otherwise their types are inferred: numbers are float64, bigints int64, strings utf8,
 * dates timestamps of milliseconds in UTC, views of bytes binary, arrays lists, objects structs. Arrays of numbers are
 * vectors, fixed-size lists of float32, if all have one length of at least 2, or stand under the name `vector`.
 */
// biome-ignore lint/suspicious/noExplicitAny: objects of an interface are none of unknown members, as it has no index
export type RowObject = Readonly<Record<string, any>>;

/** Properties of a namespace or table, for its users; the engine gives them no meaning. */
export type Properties = Readonly<Record<string, string>>;
