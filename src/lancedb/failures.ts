/**
 * Errors as LanceDB's users know them: plain errors with the code `GenericFailure`, whose texts programs
 * match. Each has the engine's error as its cause, which says more.
 */

import { NamespaceError } from "../errors.js";

/** Code of every error that LanceDB's native layer throws. */
const CODE = "GenericFailure";

/** Returns an error with the code that LanceDB's errors have. */
export const failure = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code: CODE });

/** Returns the refusal of something that the drop-in does not have. The sentence names it. */
export const notSupported = (sentence: string, cause?: unknown): Error =>
  failure(`LanceDBError: not supported: ${sentence}`, cause);

/** Sentences for failures that share a class with others, by a pattern of the engine's text. */
const SENTENCES: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [/^timeout: the merge took longer/, () => "Runtime error: merge insert timed out"],
  [
    /the table has no column of vectors/,
    () => "No vector column found to match with the query vector dimension",
  ],
  [
    /there is an index (\S+) already/,
    ([, name]) =>
      `lance error: LanceError(Index): Index name '${name}' already exists, please specify a different name or use replace=True`,
  ],
  [
    /vector: has (\d+) dimensions, and the vectors of column (\S+) have (\d+)/,
    ([, dimension, column, wanted]) =>
      `lance error: Invalid user input: vector query dim(${dimension}) doesn't match the column ${column} vector dim(${wanted})`,
  ],
  [/column: (\S+) is not computed/, ([, column]) => `Column '${column}' is not a computed column`],
];

/**
 * Returns LanceDB's error for an error of the engine. Other errors pass through: they are the program's own,
 * such as those of its callbacks.
 * @param table name of the table that the call was about
 */
export function translated(error: unknown, table?: string): Error {
  if (!(error instanceof NamespaceError))
    return error instanceof Error ? error : failure(String(error), error);
  for (const [pattern, sentence] of SENTENCES) {
    const match = pattern.exec(error.message);
    if (match !== null) return failure(sentence(match), error);
  }
  return failure(sentenceOf(error, table), error);
}

function sentenceOf({ type, name, message }: NamespaceError, table: string | undefined): string {
  if (name === "AbortError") return "Query timeout";
  switch (type) {
    case "TableNotFound":
      return table === undefined ? `Table was not found: ${message}` : `Table '${table}' was not found`;
    case "TableAlreadyExists":
      return table === undefined ? `Table already exists: ${message}` : `Table '${table}' already exists`;
    case "NamespaceNotFound":
      return `lance error: Namespace error: Namespace not found: ${message}`;
    case "NamespaceAlreadyExists":
      return `lance error: Namespace error: Namespace already exists: ${message}`;
    case "NamespaceNotEmpty":
      return `lance error: Namespace error: Namespace not empty: ${message}`;
    case "TableVersionNotFound":
      return `lance error: Not found: ${message}: the version was not found`;
    case "TableBranchNotFound":
      return `lance error: Not found: ${message}: the branch does not exist`;
    case "TableTagNotFound":
      return `lance error: Ref not found error: ${message}: the tag does not exist`;
    case "TableTagAlreadyExists":
    case "TableBranchAlreadyExists":
      return `lance error: Ref conflict error: ${message}`;
    case "TableIndexNotFound":
      return `lance error: Lance index not found: ${message}`;
    case "TableIndexAlreadyExists":
      return `lance error: LanceError(Index): Index already exists: ${message}`;
    case "TableSchemaValidation":
      return schemaSentence(message);
    case "TableColumnNotFound":
      return `Invalid input, Schema error: No field named as in: ${message}`;
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

function schemaSentence(message: string): string {
  const isNull = /null/.test(message) && !/missing|no column|lack/.test(message);
  const sentence = isNull
    ? "declared as non-nullable but contains null values"
    : "Append with different schema";
  return `Invalid input, ${sentence}: ${message}`;
}
