/** `tiltyard schema`: columns of a table. */

import type { Field } from "apache-arrow";
import { typeText } from "../arguments/typeText.js";
import { nameOfId } from "../call/call.js";
import { type CommandSpec, required } from "../call/command.js";
import { printJson, printNote, printTable } from "../output/print.js";

export const schemaCommand: CommandSpec = {
  usage: "schema <table>",
  summary: "Show the columns of a table, with types and indexes",
  examples: ["tiltyard schema orders", "tiltyard schema orders --json > columns.json"],
  reads: "version",
  async run(call, name) {
    const table = await call.table(required(name, "the table"));
    const { fields, metadata } = await table.handle.schema({ signal: call.signal });
    const indexes = await table.handle.indexes({ signal: call.signal });
    const indexesOf = (path: string) =>
      indexes
        .filter(({ columns }) => columns.includes(path))
        .map(({ indexName, indexType = "UNKNOWN" }) => ({ name: indexName, type: indexType }));
    const columns = fields
      .flatMap((field) => described(field, "", 0))
      .map((column) => ({
        ...column,
        indexes: indexesOf(column.path),
      }));
    if (call.options.json === true) {
      printJson(call.terminal, {
        table: nameOfId(table.id),
        columns: columns.map(({ depth: _, ...column }) => column).filter(({ path, name }) => path === name),
        metadata: Object.fromEntries(metadata),
      });
      return;
    }
    printTable(
      call.terminal,
      [{ name: "column" }, { name: "type" }, { name: "null" }, { name: "indexes" }],
      columns.map((column) => [
        "  ".repeat(column.depth) + column.name,
        column.type,
        column.nullable ? "yes" : "no",
        column.indexes.map((index) => `${index.name} (${index.type})`).join(", "),
      ]),
    );
    for (const [key, value] of metadata) printNote(call.terminal, `${key}: ${value}`);
  },
};

interface DescribedColumn {
  readonly name: string;
  readonly path: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly depth: number;
}

/** Returns a field and its members. */
function described(field: Field, parent: string, depth: number): DescribedColumn[] {
  const path = parent === "" ? field.name : `${parent}.${field.name}`;
  const members = `${field.type}`.startsWith("Struct") ? (field.type.children as Field[]) : [];
  return [
    {
      name: field.name,
      path,
      type: typeText(field),
      nullable: field.nullable,
      metadata: Object.fromEntries(field.metadata),
      depth,
    },
    ...members.flatMap((member) => described(member, path, depth + 1)),
  ];
}
