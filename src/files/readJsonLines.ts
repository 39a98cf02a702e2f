/** Reads JSON lines: one object a line, as `docs/values.md` maps values. */

import type { RecordBatch } from "apache-arrow";
import { makeBatch } from "../arrow/exchange/batch.js";
import { type ObjectTypes, openObjects } from "../arrow/objects/objectBatches.js";
import { InvalidInputError, messageOf } from "../errors.js";
import { checkOptionMembers } from "../optionMembers.js";
import { type FileSource, filePieces } from "./byteSource.js";
import { positiveOption } from "./fileOptions.js";
import { emptyBatch, type FileReadOptions, type FileRows, fileRows } from "./fileRows.js";
import { type Lines, linesOf, MAX_RECORD_LENGTH } from "./textLines.js";

/** Options of {@link readJsonLines}. */
export interface ReadJsonLinesOptions extends FileReadOptions {
  /** Maximum length of a line, in characters. Default: 67,108,864. */
  readonly maxRecordLength?: number | undefined;
}

const NAME = "readJsonLines";
/** Maximum rows of a batch. The first ones decide which columns the rows have. */
const BATCH_ROWS = 8192;
/** Characters of lines that make a batch, whatever the number of its rows. */
const BATCH_CHARS = 2 ** 24;

/**
 * Reads a file of JSON lines (NDJSON): one JSON object a line. Blank lines are skipped.
 *
 * A table's columns decide the types of the values: ISO text becomes a date or timestamp, text of digits an
 * int64 or decimal, base64 text binary. Without a table or a `schema`, the first 8192 rows decide: numbers
 * are float64, texts utf8.
 *
 * @example
 * await ns.table("visits").insert(readJsonLines("visits.jsonl"));
 * @throws InvalidInputError naming the line, for one that is not an object in JSON
 * @throws TableSchemaValidationError naming row and column, for a value that does not fit
 */
export function readJsonLines(source: FileSource, options: ReadJsonLinesOptions = {}): FileRows {
  checkOptionMembers(NAME, options, ["schema", "signal", "maxRecordLength"]);
  const maxLength = positiveOption(`${NAME}.maxRecordLength`, options.maxRecordLength, MAX_RECORD_LENGTH);
  return fileRows(source, NAME, options, (types) =>
    batchesOf(linesOf(filePieces(source, NAME, options.signal), NAME, maxLength), types),
  );
}

async function* batchesOf(
  lines: ReturnType<typeof linesOf>,
  types: ObjectTypes,
): AsyncGenerator<RecordBatch> {
  const groups = groupsOf(lines);
  try {
    const source = { first: [], next: () => groups.next(), all: null, isGroups: true, isFromJson: true };
    const { schema, batches } = await openObjects(source, types);
    let isEmpty = true;
    for await (const { columns, rowCount } of batches) {
      isEmpty = false;
      yield makeBatch(schema, columns, rowCount);
    }
    if (isEmpty) yield emptyBatch(schema);
  } finally {
    await lines.return(undefined);
  }
}

/** Yields the objects of lines in groups that make a batch. */
async function* groupsOf(lines: AsyncIterable<Lines>): AsyncGenerator<object[]> {
  let group: object[] = [];
  let chars = 0;
  for await (const { firstLine, texts } of lines) {
    for (const [index, text] of texts.entries()) {
      if (text.trim() === "") continue;
      group.push(parseLine(text, firstLine + index));
      chars += text.length;
      if (group.length < BATCH_ROWS && chars < BATCH_CHARS) continue;
      yield group;
      group = [];
      chars = 0;
    }
  }
  if (group.length > 0) yield group;
}

function parseLine(text: string, line: number): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidInputError(`${NAME}: line ${line}: ${messageOf(error)}`, { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const kind = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
  throw new InvalidInputError(`${NAME}: line ${line} is ${kind}, not an object`);
}
