/** Encodes the schema of a table to the flat form of manifests and data files. */

import { EXTENSION_NAME_KEY } from "../arrow/types/logicalTypes.js";
import { formatType, type LogicalType } from "../arrow/types/type.js";
import { Field, LegacyDictionary } from "../format/file.js";
import {
  BLOB_METADATA_KEY,
  NO_PARENT_ID,
  PACKED_METADATA_KEY,
  PRIMARY_KEY,
  PRIMARY_KEY_POSITION,
  primaryKeyOf,
  storageOf,
  type TableField,
} from "./schema.js";

const TEXT = new TextDecoder();

/** Values of `Field.encoding`, a remnant of format 0.1 that writers still set. */
const LEGACY_ENCODING = { none: 0, plain: 1, varBinary: 2, dictionary: 3 } as const;

/** The flat form of a schema. */
export function encodeSchema(fields: readonly TableField[]): Field[] {
  const flat: Field[] = [];
  const encoder = new TextEncoder();
  const visit = (field: TableField, parentId: number): void => {
    const encoding = legacyEncoding(field.type);
    const key = primaryKeyOf(field.metadata);
    flat.push(
      Field.create({
        name: field.name,
        id: field.id,
        parentId,
        logicalType: formatType(field.type),
        nullable: field.nullable,
        encoding,
        dictionary: encoding === LEGACY_ENCODING.dictionary ? LegacyDictionary.create() : undefined,
        extensionName: field.metadata.get(EXTENSION_NAME_KEY) ?? "",
        metadata: new Map([...field.metadata].map(([name, value]) => [name, encoder.encode(value)])),
        unenforcedPrimaryKey: key.isPart,
        unenforcedPrimaryKeyPosition: key.position,
      }),
    );
    for (const child of field.children) visit(child, field.id);
  };
  for (const field of fields) visit(field, NO_PARENT_ID);
  return flat;
}

/** Returns the field with other metadata, and with the members of the message that are derived from it. */
export function fieldWithMetadata(field: Field, metadata: Map<string, Uint8Array>): Field {
  const text = new Map(
    [EXTENSION_NAME_KEY, PRIMARY_KEY, PRIMARY_KEY_POSITION].flatMap((name) => {
      const value = metadata.get(name);
      return value === undefined ? [] : [[name, TEXT.decode(value)] as const];
    }),
  );
  const key = primaryKeyOf(text);
  return {
    ...field,
    metadata,
    extensionName: text.get(EXTENSION_NAME_KEY) ?? "",
    unenforcedPrimaryKey: key.isPart,
    unenforcedPrimaryKeyPosition: key.position,
  };
}

/** Flat schema that a data file holds. A blob of version 2 is a descriptor, whose members have no ids. */
export function encodeFileSchema(fields: readonly TableField[]): Field[] {
  return encodeSchema(fields.map(describedField));
}

function describedField(field: TableField): TableField {
  if (storageOf(field) !== "blobStructs") return { ...field, children: field.children.map(describedField) };
  const metadata = new Map([
    [PACKED_METADATA_KEY, "true"],
    [BLOB_METADATA_KEY, "true"],
  ]);
  const member = ([name, type]: readonly [string, LogicalType]): TableField => ({
    id: -1,
    name,
    type,
    nullable: false,
    metadata: new Map(),
    children: [],
  });
  return { ...field, metadata, children: DESCRIPTOR_MEMBERS.map(member) };
}

const unsigned = (bits: 8 | 32 | 64): LogicalType => ({ kind: "int", bits, signed: false });

const DESCRIPTOR_MEMBERS: readonly (readonly [string, LogicalType])[] = [
  ["kind", unsigned(8)],
  ["position", unsigned(64)],
  ["size", unsigned(64)],
  ["blob_id", unsigned(32)],
  ["blob_uri", { kind: "string", large: false }],
];

function legacyEncoding({ kind }: LogicalType): number {
  switch (kind) {
    case "null":
    case "struct":
      return LEGACY_ENCODING.none;
    case "string":
    case "binary":
    case "json":
      return LEGACY_ENCODING.varBinary;
    case "dictionary":
      return LEGACY_ENCODING.dictionary;
    default:
      return LEGACY_ENCODING.plain;
  }
}
