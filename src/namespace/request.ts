/**
 * Members that all requests, or several of them, have. Requests and responses use the names of the namespace
 * spec in camelCase. Maps supplied by users keep their keys. Types only.
 */

/** Unverified credentials of the caller. The REST handler reads them from HTTP headers. */
export interface Identity {
  /** An API key. */
  readonly apiKey?: string | undefined;
  /** A bearer token. */
  readonly authToken?: string | undefined;
}

/** The caller after verification. */
export interface Principal {
  /**
   * Name of the caller: the `sub` of a token; `api-key-` and the position in a list of API keys, counted from
   * 0; or `anonymous` for a caller without credentials. Changing the list changes which key a position names.
   * If permissions depend on the key, configure a function instead of a list.
   */
  readonly subject: string;
  /** Method of verification: `apiKey`, `bearer`, `anonymous`, or a name that the host's lookup returns. */
  readonly method: string;
  /** Claims of a verified token. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Path of an object: the names of its namespaces, then its own name. A string joins the parts with `$`:
 * `"sales$orders"` equals `["sales", "orders"]`.
 */
export type ObjectId = string | readonly string[];

/** A text that is accepted although completion does not offer it. */
export type OtherSpelling<Text extends string> = Text & { toString(): string };

/**
 * A choice. Completion offers the spelling in PascalCase. Also accepted: camelCase, lower case, upper case
 * and snake_case.
 */
export type AnyCase<Choice extends string> =
  | Choice
  | OtherSpelling<
      | Uncapitalize<Choice>
      | Lowercase<Choice>
      | Uppercase<Choice>
      | SnakeCase<Choice>
      | Uppercase<SnakeCase<Choice>>
    >;

/** `ExistOk` → `exist_ok`. */
export type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Lowercase<Head>}${Tail extends Uncapitalize<Tail> ? "" : "_"}${SnakeCase<Tail>}`
  : Name;

/** Members that every request may have. */
export interface RequestBase {
  /** Unverified credentials of the caller. */
  readonly identity?: Identity | undefined;
  /** The caller after verification. The REST handler or the program sets it. */
  readonly principal?: Principal | undefined;
  /** Values from the caller for `authorize`. The engine ignores them. */
  readonly context?: Readonly<Record<string, string>> | undefined;
  /** Path of the object that the request is about. */
  readonly id?: ObjectId | undefined;
  /**
   * Aborts the operation and drops uncommitted changes. The call then rejects with a ServiceUnavailableError
   * named `AbortError`; its cause is the signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Members that every request about a table may have. */
export interface TableRequest extends RequestBase {
  /** Path of the table: its namespaces, then its name. */
  readonly id: ObjectId;
}

/**
 * A row as a plain object that maps column names to values. If the table has columns, or the request a
 * `schema`, values are converted to those types. Otherwise the types are inferred:
 *
 * - number: float64; bigint: int64; string: utf8; Date: timestamp in milliseconds, UTC
 * - ArrayBuffer view: binary; array: list; object: struct
 * - arrays of numbers: fixed-size list of float32, if the column's name is `vector` or `embedding`, or ends
 *   in `_vector` or `_embedding`; otherwise list of float64
 * - typed arrays of one length: fixed-size list of their numbers
 */
// biome-ignore lint/suspicious/noExplicitAny: objects of an interface are none of unknown members, as it has no index
export type RowObject = Readonly<Record<string, any>>;

/** Properties for the users of a namespace or table. The engine ignores them. */
export type Properties = Readonly<Record<string, string>>;
