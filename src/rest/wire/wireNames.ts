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
  return convert(schema, value, FROM_WIRE);
}

/** Converts a value of the engine to the wire's names. */
export function toWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, TO_WIRE);
}

/** Converts a value of a request to the wire's names. Unknown members stay, for the server to refuse. */
export function toWholeWire(schema: z.core.$ZodType, value: unknown): unknown {
  return convert(schema, value, TO_WHOLE_WIRE);
}

/** Direction of a conversion. */
interface Direction {
  rename(wireName: string): { readonly from: string; readonly to: string };
  /** True if the schema describes converted values. False if it describes values before the conversion. */
  readonly isToWire: boolean;
  readonly keepsUnknown: boolean;
}

const FROM_WIRE: Direction = {
  rename: (wireName) => ({ from: wireName, to: camelCase(wireName) }),
  isToWire: false,
  keepsUnknown: false,
};
const TO_WIRE: Direction = {
  rename: (wireName) => ({ from: camelCase(wireName), to: wireName }),
  isToWire: true,
  keepsUnknown: false,
};
const TO_WHOLE_WIRE: Direction = { ...TO_WIRE, keepsUnknown: true };
type Members = Readonly<Record<string, unknown>>;

function convert(schema: z.core.$ZodType, value: unknown, direction: Direction): unknown {
  if (value === undefined || value === null) return undefined;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodLazy) {
    return convert(schema.unwrap(), value, direction);
  }
  if (schema instanceof z.ZodUnion) {
    // The schemas describe values with the wire's names.
    const onTheWire = (option: z.core.$ZodType) =>
      direction.isToWire ? convert(option, value, direction) : value;
    const option = schema.options.find((candidate) => z.safeParse(candidate, onTheWire(candidate)).success);
    return option === undefined ? value : convert(option, value, direction);
  }
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) {
    if (!(schema instanceof z.ZodArray)) return value;
    return value.map((entry: unknown) => convert(schema.element, entry, direction));
  }
  if (schema instanceof z.ZodRecord) {
    if (!(schema.valueType instanceof z.ZodObject)) return value;
    const { valueType } = schema;
    return mapOf(Object.entries(value).map(([key, entry]) => [key, convert(valueType, entry, direction)]));
  }
  if (schema instanceof z.ZodObject) {
    const members: [string, unknown][] = [];
    const names = new Set<string>();
    for (const [wireName, member] of Object.entries(schema.shape)) {
      const { from, to } = direction.rename(wireName);
      names.add(from);
      const converted = convert(member as z.core.$ZodType, (value as Members)[from], direction);
      if (converted !== undefined) members.push([to, converted]);
    }
    if (direction.keepsUnknown) members.push(...Object.entries(value).filter(([name]) => !names.has(name)));
    return mapOf(members);
  }
  return value;
}

/** Makes every key a member of the object itself, including `__proto__`. */
const mapOf = (entries: readonly (readonly [string, unknown])[]): Members => Object.fromEntries(entries);
