/** Reads CSV. */

import { Field, type RecordBatch, Schema } from "apache-arrow";
import { makeBatch } from "../arrow/exchange/batch.js";
import { encodeValues } from "../arrow/objects/encodeValues.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { InvalidInputError, TableSchemaValidationError } from "../errors.js";
import { checkOptionMembers, shortly } from "../optionMembers.js";
import { type FileSource, filePieces } from "./byteSource.js";
import { type CsvFormat, csvFormat } from "./csvOptions.js";
import { type CsvRecord, CsvRecords } from "./csvRecords.js";
import { textParser } from "./csvTexts.js";
import { CsvTypeInference } from "./csvTypes.js";
import { firstRepeated, positiveOption } from "./fileOptions.js";
import { emptyBatch, type FileReadOptions, type FileRows, fileRows } from "./fileRows.js";
import { MAX_RECORD_LENGTH } from "./textLines.js";

/** Options of {@link readCsv}. */
export interface ReadCsvOptions extends FileReadOptions, CsvFormat {
  /**
   * True: the first line names the columns. False: columns have the names of the table or `schema`, in
   * order, or `column0`, `column1` and so on. A list: names for the columns of a file without a line of
   * names. Default: true.
   */
  readonly header?: boolean | readonly string[] | undefined;
  /**
   * Texts that are null. In columns of text, a text in quotes is never null. Default: `[""]`.
   */
  readonly nullValues?: readonly string[] | undefined;
  /** Maximum rows of a batch. Default: 8192. */
  readonly batchRows?: number | undefined;
  /** Maximum length of a record, in characters. Default: 67,108,864. */
  readonly maxRecordLength?: number | undefined;
}

const NAME = "readCsv";
const OPTIONS = [
  "schema",
  "signal",
  "delimiter",
  "quote",
  "header",
  "nullValues",
  "batchRows",
  "maxRecordLength",
];
const BATCH_ROWS = 8192;
/** Bytes of records that make a batch, whatever the number of its rows. */
const BATCH_BYTES = 2 ** 24;
/** Rows that the inference of types reads, and further ones while a column has only nulls. */
const INFERRED_ROWS = 8192;
const MAX_INFERRED_ROWS = 16 * INFERRED_ROWS;

/**
 * Reads a CSV file in UTF-8.
 *
 * A table's columns decide the types of the values: numbers, booleans (`true`, `false`, `1`, `0`), ISO
 * dates and times, base64 for binary, and JSON for lists, structs and maps. Without a table or a `schema`,
 * the first rows decide: bool, int64, float64, date32, timestamp in microseconds, or utf8.
 *
 * @example
 * await ns.table("orders").create(readCsv("orders.csv", { delimiter: ";" }));
 * @throws InvalidInputError naming the line, for a file that is not CSV
 * @throws TableSchemaValidationError naming row, line and column, for a value that does not fit
 */
export function readCsv(source: FileSource, options: ReadCsvOptions = {}): FileRows {
  checkOptionMembers(NAME, options, OPTIONS);
  const plan = {
    ...csvFormat(NAME, options),
    name: NAME,
    header: headerOption(options.header),
    nullValues: new Set(textsOption("nullValues", options.nullValues ?? [""])),
    batchRows: positiveOption(`${NAME}.batchRows`, options.batchRows, BATCH_ROWS),
    maxLength: positiveOption(`${NAME}.maxRecordLength`, options.maxRecordLength, MAX_RECORD_LENGTH),
  };
  return fileRows(source, NAME, options, (types) =>
    batchesOf(filePieces(source, NAME, options.signal), plan, types),
  );
}

interface CsvPlan {
  readonly name: string;
  readonly delimiter: string;
  readonly quote: string;
  readonly header: boolean | readonly string[];
  readonly nullValues: ReadonlySet<string>;
  readonly batchRows: number;
  readonly maxLength: number;
}

function headerOption(header: ReadCsvOptions["header"]): boolean | readonly string[] {
  if (header === undefined || typeof header === "boolean") return header ?? true;
  const names = textsOption("header", header);
  checkNames(names, "header");
  return names;
}

