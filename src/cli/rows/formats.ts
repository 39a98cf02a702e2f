/** Formats of rows in files: their names, the ends of file names that mean them, and their writers. */

import {
  AsyncByteQueue,
  type RecordBatch,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  type Schema,
} from "apache-arrow";
import type { NodeWritable } from "tiltyard/files";
import { writeCsv, writeJsonLines, writeParquet } from "tiltyard/files";
import { CommandMistake } from "../arguments/mistake.js";

/** Formats of files. `arrow` is the file format of Arrow IPC, `arrows` its stream format. */
export const FILE_FORMATS = ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const ENDINGS: Readonly<Record<string, FileFormat>> = {
  ...{ csv: "csv", tsv: "tsv", tab: "tsv", jsonl: "jsonl", ndjson: "jsonl", json: "jsonl" },
  ...{ parquet: "parquet", pq: "parquet", arrow: "arrow", feather: "arrow", ipc: "arrow", arrows: "arrows" },
};

/** True for formats that a terminal cannot show. */
export const isBinary = (format: string): boolean => ["parquet", "arrow", "arrows"].includes(format);

/**
 * Returns the format of a file.
 * @param option value of `--format`, which comes before the end of the name
 * @throws CommandMistake if neither tells the format
 */
export function formatOfFile(path: string, option: unknown): FileFormat {
  if (option !== undefined) return option as FileFormat;
  const [, ending] = /\.([a-z0-9]+)(?:\.gz)?$/i.exec(path) ?? [];
  const format = ending === undefined ? undefined : ENDINGS[ending.toLowerCase()];
  if (format !== undefined) return format;
  const what =
    path === "-" ? "standard input and output have no name" : `the name ${path} does not tell the format`;
  throw new CommandMistake(`${what}: add --format ${FILE_FORMATS.join(", --format ")}`);
}

/** Rows that know their schema. */
export interface ExportedRows extends AsyncIterable<RecordBatch> {
  readonly schema: Schema | (() => Promise<Schema>);
}

/** Options of files. */
export interface FormatOptions {
  readonly delimiter?: string;
  readonly header?: boolean;
  readonly signal: AbortSignal;
}

/** Writes rows to a path or a stream, and returns their number. */
export async function writeFileRows(
  rows: ExportedRows,
  format: Exclude<FileFormat, "arrow" | "arrows">,
  target: string | NodeWritable,
  { delimiter, header, signal }: FormatOptions,
): Promise<number> {
  switch (format) {
    case "csv":
      return (await writeCsv(rows, target, { delimiter, header, signal })).rowCount;
    case "tsv":
      return (await writeCsv(rows, target, { delimiter: delimiter ?? "\t", header, signal })).rowCount;
    case "jsonl":
      return (await writeJsonLines(rows, target, { signal })).rowCount;
    case "parquet":
      return (await writeParquet(rows, target, { signal })).rowCount;
  }
}

/** Bytes that a writer of Arrow has made and nobody has taken yet. */
class CollectedBytes extends AsyncByteQueue {
  readonly #pieces: Uint8Array[] = [];

  override write(piece: Uint8Array): void {
    if (piece.byteLength > 0) this.#pieces.push(piece);
  }

  take(): Uint8Array[] {
    return this.#pieces.splice(0);
  }
}

/**
 * Yields the bytes of rows as Arrow IPC. Memory holds one batch.
 * @param isFile true for the file format, false for the stream format
 * @param count learns of the rows of each batch
 */
export async function* arrowBytes(
  rows: ExportedRows,
  isFile: boolean,
  count: (rowCount: number) => void,
): AsyncGenerator<Uint8Array> {
  const bytes = new CollectedBytes();
  const writer = isFile ? new RecordBatchFileWriter() : new RecordBatchStreamWriter();
  const schema = typeof rows.schema === "function" ? await rows.schema() : rows.schema;
  writer.reset(bytes, schema);
  for await (const batch of rows) {
    writer.write(batch);
    count(batch.numRows);
    yield* bytes.take();
  }
  writer.finish();
  yield* bytes.take();
}
