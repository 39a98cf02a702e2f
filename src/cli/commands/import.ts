/** `tiltyard import`: rows of a file to a table. */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Schema } from "apache-arrow";
import { type CreateTableRequest, type Progress, type RowsInput, TableAlreadyExistsError } from "tiltyard";
import { readCsv, readJsonLines, readParquet } from "tiltyard/files";
import { optionItems } from "../arguments/lists.js";
import { CommandMistake } from "../arguments/mistake.js";
import { schemaOfText } from "../arguments/schemaText.js";
import type { CommandCall } from "../call/call.js";
import { type CommandSpec, required } from "../call/command.js";
import { printJson, printNote } from "../output/print.js";
import { workBar } from "../output/progress.js";
import { countOf } from "../output/text.js";
import { FILE_FORMATS, type FileFormat, formatOfFile } from "../rows/formats.js";

const MODES = ["create", "append", "overwrite", "merge"] as const;

export const importCommand: CommandSpec = {
  usage: "import <table> <file>",
  summary: "Read rows from a file, or from standard input with -, into a table",
  examples: [
    "tiltyard import orders orders.csv",
    "tiltyard import orders more.parquet --mode append",
    "tiltyard import orders changed.jsonl --mode merge --on id",
    'tiltyard import places - --format csv --schema "id int64, name utf8" < places.csv',
  ],
  options: [
    {
      flags: "-f, --format <format>",
      text: "format of the file",
      choices: FILE_FORMATS,
      byDefault: "by its name",
    },
    {
      flags: "-m, --mode <mode>",
      text: "create the table, append rows, overwrite all rows, or merge rows by --on",
      choices: MODES,
      byDefault: "create",
    },
    { flags: "--on <columns>", text: "columns of the key of --mode merge" },
    {
      flags: "--schema <columns>",
      text: 'columns of a new table: "id int64 not null, name utf8", or @file with these or JSON of schema',
    },
    { flags: "--delimiter <text>", text: "text between the values of CSV", byDefault: "," },
    { flags: "--quote <text>", text: "text around values of CSV", byDefault: '"' },
    { flags: "--null <text>", text: "text that is null in CSV, besides the empty one", isList: true },
    { flags: "--no-header", text: "CSV has no line of names" },
    { flags: "--message <text>", text: "message of the commit" },
  ],
  reads: "branch",
  async run(call, name, path) {
    const file = required(path, "the file");
    const { options, terminal } = call;
    const mode = (options.mode as (typeof MODES)[number] | undefined) ?? "create";
    if ((mode === "merge") !== (options.on !== undefined)) {
      throw new CommandMistake("--mode merge and --on go together: --on names the columns of the key");
    }
    const format = formatOfFile(file, options.format);
    const schema = await schemaOption(options.schema as string | undefined);
    const table = await call.table(required(name, "the table"), true);
    const bar = await workBar(terminal, `import ${table.name}`, options.progress === false);
    let result: ImportResult;
    try {
      const data = rowsOf(call, file, format, schema, await watched(file, bar));
      // A Parquet file is read in any order, so that the rows tell the progress.
      const isByRows = format === "parquet" && file !== "-";
      const onProgress = isByRows ? (progress: Progress) => bar.draw(progress) : undefined;
      result = await write(call, table, mode, data, { schema, onProgress });
    } catch (error) {
      if (!(error instanceof TableAlreadyExistsError)) throw error;
      throw new CommandMistake(
        `table ${table.name} exists: add --mode append, --mode overwrite, or --mode merge --on KEY`,
        { cause: error },
      );
    } finally {
      bar.end();
    }
    if (options.json === true) printJson(terminal, { table: table.name, ...result });
    else printNote(terminal, `${resultText(result)} in ${table.name}, version ${result.version}`);
  },
};

interface ImportResult {
  readonly version: number;
  readonly inserted: number;
  readonly updated?: number;
}

