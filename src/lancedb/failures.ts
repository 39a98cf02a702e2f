/**
 * Errors as LanceDB's users know them: plain errors with the code `GenericFailure`, whose texts programs
 * match. Each has the engine's error as its cause, which says more.
 */

import { isError } from "../bytes/anyRealm.js";
import { NamespaceError } from "../errors.js";
import { serverText } from "./remote/serverErrors.js";

/** Code of every error that LanceDB's native layer throws. */
const CODE = "GenericFailure";

/** Returns an error with the code that LanceDB's errors have. */
export const failure = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code: CODE });

/** Returns the refusal of something that the drop-in does not have. The sentence names it. */
export const notSupported = (sentence: string, cause?: unknown): Error =>
  failure(`LanceDBError: not supported: ${sentence}`, cause);

/** Returns an error that also names the call, as LanceDB does for merges and queries. */
export function inCall(call: string, error: unknown): Error {
  if ((error as { readonly code?: unknown } | null)?.code !== CODE) return error as Error;
  const { message, cause } = error as Error;
  return failure(`${call}: ${CODE}, ${message}`, cause);
}

/** Returns the engine's error that an error stands for; undefined for other errors. */
export function engineErrorOf(error: unknown): NamespaceError | undefined {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  return cause instanceof NamespaceError ? cause : undefined;
}

/** Passes an error on, but for one of the engine that tells that the table is not there. */
export function ignoreMissingTable(error: unknown): undefined {
  if (engineErrorOf(error)?.type !== "TableNotFound") throw error;
}

/** LanceDB's sentence for a text of the engine. The groups of the pattern are its arguments. */
type Sentence = readonly [pattern: RegExp, sentence: (...groups: string[]) => string];

/** Sentences for failures that share a class with others. The engine's text stays in the cause. */
const SENTENCES: readonly Sentence[] = [
  [
    /^spec: no LSM write spec is set/,
    () => "Invalid input, unset_lsm_write_spec: no LSM write spec is set on this table",
  ],
  [
    /^spec: an LSM write spec is already set/,
    () =>
      "Invalid input, set_lsm_write_spec: an LSM write spec is already set on this table; mutation is not supported",
  ],
  [
    /the table has an LSM write spec, so its rows are written to the MemWAL/,
    () =>
      "LanceDBError: not supported: the table has an LSM write spec, and log-structured writes (MemWAL) are not there; call useLsm(false) to merge into the table, or unsetLsmWriteSpec",
  ],
  [/^(merge_insert: when an LSM write spec is set, .*)/, (text) => `Invalid input, ${text}`],
  [
    /has no full-text index on column (\S+)$/,
    (column) => `Invalid input, Column '${column}' does not have a full text search index`,
  ],
  [
    /has no full-text index (\S+)$/,
    (name) => `Invalid input, Index '${name}' is not a full text search index`,
  ],
  [/^timeout: the merge took longer/, () => "Runtime error: merge insert timed out"],
  [
    /the table has no column of vectors/,
    () => "No vector column found to match with the query vector dimension",
  ],
  [
    /index (\S+) already exists/,
    (name) =>
      `lance error: LanceError(Index): Index name '${name}' already exists, please specify a different name or use replace=True`,
  ],
  [
    /vector: has (\d+) dimensions, and the vectors of column (\S+) have (\d+)/,
    (dimension, column, wanted) =>
      `Invalid input, query dim(${dimension}) doesn't match the column ${column} vector dim(${wanted})`,
  ],
  [/column: (\S+) is not computed/, (column) => `Column '${column}' is not a computed column`],
  [/invalid table name ""/, () => 'Invalid table name (""): Table names cannot be empty strings'],
  [
    /invalid table name (".*")/,
    (name) =>
      `Invalid table name (${name}): Table names can only contain alphanumeric characters, underscores, hyphens, and periods`,
  ],
  [
    /column: (\S+), (.+), can't have an index of type (\w+)/,
    (column, type, kind) =>
      `Schema Error: A ${kind} index cannot be created on the field \`${column}\` which has data type ${type}`,
  ],
  [
    /indexType: is needed for column (\S+),/,
    (column) => `Invalid input, there are no indices supported for the field \`${column}\``,
  ],
  [
    /^not all columns of a table can be dropped/,
    () => "Invalid input, Cannot drop all columns from a dataset",
  ],
  [
    /^a merge needs one of/,
    () => "Invalid input, The merge insert job is not configured to change the data in any way",
  ],
  [
    /^on: must have a column/,
    () => "Invalid input, A merge insert operation requires join keys: specify `on` columns",
  ],
  [
    /^on: several of the rows have the same key/,
    () =>
      "Invalid input, Ambiguous merge inserts are prohibited: multiple source rows match the same target row",
  ],
];