function textsOption(name: string, texts: unknown): readonly string[] {
  if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return texts;
  throw new InvalidInputError(`${NAME}.${name}: must be a list of texts, not ${shortly(texts)}`);
}

function checkNames(names: readonly string[], where: string): void {
  const unnamed = names.indexOf("");
  if (unnamed >= 0) {
    throw new InvalidInputError(`${NAME}: ${where}: column ${unnamed + 1} has no name; pass header: [names]`);
  }
  const repeated = firstRepeated(names);
  if (repeated !== undefined)
    throw new InvalidInputError(`${NAME}: ${where}: two columns are named ${repeated}`);
}

async function* batchesOf(
  pieces: AsyncGenerator<Uint8Array>,
  plan: CsvPlan,
  types: ObjectTypes,
): AsyncGenerator<RecordBatch> {
  const rows = new CsvRows(new CsvRecords(pieces, plan), plan);
  try {
    const schema = await rows.open(types);
    let isEmpty = true;
    for await (const batch of rows.batches(schema)) {
      isEmpty = false;
      yield batch;
    }
    if (isEmpty) yield emptyBatch(schema);
  } finally {
    await pieces.return(undefined);
  }
}

/** Rows of one reading of a file. */
class CsvRows {
  readonly #records: CsvRecords;
  readonly #plan: CsvPlan;
  /** Records that were read and are not in a batch yet. */
  #waiting: CsvRecord[] = [];
  #waitingBytes = 0;
  #isAtEnd = false;
  /** Names of the file's columns; null if it has none. */
  #names: readonly string[] | null = null;
  /** Columns of the batches: position in the file, or -1 for one that the file lacks. */
  #positions: readonly number[] = [];
  #width = 0;
  #hint: string | undefined;

  constructor(records: CsvRecords, plan: CsvPlan) {
    this.#records = records;
    this.#plan = plan;
  }

  /** Reads the names of the columns, and rows to infer types from. Returns the columns of the batches. */
  async open(types: ObjectTypes): Promise<Schema> {
    const { header } = this.#plan;
    await this.#fill(2);
    const isNamed = header === true && this.#waiting.length > 0;
    this.#names = typeof header === "object" ? header : isNamed ? this.#takeHeader() : null;
    const first: CsvRecord | undefined = this.#waiting[0];
    this.#width = this.#names?.length ?? first?.values.length ?? 0;
    const ofTable = types.schema === undefined ? ((await types.tableSchema?.()) ?? null) : null;
    const target = types.schema ?? ofTable;
    if (this.#width === 0) {
      if (target !== null && header !== true) return this.#ordered(target);
      throw new InvalidInputError(`${NAME}: the file is empty: it names no columns`);
    }
    if (target === null) return this.#inferred();
    return this.#names === null ? this.#ordered(target) : this.#named(this.#names, target, ofTable !== null);
  }

