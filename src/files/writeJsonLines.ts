/** Writes JSON lines: one object a line, as `docs/values.md` maps values. */

import type { Schema } from "apache-arrow";
import { makeObjects } from "../arrow/objects/decodeValues.js";
import { checkOptionMembers } from "../optionMembers.js";
import { type FileTarget, writeTo } from "./byteSink.js";
import { choiceOption } from "./fileOptions.js";
import { valuesOf } from "./objectRows.js";
import { type FileWriteResult, openRows, type RowsToWrite } from "./rowsToWrite.js";

/** Options that all writers of files take. */
export interface FileWriteOptions {
  /** Columns of rows that are plain objects. Default: their types are inferred. Arrow rows have their own. */
  readonly schema?: Schema | undefined;
  /** Ends the writing, and leaves an older file of the path as it was. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link writeJsonLines}. */
export interface WriteJsonLinesOptions extends FileWriteOptions {
  /** Form of NaN and infinities: null, or the texts that the reader takes. Default: `"null"`. */
  readonly nonFinite?: "null" | "text" | undefined;
}

const NAME = "writeJsonLines";

/**
 * Writes rows as JSON lines (NDJSON): one JSON object a line. Decimals are text, and so are 64-bit integers
 * beyond 2^53. Dates and timestamps are ISO text, binary is base64, vectors are arrays.
 *
 * @example
 * await writeJsonLines(table.scan({ filter: "year = 2026" }), "visits.jsonl");
 * @returns the number of rows and bytes
 */
export async function writeJsonLines(
  rows: RowsToWrite,
  target: FileTarget,
  options: WriteJsonLinesOptions = {},
): Promise<FileWriteResult> {
  checkOptionMembers(NAME, options, ["schema", "signal", "nonFinite"]);
  const nonFinite = choiceOption(`${NAME}.nonFinite`, options.nonFinite, ["null", "text"] as const);
  const { schema, signal } = options;
  const input = await openRows(rows, signal, schema);
  const names = input.schema.fields.map(({ name }) => name);
  const encoder = new TextEncoder();
  try {
    return await writeTo(target, NAME, signal, async (sink) => {
      let rowCount = 0;
      let byteCount = 0;
      for await (const group of valuesOf(input, { dates: "iso", bigints: "safe", json: { nonFinite } })) {
        const objects = makeObjects(names, group.values, group.rowCount);
        const bytes = encoder.encode(objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
        await sink.write(bytes);
        rowCount += group.rowCount;
        byteCount += bytes.byteLength;
      }
      return { rowCount, byteCount };
    });
  } finally {
    await input.close();
  }
}
