/** Modules of LanceDB's native package as an oracle for those of the drop-in, and outcomes to compare. */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Schema, Table } from "apache-arrow";

const requireReference = createRequire(new URL("../reference/package.json", import.meta.url));
const MODULES = dirname(requireReference.resolve("@lancedb/lancedb"));

/** Returns a module of the native package, such as `"embedding/registry"`. */
export const nativeModule = <Module>(name: string): Module =>
  requireReference(join(MODULES, `${name}.js`)) as Module;

/** Text of a schema: names, types and nullability, with those of nested fields. */
export const schemaText = ({ fields }: Pick<Schema, "fields">): string =>
  fields
    .map(({ name, type, nullable }) => {
      const children = type.children?.length ? `{${schemaText({ fields: type.children })}}` : "";
      return `${name}: ${type}${nullable ? "?" : ""}${children}`;
    })
    .join(", ");

/** Schema and rows of a table as text. */
export function tableText(table: Table): string {
  const rows = table.toArray().map((row) => row?.toJSON());
  const json = JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
  return `${schemaText(table.schema)} ${JSON.stringify([...table.schema.metadata])} ${table.numRows} ${json}`;
}

/** Result of a call as text, or the message of its error. */
export function outcomeOf(call: () => unknown): string {
  try {
    const result = call();
    return typeof result === "object" && result !== null && "schema" in result
      ? tableText(result as Table)
      : `${JSON.stringify(result)}`;
  } catch (error) {
    return `throws ${(error as Error).message}`;
  }
}

/** Result of an asynchronous call as text, or the message of its error. */
export async function settledOutcome(call: () => Promise<unknown>): Promise<string> {
  try {
    const result = await call();
    return outcomeOf(() => result);
  } catch (error) {
    return `throws ${(error as Error).message}`;
  }
}