const resultText = ({ inserted, updated }: ImportResult): string =>
  updated === undefined
    ? `${countOf(inserted, "row")}`
    : `${countOf(inserted, "new row")} and ${countOf(updated, "changed row")}`;

async function write(
  { signal, options, readPoint }: CommandCall,
  { handle, id }: Awaited<ReturnType<CommandCall["table"]>>,
  mode: (typeof MODES)[number],
  data: RowsInput,
  { schema, onProgress }: Pick<CreateTableRequest, "onProgress"> & { readonly schema?: Schema },
): Promise<ImportResult> {
  const change = { signal, onProgress, message: options.message as string | undefined };
  if (mode === "merge") {
    const on = optionItems("--on", options.on as string);
    const clauses = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
    const merged = await handle.mergeInsert(on, data, { ...clauses, ...change });
    return { version: merged.version, inserted: merged.numInsertedRows, updated: merged.numUpdatedRows };
  }
  if (mode === "create") {
    if (readPoint.branch !== undefined) {
      throw new CommandMistake(`--branch: a new table has only main; create ${id.join("/")} first`);
    }
    const created = await handle.create(data, { ...change, schema });
    return { version: created.version, inserted: created.numInsertedRows };
  }
  const inserted = await handle.insert(data, {
    ...change,
    schema,
    mode: mode === "append" ? "Append" : "Overwrite",
  });
  return { version: inserted.version, inserted: inserted.numInsertedRows };
}

async function schemaOption(text: string | undefined): Promise<Schema | undefined> {
  if (text === undefined) return undefined;
  if (!text.startsWith("@")) return schemaOfText(text);
  const path = text.slice(1);
  try {
    return schemaOfText(await readFile(path, "utf8"));
  } catch (error) {
    if (error instanceof CommandMistake) throw error;
    throw new CommandMistake(`--schema: ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Counts bytes that are read. */
type Watch = (bytes: number) => void;

/** Returns a function that shows how much of a file has been read. */
async function watched(file: string, bar: Awaited<ReturnType<typeof workBar>>): Promise<Watch> {
  const total = file === "-" ? undefined : (await stat(file).catch(() => null))?.size;
  let done = 0;
  return (bytes) => {
    done += bytes;
    bar.draw({ done, total, unit: "bytes" });
  };
}

function rowsOf(
  call: CommandCall,
  file: string,
  format: FileFormat,
  schema: Schema | undefined,
  watch: Watch,
): RowsInput {
  const { options, signal } = call;
  const { delimiter, quote, header } = options as Readonly<Record<string, string | undefined>>;
  const nullValues = options.null === undefined ? undefined : ["", ...(options.null as string[])];
  switch (format) {
    case "csv":
    case "tsv": {
      const between = delimiter ?? (format === "tsv" ? "\t" : undefined);
      const hasHeader = header as unknown as boolean | undefined;
      const csvForm = { delimiter: between, quote, header: hasHeader, nullValues };
      return readCsv(bytesOf(call, file, watch), { ...csvForm, schema, signal });
    }
    case "jsonl":
      return readJsonLines(bytesOf(call, file, watch), { schema, signal });
    case "parquet":
      return readParquet(file === "-" ? bytesOf(call, file, watch) : file, { schema, signal });
    default:
      return bytesOf(call, file, watch);
  }
}

/** Yields the bytes of a file, unpacked if it is packed by gzip. */
async function* bytesOf({ terminal }: CommandCall, file: string, watch: Watch): AsyncGenerator<Uint8Array> {
  const source = file === "-" ? terminal.stdin : createReadStream(file, { highWaterMark: 2 ** 18 });
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
      watch(bytes.byteLength);
      yield bytes;
    }
  };
  if (!/\.gz$/i.test(file)) return yield* counted();
  yield* Readable.from(counted()).compose(createGunzip()) as AsyncIterable<Uint8Array>;
}