  #takeHeader(): string[] {
    const { line, values, byteLength } = this.#waiting.shift() as CsvRecord;
    this.#waitingBytes -= byteLength;
    const names = values.map((name) => name ?? "");
    checkNames(names, `line ${line}`);
    return names;
  }

  /** Pairs the columns of the file with those of a schema, in order. */
  #ordered(schema: Schema): Schema {
    const { fields } = schema;
    if (this.#width !== 0 && this.#width !== fields.length) {
      throw new TableSchemaValidationError(
        `${NAME}: the file has ${this.#width} columns without names, but ${fields.length} are wanted: ${namesOf(schema)}`,
      );
    }
    this.#width = fields.length;
    this.#positions = fields.map((_, index) => index);
    return schema;
  }

  /** @param isPartial true if columns that the file lacks are left out; otherwise they are null */
  #named(names: readonly string[], schema: Schema, isPartial: boolean): Schema {
    const columnNames = new Set(schema.fields.map(({ name }) => name));
    const unknown = names.find((name) => !columnNames.has(name));
    if (unknown !== undefined) {
      throw new TableSchemaValidationError(
        `${NAME}: there is no column ${unknown}; the columns are ${namesOf(schema)}`,
      );
    }
    const fields = isPartial ? schema.fields.filter(({ name }) => names.includes(name)) : schema.fields;
    this.#positions = fields.map(({ name }) => names.indexOf(name));
    return new Schema(fields, schema.metadata);
  }

  async #inferred(): Promise<Schema> {
    const names = this.#names ?? Array.from({ length: this.#width }, (_, index) => `column${index}`);
    const inferences = names.map(() => new CsvTypeInference());
    let seen = 0;
    const isWanted = () =>
      seen < INFERRED_ROWS || (seen < MAX_INFERRED_ROWS && inferences.some(({ hasValues }) => !hasValues));
    while (isWanted()) {
      await this.#fill(seen + 1);
      if (this.#waiting.length === seen) break;
      for (const { values } of this.#waiting.slice(seen)) {
        for (let index = 0; index < Math.min(values.length, names.length); index++) {
          const text = values[index];
          if (text !== null && !this.#plan.nullValues.has(text)) inferences[index].add(text);
        }
      }
      seen = this.#waiting.length;
    }
    if (!this.#isAtEnd) this.#hint = `the types are those of the first ${seen} rows; pass a schema`;
    this.#positions = names.map((_, index) => index);
    return new Schema(names.map((name, index) => new Field(name, inferences[index].type, true)));
  }

  /** Reads on until `count` records or the bytes of a batch wait, or the file ends. */
  async #fill(count: number): Promise<void> {
    while (this.#waiting.length < count && this.#waitingBytes < BATCH_BYTES && !this.#isAtEnd) {
      const records = await this.#records.take();
      if (records.length === 0) this.#isAtEnd = true;
      for (const record of records) {
        if (this.#isBlank(record)) continue;
        this.#waiting.push(record);
        this.#waitingBytes += record.byteLength;
      }
    }
  }

  /** True for an empty line, unless it is the null of a file with one column. */
  #isBlank({ values }: CsvRecord): boolean {
    const width = this.#width || this.#waiting[0]?.values.length;
    return values.length === 1 && (values[0] === null || values[0] === "") && width !== 1;
  }

  async *batches(schema: Schema): AsyncGenerator<RecordBatch> {
    let firstRow = 0;
    for (;;) {
      await this.#fill(this.#plan.batchRows);
      const records = this.#takeBatch();
      if (records.length === 0) return;
      yield await this.#batch(schema, records, firstRow);
      firstRow += records.length;
    }
  }

  #takeBatch(): CsvRecord[] {
    let count = 0;
    let bytes = 0;
    while (count < Math.min(this.#waiting.length, this.#plan.batchRows) && bytes < BATCH_BYTES) {
      bytes += this.#waiting[count++].byteLength;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  async #batch(schema: Schema, records: readonly CsvRecord[], firstRow: number): Promise<RecordBatch> {
    for (const { line, values } of records) this.#checkWidth(line, values.length);
    const columns = [];
    for (const [index, field] of schema.fields.entries()) {
      const position = this.#positions[index];
      const parse = textParser(field.type, this.#plan.nullValues);
      const values = records.map(({ values }) => (position < 0 ? null : parse(values[position])));
      columns.push(
        encodeValues(values, field, {
          path: field.name,
          hint: this.#hint,
          rowOf: (index) => firstRow + index,
          lineOf: (row) => records[row - firstRow].line,
        }),
      );
      await yieldToEventLoop();
    }
    return makeBatch(schema, columns, records.length);
  }

  #checkWidth(line: number, width: number): void {
    if (width === this.#width) return;
    const values = width === 1 ? "1 value" : `${width} values`;
    throw new InvalidInputError(`${NAME}: line ${line}: ${values} in a file of ${this.#width} columns`);
  }
}

const namesOf = ({ fields }: Schema): string => fields.map(({ name }) => name).join(", ");
