/**
 * Names on the wire (`snake_case`) and in the engine (`camelCase`). The conversion follows a schema of the
 * wire. Keys of maps belong to the users and stay unchanged. Members that the schema lacks are dropped, in
 * both directions.
 */

import { z } from "zod";

/** `manifest_path` → `manifestPath`. */
export const camelCase = (wireName: string): string =>
  wireName.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `manifestPath` → `manifest_path`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Converts a checked value to the engine's names. Null counts as absent. */
export function fromWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, (wireName) => ({ from: wireName, to: camelCase(wireName) }));
}

/** Converts a value of the engine to the wire's names. */
export function toWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, (wireName) => ({ from: camelCase(wireName), to: wireName }));
}

type Renaming = (wireName: string) => { readonly from: string; readonly to: string };
type Members = Readonly<Record<string, unknown>>;

function convert(schema: z.core.$ZodType, value: unknown, rename: Renaming): unknown {
  if (value === undefined || value === null) return undefined;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodLazy) {
    return convert(schema.unwrap(), value, rename);
  }
  if (schema instanceof z.ZodUnion) {
    const option = schema.options.find((candidate) => z.safeParse(candidate, value).success);
    return option === undefined ? value : convert(option, value, rename);
  }
  if (schema instanceof z.ZodArray) {
    return (value as readonly unknown[]).map((entry) => convert(schema.element, entry, rename));
  }
  if (schema instanceof z.ZodRecord) {
    if (!(schema.valueType instanceof z.ZodObject)) return value;
    const { valueType } = schema;
    return mapOf(Object.entries(value).map(([key, entry]) => [key, convert(valueType, entry, rename)]));
  }
  if (schema instanceof z.ZodObject) {
    const members: [string, unknown][] = [];
    for (const [wireName, member] of Object.entries(schema.shape)) {
      const { from, to } = rename(wireName);
      const converted = convert(member as z.core.$ZodType, (value as Members)[from], rename);
      if (converted !== undefined) members.push([to, converted]);
    }
    return mapOf(members);
  }
  return value;
}

/** Makes every key a member of the object itself, including `__proto__`. */
const mapOf = (entries: readonly (readonly [string, unknown])[]): Members => Object.fromEntries(entries);
