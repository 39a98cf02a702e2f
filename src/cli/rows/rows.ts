/** Prints rows: as a table, as JSON, or in the format of a file. */

import { createWriteStream } from "node:fs";
import { rename, unlink } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { QueryResult, Scan } from "tiltyard";
import { CommandMistake } from "../arguments/mistake.js";
import type { CommandCall } from "../call/call.js";
import { printLine, printNote } from "../output/print.js";
import { arrayChange, csvChange, jsonLinesChange, standardOutput } from "../output/sinks.js";
import { terminalColumns } from "../output/terminal.js";
import {
  arrowBytes,
  type ExportedRows,
  type FileFormat,
  type FormatOptions,
  isBinary,
  writeFileRows,
} from "./formats.js";

/** Rows that a query or a scan returns. */
export type PrintableRows = Scan | QueryResult;

/** Formats of printed rows. */
export const ROW_FORMATS = ["table", "csv", "tsv", "jsonl", "parquet", "arrow", "arrows"] as const;

/** Rows that a table shows unless a limit says otherwise. */
const SHOWN_ROWS = 100;
/** Maximum rows of a table. */
const MAX_SHOWN_ROWS = 10_000;

/**
 * Prints rows in the format that the options name.
 * @param limit number of rows that the caller asked for
 */
export async function printResult(call: CommandCall, rows: PrintableRows, limit?: number): Promise<void> {
  const format = (call.options.format as (typeof ROW_FORMATS)[number] | undefined) ?? "table";
  if (call.options.json === true) return printArray(call, rows);
  if (format === "table") {
    const shown = Math.min(limit ?? SHOWN_ROWS, MAX_SHOWN_ROWS);
    const text = await rows.print({
      limit: Math.max(1, shown),
      width: Math.min(terminalColumns(call.terminal), 10_000),
      write: false,
    });
    return printLine(call.terminal, text);
  }
  await writeRowsTo(call, rows, format, "-", { signal: call.signal });
}

async function printArray(call: CommandCall, rows: PrintableRows): Promise<void> {
  const { stdout } = call.terminal;
  stdout.write("[");
  await writeFileRows(rows, "jsonl", standardOutput(call.terminal, arrayChange()), { signal: call.signal });
  stdout.write("\n]\n");
}

/**
 * Writes rows to a file, or to standard output if the path is `-`.
 * @returns the number of rows
 */
export async function writeRowsTo(
  call: CommandCall,
  rows: ExportedRows,
  format: FileFormat,
  path: string,
  options: FormatOptions,
): Promise<number> {
  const { stdout } = call.terminal;
  if (path === "-" && isBinary(format) && stdout.isTTY === true) {
    throw new CommandMistake(`${format} is binary: send the output to a file or a pipe`);
  }
  if (format === "arrow" || format === "arrows") return writeArrow(call, rows, format, path);
  if (path !== "-") return writeFileRows(rows, format, path, options);
  const change =
    format === "jsonl" ? jsonLinesChange : isBinary(format) ? undefined : csvChange(call.terminal);
  return writeFileRows(rows, format, standardOutput(call.terminal, change), options);
}

async function writeArrow(
  { terminal, signal }: CommandCall,
  rows: ExportedRows,
  format: FileFormat,
  path: string,
): Promise<number> {
  let rowCount = 0;
  const count = (added: number) => {
    rowCount += added;
  };
  const bytes = arrowBytes(rows, format === "arrow", count);
  const write = (target: Writable) =>
    pipeline(Readable.from(bytes, { objectMode: false }), target, { signal });
  if (path === "-") {
    await write(standardOutput(terminal));
    return rowCount;
  }
  // An older file keeps its name until the new one is complete.
  const partial = `${path}.partial`;
  try {
    await write(createWriteStream(partial));
    await rename(partial, path);
  } catch (error) {
    await unlink(partial).catch((failure: NodeJS.ErrnoException) => {
      if (failure.code !== "ENOENT") printNote(terminal, `${partial} cannot be removed: ${failure.message}`);
    });
    throw error;
  }
  return rowCount;
}
