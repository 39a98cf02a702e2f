/**
 * Schemas in JSON with units and time zones, unlike those of the namespace spec: `timestamp:us:UTC`,
 * `decimal:128:10:2`, `dict:string:int32:false`. LanceDB's remote client reads this form, and `typeFromJson`
 * does too.
 */

import { type DataType, type Field, type Schema, Type } from "apache-arrow";
import type { JsonArrowField, JsonArrowSchema, JsonArrowType } from "./schemaJson.js";
import { TIME_UNITS } from "./type.js";
import type { ForeignType } from "./typeParameters.js";

/** Converts a schema. */
export function exactSchemaJson(schema: Schema): JsonArrowSchema {
  return { fields: schema.fields.map(exactField), ...metadataOf(schema.metadata) };
}

function exactField(field: Field): JsonArrowField {
  return {
    name: field.name,
    nullable: field.nullable,
    type: exactTypeJson(field.type),
    ...metadataOf(field.metadata),
  };
}

/** Returns the JSON of a type of any release of apache-arrow. */
export function exactTypeJson(type: DataType): JsonArrowType {
  const { name, length } = exactName(type as ForeignType);
  // The values of a dictionary are not fields, but the entries of a map are.
  const children = (type.typeId as Type) === Type.Dictionary ? [] : (type.children ?? []);
  return {
    type: name,
    ...(length === undefined ? {} : { length }),
    ...(children.length === 0 ? {} : { fields: children.map(exactField) }),
  };
}

const metadataOf = (metadata: ReadonlyMap<string, string>) =>
  metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) };

/** Names of types without parameters, and of types whose parameters are fields. */
const NAMES: Partial<Record<Type, string>> = {
  [Type.Null]: "null",
  [Type.Bool]: "bool",
  [Type.Utf8]: "string",
  [Type.LargeUtf8]: "large_string",
  [Type.Binary]: "binary",
  [Type.LargeBinary]: "large_binary",
  [Type.List]: "list",
  [Type.LargeList]: "large_list",
  [Type.Struct]: "struct",
  [Type.Map]: "map",
};

function exactName(type: ForeignType): { readonly name: string; readonly length?: number } {
  const unit = () => TIME_UNITS[type.unit ?? -1];
  switch (type.typeId) {
    case Type.Int:
      return { name: `${type.isSigned ? "int" : "uint"}${type.bitWidth}` };
    case Type.Float:
      return { name: ["halffloat", "float", "double"][type.precision ?? 1] };
    case Type.FixedSizeBinary:
      return { name: "fixed_size_binary", length: type.byteWidth };
    case Type.Date:
      return { name: type.unit === 0 ? "date32:day" : "date64:ms" };
    case Type.Time:
      return { name: `time${type.bitWidth}:${unit()}` };
    case Type.Timestamp:
      return { name: `timestamp:${unit()}:${type.timezone ?? "-"}` };
    case Type.Duration:
      return { name: `duration:${unit()}` };
    case Type.Decimal:
      return { name: `decimal:${type.bitWidth}:${type.precision}:${type.scale}` };
    case Type.FixedSizeList:
      return { name: "fixed_size_list", length: type.listSize };
    case Type.Dictionary: {
      const { dictionary, indices } = type as Required<ForeignType>;
      return { name: `dict:${exactName(dictionary).name}:${exactName(indices).name}:false` };
    }
    default:
      return { name: NAMES[type.typeId as Type] ?? String(type) };
  }
}
