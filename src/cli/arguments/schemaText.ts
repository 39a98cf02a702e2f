/**
 * Reads the columns of `--schema`: names and types as in SQL, or JSON of `tiltyard schema --json`.
 *
 *     id int64 not null, name utf8, tags list<utf8>, point struct<x float64, y float64>, v vector(384)
 */

import type { Schema } from "apache-arrow";
import * as tiltyard from "tiltyard";
import { optionItems } from "./lists.js";
import { CommandMistake } from "./mistake.js";

type Column = tiltyard.ColumnDefinition<unknown>;

const PLAIN: Readonly<Record<string, () => Column>> = {
  ...{ bool: tiltyard.bool, boolean: tiltyard.bool },
  ...{ int8: tiltyard.int8, int16: tiltyard.int16, int32: tiltyard.int32, int64: tiltyard.int64 },
  ...{ uint8: tiltyard.uint8, uint16: tiltyard.uint16, uint32: tiltyard.uint32, uint64: tiltyard.uint64 },
  ...{ tinyint: tiltyard.int8, smallint: tiltyard.int16, int: tiltyard.int32, integer: tiltyard.int32 },
  ...{ bigint: tiltyard.int64, float16: tiltyard.float16, halffloat: tiltyard.float16 },
  ...{ float32: tiltyard.float32, float: tiltyard.float32, real: tiltyard.float32 },
  ...{ float64: tiltyard.float64, double: tiltyard.float64 },
  ...{ utf8: tiltyard.utf8, string: tiltyard.utf8, text: tiltyard.utf8, varchar: tiltyard.utf8 },
  ...{ largeutf8: tiltyard.largeUtf8, large_utf8: tiltyard.largeUtf8, json: tiltyard.json },
  ...{ binary: tiltyard.binary, bytes: tiltyard.binary, large_binary: tiltyard.largeBinary },
  ...{ date: tiltyard.date, date32: tiltyard.date },
};

const UNITS = ["s", "ms", "us", "ns"] as const;

/** Reads columns. */
export function schemaOfText(text: string): Schema {
  if (text.trim().startsWith("{")) return schemaOfJson(text);
  const columns = optionItems("--schema", text.replaceAll("<", "(").replaceAll(">", ")")).map(columnOfText);
  return definedSchema(columns);
}

function definedSchema(columns: readonly (readonly [string, Column])[]): Schema {
  const names = columns.map(([name]) => name);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandMistake(`--schema: the column ${repeated} occurs twice`);
  const fields = columns.map(([name, { type, nullable, metadata }]) => ({ name, type, nullable, metadata }));
  return { fields, metadata: new Map() } as unknown as Schema;
}

const COLUMN = /^(`[^`]+`|"[^"]+"|[\p{L}_][\p{L}\p{N}_]*)\s*:?\s+([\s\S]+?)(\s+not\s+null)?$/iu;

function columnOfText(text: string): readonly [string, Column] {
  const [, name, type, isRequired] = COLUMN.exec(text) ?? [];
  if (name === undefined) {
    throw new CommandMistake(`--schema: ${JSON.stringify(text)} is not a name and a type, as in "id int64"`);
  }
  const column = typeOfText(type);
  const plainName = name.replace(/^[`"]|[`"]$/g, "");
  return [plainName, isRequired === undefined ? tiltyard.nullable(column) : column];
}

function typeOfText(text: string): Column {
  const [, name, inner] = /^([a-z_]\w*)\s*(?:\(([\s\S]*)\))?$/i.exec(text.trim()) ?? [];
  const kind = name?.toLowerCase() ?? "";
  if (inner === undefined && Object.hasOwn(PLAIN, kind)) return PLAIN[kind]();
  const items = inner === undefined || inner.trim() === "" ? [] : optionItems("--schema", inner);
  const number = (index: number, byDefault?: number): number => {
    const value = items[index] === undefined ? byDefault : Number(items[index]);
    if (Number.isInteger(value)) return value as number;
    throw new CommandMistake(`--schema: ${text} wants a whole number, as in ${kind}(16)`);
  };
  const unit = (index: number) => {
    const value = items[index]?.toLowerCase() ?? "us";
    const timeUnit = UNITS.find((each) => each === value);
    if (timeUnit !== undefined) return timeUnit;
    throw new CommandMistake(`--schema: ${text}: the unit must be ${UNITS.join(", ")}`);
  };
  const item = () => tiltyard.nullable(typeOfText(items.join(", ")));
  switch (kind) {
    case "list":
      return tiltyard.list(item());
    case "large_list":
      return tiltyard.largeList(item());
    case "struct":
      return tiltyard.struct(Object.fromEntries(items.map(columnOfText)));
    case "vector":
      return tiltyard.vector(number(0), (items[1] ?? "float32") as "float32");
    case "fixed_size_binary":
      return tiltyard.fixedSizeBinary(number(0));
    case "decimal":
      return tiltyard.decimal(number(0), number(1, 0));
    case "timestamp":
      return tiltyard.timestamp(unit(0), items[1] ?? null);
    case "time":
      return tiltyard.time(unit(0));
    case "duration":
      return tiltyard.duration(unit(0));
    case "map":
      return tiltyard.map(typeOfText(items[0] ?? "") as never, tiltyard.nullable(typeOfText(items[1] ?? "")));
    default:
      throw new CommandMistake(
        `--schema: ${JSON.stringify(text)} is not a type; types are ${Object.keys(PLAIN).join(", ")}, ` +
          "timestamp(us), decimal(10, 2), list<utf8>, struct<x float64>, map<utf8, int64> and vector(384)",
      );
  }
}

function schemaOfJson(text: string): Schema {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new CommandMistake(`--schema: ${(error as Error).message}`);
  }
  const { columns } = (schema ?? {}) as { readonly columns?: unknown };
  if (!Array.isArray(columns)) {
    throw new CommandMistake('--schema: the JSON must be what "tiltyard schema TABLE --json" prints');
  }
  return definedSchema(
    columns.map((column) => {
      const { name, type, nullable } = (column ?? {}) as Record<string, unknown>;
      if (typeof name !== "string" || typeof type !== "string") {
        throw new CommandMistake("--schema: a column of the JSON has no name and type");
      }
      const defined = typeOfText(type.replaceAll("<", "(").replaceAll(">", ")"));
      return [name, nullable === false ? defined : tiltyard.nullable(defined)] as const;
    }),
  );
}
