/** Returns types of columns as text, in the form that `--schema` reads. */

import { type DataType, type Field, Type } from "apache-arrow";

const UNITS = ["s", "ms", "us", "ns"];

/** Members of types that are read, whatever the type. */
type AnyType = DataType & {
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly scale?: number;
  readonly unit?: number;
  readonly timezone?: string | null;
  readonly listSize?: number;
  readonly byteWidth?: number;
  readonly dictionary?: DataType;
};

const FLOATS = ["float16", "float32", "float64"];

/** Texts of types without parameters. */
const PLAIN: Readonly<Record<number, string>> = {
  [Type.Null]: "null",
  [Type.Binary]: "binary",
  [Type.LargeBinary]: "large_binary",
  [Type.Utf8]: "utf8",
  [Type.LargeUtf8]: "large_utf8",
  [Type.Bool]: "bool",
};

/** Returns the type of a field as text. */
export function typeText({ type, metadata }: Field): string {
  const name = metadata.get("ARROW:extension:name");
  if (name === "arrow.json") return "json";
  if (name === "lance.blob.v2") return "blob";
  const text = plainTypeText(type);
  return metadata.get("lance-encoding:blob") === "true" ? `${text} (blob)` : text;
}

function plainTypeText(dataType: DataType): string {
  const type = dataType as AnyType;
  const { children, typeId } = type;
  const item = () => typeText((children as Field[])[0]);
  switch (typeId as Type) {
    case Type.Int:
      return `${type.isSigned === true ? "" : "u"}int${type.bitWidth}`;
    case Type.Float:
      return FLOATS[type.precision as number];
    case Type.Decimal:
      return `decimal(${type.precision}, ${type.scale})`;
    case Type.Date:
      return type.unit === 0 ? "date" : "date64";
    case Type.Time:
      return `time(${UNITS[type.unit as number]})`;
    case Type.Duration:
      return `duration(${UNITS[type.unit as number]})`;
    case Type.Timestamp: {
      const zone = type.timezone === null || type.timezone === undefined ? "" : `, ${type.timezone}`;
      return `timestamp(${UNITS[type.unit as number]}${zone})`;
    }
    case Type.FixedSizeBinary:
      return `fixed_size_binary(${type.byteWidth})`;
    case Type.List:
      return `list<${item()}>`;
    case Type.FixedSizeList:
      return item() === "float32" ? `vector(${type.listSize})` : `vector(${type.listSize}, ${item()})`;
    case Type.Struct:
      return `struct<${memberTexts(children as Field[]).join(", ")}>`;
    case Type.Map:
      return `map<${((children as Field[])[0].type.children as Field[]).map(typeText).join(", ")}>`;
    case Type.Dictionary:
      return `dictionary<${plainTypeText(type.dictionary as DataType)}>`;
    default:
      return PLAIN[typeId] ?? `${type}`;
  }
}

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

const memberTexts = (fields: readonly Field[]): string[] =>
  fields.map((field) => `${NAME.test(field.name) ? field.name : `\`${field.name}\``} ${typeText(field)}`);
