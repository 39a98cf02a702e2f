/** Reads CSV. */

import { Field, type RecordBatch, Schema } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { makeBatch } from "../arrow/exchange/batch.js";
import { encodeValues } from "../arrow/objects/encodeValues.js";
import type { ObjectTypes } from "../arrow/objects/objectBatches.js";
import { yieldToEventLoop } from "../async/eventLoop.js";
import { InvalidInputError, TableSchemaValidationError } from "../errors.js";
import { checkOptionMembers, shortly } from "../optionMembers.js";
import { type FileSource, filePieces } from "./byteSource.js";
import { cellTexts, columnOfCells, NullTexts } from "./csvColumns.js";
import { type CsvFormat, csvFormat } from "./csvOptions.js";
import { type CsvCells, CsvRecords } from "./csvRecords.js";
import { type CsvText, textParser } from "./csvTexts.js";
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
  /** Maximum length of a record, in bytes. Default: 67,108,864. */
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
    nulls: new NullTexts(textsOption("nullValues", options.nullValues ?? [""])),
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
  readonly nulls: NullTexts;
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
    await this.#records.fill(2);
    const isNamed = header === true && this.#records.waitingCount > 0;
    this.#names = typeof header === "object" ? header : isNamed ? this.#takeHeader() : null;
    const { recordCount, firstCells } = this.#records.waiting;
    this.#width = this.#names?.length ?? (recordCount > 0 ? firstCells[1] - firstCells[0] : 0);
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
    const cells = this.#records.take(1);
    const { firstCells, lines } = cells;
    const width = firstCells[1] - firstCells[0];
    const names = Array.from({ length: width }, (_, index) => this.#texts(cells, index)[0] ?? "");
    checkNames(names, `line ${lines[0]}`);
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
      await this.#records.fill(seen + INFERRED_ROWS);
      const { waiting } = this.#records;
      if (waiting.recordCount === seen) break;
      const added = laterCells(waiting, seen);
      this.#checkWidths(added);
      for (const [index, inference] of inferences.entries()) {
        for (const text of this.#texts(added, index)) {
          if (text !== null && !this.#plan.nulls.texts.has(text)) inference.add(text);
        }
        await yieldToEventLoop();
      }
      seen = waiting.recordCount;
    }
    if (!this.#records.isAtEnd) this.#hint = `the types are those of the first ${seen} rows; pass a schema`;
    this.#positions = names.map((_, index) => index);
    return new Schema(names.map((name, index) => new Field(name, inferences[index].type, true)));
  }

  #texts(cells: CsvCells, position: number): CsvText[] {
    return cellTexts(cells, position, this.#plan.quote, this.#plan.nulls);
  }

  async *batches(schema: Schema): AsyncGenerator<RecordBatch> {
    let firstRow = 0;
    for (;;) {
      await this.#records.fill(this.#plan.batchRows);
      const cells = this.#records.take(this.#plan.batchRows);
      if (cells.recordCount === 0) return;
      this.#checkWidths(cells);
      yield await this.#batch(schema, cells, firstRow);
      firstRow += cells.recordCount;
    }
  }

  async #batch(schema: Schema, cells: CsvCells, firstRow: number): Promise<RecordBatch> {
    const { quote, nulls } = this.#plan;
    const columns: Column[] = [];
    for (const [index, field] of schema.fields.entries()) {
      const position = this.#positions[index];
      const plain = position < 0 ? null : columnOfCells(cells, position, field, quote, nulls);
      columns.push(plain ?? this.#columnOfTexts(cells, position, field, firstRow));
      await yieldToEventLoop();
    }
    return makeBatch(schema, columns, cells.recordCount);
  }

  /** @param position -1 for a column that the file lacks */
  #columnOfTexts(cells: CsvCells, position: number, field: Field, firstRow: number): Column {
    const parse = textParser(field.type, this.#plan.nulls.texts);
    const values =
      position < 0 ? new Array(cells.recordCount).fill(null) : this.#texts(cells, position).map(parse);
    return encodeValues(values, field, {
      path: field.name,
      hint: this.#hint,
      rowOf: (index) => firstRow + index,
      lineOf: (row) => cells.lines[row - firstRow],
    });
  }

  #checkWidths({ recordCount, firstCells, lines }: CsvCells): void {
    for (let record = 0; record < recordCount; record++) {
      const width = firstCells[record + 1] - firstCells[record];
      if (width === this.#width) continue;
      const values = width === 1 ? "1 value" : `${width} values`;
      throw new InvalidInputError(
        `${NAME}: line ${lines[record]}: ${values} in a file of ${this.#width} columns`,
      );
    }
  }
}

/** Returns the cells of all records but the first ones. */
const laterCells = (cells: CsvCells, skipped: number): CsvCells => ({
  ...cells,
  recordCount: cells.recordCount - skipped,
  firstCells: cells.firstCells.subarray(skipped),
  lines: cells.lines.subarray(skipped),
});

const namesOf = ({ fields }: Schema): string => fields.map(({ name }) => name).join(", ");
