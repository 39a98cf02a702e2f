/** Reads JSON lines: one object a line, as `docs/values.md` maps values. */

import type { RecordBatch } from "apache-arrow";
import { makeBatch } from "../arrow/exchange/batch.js";
import { noObjects, type ObjectTypes, openObjects } from "../arrow/objects/objectBatches.js";
import { InvalidInputError, messageOf } from "../errors.js";
import { checkOptionMembers } from "../optionMembers.js";
import { type FileSource, filePieces } from "./byteSource.js";
import { positiveOption } from "./fileOptions.js";
import { emptyBatch, type FileReadOptions, type FileRows, fileRows } from "./fileRows.js";
import { linesOf, MAX_RECORD_LENGTH } from "./textLines.js";

/** Options of {@link readJsonLines}. */
export interface ReadJsonLinesOptions extends FileReadOptions {
  /** Maximum length of a line, in characters. Default: 67,108,864. */
  readonly maxRecordLength?: number | undefined;
}

const NAME = "readJsonLines";
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
  const rows = new JsonRows(lines);
  try {
    const { schema, batches } = await openBatches(rows, types);
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

async function openBatches(rows: JsonRows, types: ObjectTypes) {
  const first = await rows.next();
  if (first.done !== true) {
    return openObjects(first.value, () => rows.next(), null, {
      ...types,
      isBatchFull: () => rows.isBatchFull(),
    });
  }
  const schema = types.schema ?? (await types.tableSchema?.()) ?? null;
  if (schema === null) throw new InvalidInputError(`${NAME}: the file has no rows; pass a schema`);
  return noObjects(schema);
}

/** The objects of lines. */
class JsonRows {
  readonly #lines: ReturnType<typeof linesOf>;
  #texts: readonly string[] = [];
  #firstLine = 1;
  #index = 0;
  #chars = 0;

  constructor(lines: ReturnType<typeof linesOf>) {
    this.#lines = lines;
  }

  async next(): Promise<IteratorResult<unknown>> {
    for (;;) {
      while (this.#index < this.#texts.length) {
        const text = this.#texts[this.#index++];
        if (text.trim() === "") continue;
        this.#chars += text.length;
        return { value: parseLine(text, this.#firstLine + this.#index - 1) };
      }
      const { done, value } = await this.#lines.next();
      if (done === true) return { done, value: undefined };
      this.#texts = value.texts;
      this.#firstLine = value.firstLine;
      this.#index = 0;
    }
  }

  isBatchFull(): boolean {
    if (this.#chars < BATCH_CHARS) return false;
    this.#chars = 0;
    return true;
  }
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
