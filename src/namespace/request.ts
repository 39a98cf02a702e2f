/**
 * What every request may have, and what several of them share. Names of requests and responses are the
 * namespace spec's in camelCase; maps supplied by users keep their keys. Types only: nothing here runs.
 */

/** The caller, as given in the request; the REST handler fills this from headers. */
export interface Identity {
  /** An API key. */
  readonly apiKey?: string;
  /** A bearer token. */
  readonly authToken?: string;
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
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** Members that every request may have. */
export interface RequestBase {
  /** As the caller gave it, unverified. */
  readonly identity?: Identity;
  /** Set by the code that verified the identity: the REST handler, or the program itself. */
  readonly principal?: Principal;
  /** Whatever the caller sends along, for `authorize`. The engine gives it no meaning. */
  readonly context?: Readonly<Record<string, string>>;
  /** Path of the object: namespaces, then the name. */
  readonly id?: readonly string[];
  /**
   * Aborting it ends the operation; changes that were not committed by then are dropped. The call rejects with a
   * ServiceUnavailableError, whose cause is the signal's reason.
   */
  readonly signal?: AbortSignal;
}

/** Members that every request about a table has. */
export interface TableRequest extends RequestBase {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
}

/**
 * A row as a plain object: values by the names of columns. Where rows go to a table that has columns, or a `schema` is
 * given, values are fitted to these; otherwise their types are inferred: numbers are float64, bigints int64, strings utf8,
 * dates timestamps of milliseconds in UTC, views of bytes binary, arrays lists, objects structs. Arrays of numbers are
 * vectors, fixed-size lists of float32, if all have one length of at least 2, or stand under the name `vector`.
 */
export type RowObject = Readonly<Record<string, unknown>>;

/** Properties of a namespace or table, for its users; the engine gives them no meaning. */
export type Properties = Readonly<Record<string, string>>;
