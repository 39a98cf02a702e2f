/** Writes CSV. */

import { stringify } from "csv-stringify/sync";
import { checkOptionMembers } from "../optionMembers.js";
import { type FileTarget, writeTo } from "./byteSink.js";
import { type CsvFormat, csvFormat } from "./csvOptions.js";
import { isCsvText } from "./csvTexts.js";
import { choiceOption } from "./fileOptions.js";
import { type RowGroup, valuesOf } from "./objectRows.js";
import { type FileWriteResult, openRows, type RowsToWrite } from "./rowsToWrite.js";
import type { FileWriteOptions } from "./writeJsonLines.js";

/** Options of {@link writeCsv}. */
export interface WriteCsvOptions extends FileWriteOptions, CsvFormat {
  /** True: the first line names the columns. Default: true. */
  readonly header?: boolean | undefined;
  /**
   * Form of texts that spreadsheets run as formulas: texts that begin with `=`, `+`, `-`, `@`, tab or return.
   * The option `"keep"` leaves them unchanged. With `"escape"` they get a `'` before them, which stays in the
   * text when it is read. Default: `"keep"`.
   */
  readonly formulas?: "keep" | "escape" | undefined;
}

const NAME = "writeCsv";
const OPTIONS = ["schema", "signal", "delimiter", "quote", "header", "formulas"];
const FORMULA = /^[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/;

/**
 * Writes rows as CSV in UTF-8, with a line of names. A null is empty; an empty text is `""`. Dates and
 * times are ISO text, binary is base64; lists, structs and maps are JSON.
 *
 * @example
 * await writeCsv(table.scan({ columns: ["id", "name"] }), "names.csv");
 * @returns the number of rows and bytes
 */
export async function writeCsv(
  rows: RowsToWrite,
  target: FileTarget,
  options: WriteCsvOptions = {},
): Promise<FileWriteResult> {
  checkOptionMembers(NAME, options, OPTIONS);
  const format = { ...csvFormat(NAME, options), record_delimiter: "\n", quoted_match: /^$|\r/ };
  const header = choiceOption(`${NAME}.header`, options.header, [true, false]);
  const escapes =
    choiceOption(`${NAME}.formulas`, options.formulas, ["keep", "escape"] as const) === "escape";
  const { schema, signal } = options;
  const input = await openRows(rows, signal, schema);
  const { fields } = input.schema;
  const guarded = fields.map(({ type }) => escapes && isCsvText(type));
  const encoder = new TextEncoder();
  const escaped = (text: string) => (FORMULA.test(text) ? `'${text}` : text);
  try {
    return await writeTo(target, NAME, signal, async (sink) => {
      let rowCount = 0;
      let byteCount = 0;
      const write = async (records: readonly (readonly (string | null)[])[]): Promise<void> => {
        const bytes = encoder.encode(
          stringify(records as (string | null)[][], { ...format, escape: format.quote }),
        );
        await sink.write(bytes);
        byteCount += bytes.byteLength;
      };
      if (header) await write([fields.map(({ name }) => (escapes ? escaped(name) : name))]);
      for await (const group of valuesOf(input, FORMS)) {
        const records = recordsOf(group);
        for (const [index, isGuarded] of guarded.entries()) {
          if (isGuarded)
            for (const record of records) if (record[index] !== null) record[index] = escaped(record[index]);
        }
        await write(records);
        rowCount += group.rowCount;
      }
      return { rowCount, byteCount };
    });
  } finally {
    await input.close();
  }
}

/** Floats that are not numbers of JSON are texts, which the reader takes. */
const FORMS = { dates: "iso", bigints: "safe", json: { nonFinite: "text" } } as const;

function recordsOf({ values, rowCount }: RowGroup): (string | null)[][] {
  const columns = values.map((column) => column.map(textOf));
  return Array.from({ length: rowCount }, (_, row) => columns.map((column) => column[row]));
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Object.is(value, -0)) return "-0";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
