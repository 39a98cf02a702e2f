/** Tokenize: cuts a text into tokens. This operation is not in the namespace spec. */

import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError, TableIndexNotFoundError, UnsupportedError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { Analyzer } from "../../indexes/text/analyzer.js";
import { type TextParameters, textParameters } from "../../indexes/text/parameters.js";
import { TextIndex } from "../../indexes/text/textIndex.js";
import type { Token, TokenizeRequest } from "../../namespace/indexes.js";
import { indexesOf, openIndexSegment, type UsableIndex } from "../../query/indexes/tableIndexes.js";
import { wordIndexOn } from "../../query/text/wordIndexes.js";
import { decodeSchema } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { optionalId, optionalString, requireTableId } from "../request.js";
import { requireString } from "../requestValues.js";
import { requireSnapshot } from "../snapshot.js";
import { textSettings } from "./indexRequest.js";

/** Maximum UTF-16 units of a text. */
const MAX_LENGTH = 1_000_000;
/** Maximum windows of characters. They are made in one step. */
const MAX_WINDOWS = 100_000;

export const tokenize: OperationBody<"tokenize"> = async (context, request, access) => {
  const column = optionalString(request.column, "column");
  const indexName = optionalString(request.indexName, "indexName");
  if (column === undefined && indexName === undefined) {
    if (optionalId(request.id).length > 0) {
      throw new InvalidInputError("id: column or indexName must name an index of the table");
    }
    return tokensOfText(request);
  }
  if (column !== undefined && indexName !== undefined) {
    throw new InvalidInputError("column and indexName: give one of them");
  }
  if (Object.keys(textSettings(request)).length > 0) {
    throw new InvalidInputError(
      "column and indexName: the index says how to cut, so other options do nothing",
    );
  }
  const text = readText(request.text);
  const snapshot = await requireSnapshot(context, { ...request, id: requireTableId(request.id) }, access);
  const index = await openedIndex(snapshot, { column, indexName }, requireTableId(request.id));
  return tokensOf(text, index.parameters, await index.analyzer(), request.signal);
};

/**
 * Cuts a text by the options of a request.
 * @throws InvalidInputError; UnsupportedError for a tokenizer that this release lacks
 */
export async function tokensOfText(request: TokenizeRequest): Promise<Token[]> {
  const text = readText(request.text);
  const parameters = textParameters(textSettings(request));
  return tokensOf(text, parameters, await Analyzer.load(parameters), request.signal);
}

/** Returns the text, which may be empty. */
function readText(value: unknown): string {
  const text = value === "" ? "" : requireString(value, "text");
  if (text.length <= MAX_LENGTH) return text;
  throw new InvalidInputError(`text: must have at most ${MAX_LENGTH} characters, not ${text.length}`);
}

async function tokensOf(
  text: string,
  { baseTokenizer, minNgramLength, maxNgramLength, prefixOnly }: TextParameters,
  analyzer: Analyzer,
  signal: AbortSignal | undefined,
): Promise<Token[]> {
  const windows = (prefixOnly ? 1 : text.length) * (maxNgramLength - minNgramLength + 1);
  if (baseTokenizer === "ngram" && windows > MAX_WINDOWS) {
    throw new InvalidInputError(`text: gives more than ${MAX_WINDOWS} windows of characters`);
  }
  const tokens: Token[] = [];
  // Positions count from the first kept token, like those of a phrase query.
  let first: number | null = null;
  await runAsync(
    analyzer.steps(text, (token, position) => {
      first ??= position;
      tokens.push({ text: token, position: position - first });
    }),
    signal,
  );
  return tokens;
}

/**
 * Opens a full-text index of a version.
 * @throws TableIndexNotFoundError; UnsupportedError if this release cannot read it
 */
async function openedIndex(
  snapshot: OpenVersion<OperationContext>,
  { column, indexName }: { readonly column: string | undefined; readonly indexName: string | undefined },
  tableId: readonly string[],
): Promise<TextIndex> {
  const fields = decodeSchema(snapshot.file.manifest.fields, snapshot.path);
  const label = column === undefined ? `index ${indexName}` : `index on column ${column}`;
  const usable = [...indexesOf(snapshot.file, fields).usable.values()].flat();
  const index: UsableIndex | undefined =
    column === undefined
      ? usable.find(({ name, kind }) => name === indexName && kind.name === "FTS")
      : wordIndexOn(column, snapshot, fields).index;
  if (index === undefined) {
    throw new TableIndexNotFoundError(`table ${formatIdentifier(tableId)} has no full-text ${label}`);
  }
  const open = await openIndexSegment(snapshot, snapshot.table.environment, index, index.segments[0]);
  if (open instanceof TextIndex) return open;
  throw new UnsupportedError(`this release cannot read the full-text ${label}`);
}