/** Sentences about a column that is not there, by the engine's operation. */
const MISSING_COLUMN: Readonly<Record<string, (column: string) => string>> = {
  createTableIndex: (column) => `Schema Error: Field path \`${column}\` not found in schema`,
  alterTableAlterColumns: (column) => `Invalid input, Column "${column}" does not exist in the dataset`,
  alterTableDropColumns: (column) => `Invalid input, Column ${column} does not exist in the dataset`,
  alterTableBackfillColumns: (column) => `Column '${column}' was not found`,
  updateFieldMetadata: (column) => `lance error: Field '${column}' not found`,
  takeBlobs: (column) => `Invalid input, no column named '${column}' in this table`,
};

/**
 * Returns LanceDB's error for an error of the engine. Other errors pass through: they are the program's own,
 * such as those of its callbacks.
 * @param table name of the table that the call was about
 */
export function translated(error: unknown, table?: string): Error {
  if (!(error instanceof NamespaceError)) return isError(error) ? error : failure(String(error), error);
  const { cause } = error;
  // A source of headers fails a request with an error that has its text already.
  if (error.type === "Internal" && (cause as { readonly code?: unknown } | null)?.code === CODE) {
    return cause as Error;
  }
  const text = serverText(error);
  if (text !== undefined && error.type !== "TableNotFound" && error.type !== "TableAlreadyExists") {
    return failure(text, error);
  }
  for (const [pattern, sentence] of SENTENCES) {
    const match = pattern.exec(error.message);
    if (match !== null) return failure(sentence(...match.slice(1)), error);
  }
  return failure(sentenceOf(error, table), error);
}

function sentenceOf(error: NamespaceError, table: string | undefined): string {
  const { type, name, message, operation = "" } = error;
  if (name === "AbortError") return "Query timeout";
  switch (type) {
    case "TableNotFound":
      return table === undefined ? `Table was not found: ${message}` : `Table '${table}' was not found`;
    case "TableAlreadyExists":
      return table === undefined ? `Table already exists: ${message}` : `Table '${table}' already exists`;
    case "NamespaceNotFound":
      return ["describeTable", "dropTable"].includes(operation) && table !== undefined
        ? `Table '${table}' was not found`
        : `lance error: Namespace error: Namespace not found: ${message}`;
    case "NamespaceAlreadyExists":
      return `lance error: Namespace error: Namespace already exists: ${message}`;
    case "NamespaceNotEmpty":
      return `lance error: Namespace error: Namespace not empty: ${message}`;
    case "TableVersionNotFound":
      return `lance error: Not found: ${message}: the version was not found`;
    case "TableBranchNotFound":
      return `lance error: Ref not found error: Branch ${nameIn(message, /no branch (\S+)/)} does not exist: Not found`;
    case "TableTagNotFound":
      return `lance error: Ref not found error: tag ${nameIn(message, /no tag (\S+)/)} does not exist`;
    case "TableTagAlreadyExists":
    case "TableBranchAlreadyExists":
      return `lance error: Ref conflict error: ${message}`;
    case "TableIndexNotFound":
      return `lance error: Lance index not found: name=${nameIn(message, /no index (\S+)/)}`;
    case "TableSchemaValidation":
      return schemaSentence(message);
    case "TableColumnNotFound":
      return columnSentence(operation, message);
    case "ConcurrentModification":
      return `lance error: Retryable commit conflict: this transaction was preempted by concurrent transaction: ${message}`;
    case "Unsupported":
      return `LanceDBError: not supported: ${message}`;
    case "InvalidInput":
    case "InvalidTableState":
      return `Invalid input, ${message}`;
    default:
      return `lance error: ${message}`;
  }
}

/** Name in a text of the engine, or the whole text. */
const nameIn = (message: string, pattern: RegExp): string => pattern.exec(message)?.[1] ?? message;

/** The engine's text follows the sentence, because it has the place of the column and names near it. */
function columnSentence(operation: string, message: string): string {
  const column = nameIn(message, /(?:no column|^column|column) (\S+?)(?:[,;]| is not in|$)/);
  const sentence =
    MISSING_COLUMN[operation]?.(column) ?? `Invalid input, Schema error: No field named ${column}`;
  return `${sentence}. ${message}`;
}

function schemaSentence(message: string): string {
  const isNull = /null/.test(message) && !/missing|no column|lack/.test(message);
  const sentence = isNull
    ? "declared as non-nullable but contains null values"
    : "Append with different schema";
  return `Invalid input, ${sentence}: ${message}`;
}
