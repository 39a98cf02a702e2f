/** `tiltyard export`: rows of a table to a file. */

import { type CommandSpec, required } from "../call/command.js";
import { printJson, printNote } from "../output/print.js";
import { workBar } from "../output/progress.js";
import { countOf } from "../output/text.js";
import { FILE_FORMATS, formatOfFile } from "../rows/formats.js";
import { writeRowsTo } from "../rows/rows.js";
import { QUERY_OPTIONS, selectionOf } from "./query.js";

export const exportCommand: CommandSpec = {
  usage: "export <table> <file>",
  summary: "Write rows to a file, or to standard output with -",
  examples: [
    "tiltyard export orders orders.parquet",
    "tiltyard export orders - --format csv --where \"city = 'Oslo'\" > oslo.csv",
  ],
  options: [
    {
      flags: "-f, --format <format>",
      text: "format of the file",
      choices: FILE_FORMATS,
      byDefault: "by its name",
    },
    { flags: "-s, --select <columns>", text: 'columns or expressions: "id, price * 2 AS double"' },
    ...QUERY_OPTIONS,
    { flags: "--delimiter <text>", text: "text between the values of CSV", byDefault: "," },
    { flags: "--no-header", text: "write no line of names in CSV" },
  ],
  reads: "version",
  async run(call, name, path) {
    const file = required(path, "the file");
    const { options, terminal, signal } = call;
    const format = formatOfFile(file, options.format);
    const table = await call.table(required(name, "the table"));
    const request = { id: table.id, ...call.readPoint, ...selectionOf(call), signal };
    const rows = await table.namespace.queryTable(request);
    const isWhole = [options.where, options.limit, options.offset].every((option) => option === undefined);
    const total = isWhole ? await table.handle.countRows(undefined, undefined, { signal }) : undefined;
    const isQuiet = options.progress === false || file === "-";
    const bar = await workBar(terminal, `export ${table.name}`, isQuiet);
    let done = 0;
    const counted = {
      schema: rows.schema,
      async *[Symbol.asyncIterator]() {
        for await (const batch of rows) {
          bar.draw({ done, total, unit: "rows" });
          yield batch;
          done += batch.numRows;
        }
        bar.draw({ done, total: total ?? done, unit: "rows" });
      },
    };
    let rowCount: number;
    try {
      const { delimiter, header } = options as { readonly delimiter?: string; readonly header?: boolean };
      rowCount = await writeRowsTo(call, counted, format, file, { delimiter, header, signal });
    } finally {
      bar.end();
    }
    if (file === "-") return;
    if (options.json === true) printJson(terminal, { file, format, rows: rowCount });
    else printNote(terminal, `${countOf(rowCount, "row")} of ${table.name} in ${file}`);
  },
};
