/** Types of columns in the JSON in which LanceDB's calls pass them, with the texts of table schemas. */

import { type DataType, Precision } from "apache-arrow";
import * as like from "./like.js";

/** A type in JSON. */
export interface JsonDataType {
  type: string;
  /** Fields of a nested type. */
  fields?: JsonField[];
  /** Items of each list of a fixed size. */
  length?: number;
}

/** A field in JSON. */
export interface JsonField {
  name: string;
  type: JsonDataType;
  nullable: boolean;
  metadata: Map<string, string>;
}

/** Texts of floats, by precision. */
const FLOATS: Readonly<Record<number, string>> = {
  [Precision.HALF]: "halffloat",
  [Precision.SINGLE]: "float",
  [Precision.DOUBLE]: "double",
};

/**
 * Returns a type in JSON.
 * @throws Error for a type that has no such form
 */
export function dataTypeToJson(dataType: DataType): JsonDataType {
  const type = plainText(dataType);
  if (type !== null) return { type };
  if (like.isList(dataType)) return { type: "list", fields: fieldsOf(dataType) };
  if (like.isFixedSizeList(dataType)) {
    return { type: "fixed_size_list", fields: fieldsOf(dataType), length: dataType.listSize };
  }
  if (dataType.typeId === LARGE_LIST) return { type: "large_list", fields: fieldsOf(dataType) };
  if (like.isStruct(dataType)) return { type: "struct", fields: fieldsOf(dataType) };
  throw new Error("Unsupported data type");
}

/** Number of the type of large lists. */
const LARGE_LIST = 21;
/** Number of the type of dictionaries. */
const DICTIONARY = -1;

/** Returns the text of a type without fields; null for other types. */
function plainText(dataType: DataType): string | null {
  // biome-ignore lint/suspicious/noExplicitAny: the parameters of the type that its number tells
  const parameters = dataType as any;
  if (like.isNull(dataType)) return "null";
  if (like.isBool(dataType)) return "bool";
  if (like.isInt(dataType)) return `${dataType.isSigned ? "int" : "uint"}${dataType.bitWidth}`;
  if (like.isFloat(dataType)) return FLOATS[dataType.precision];
  if (like.isUtf8(dataType)) return "string";
  if (like.isLargeUtf8(dataType)) return "large_string";
  if (like.isBinary(dataType)) return "binary";
  if (like.isLargeBinary(dataType)) return "large_binary";
  if (like.isFixedSizeBinary(dataType)) return `fixed_size_binary:${dataType.byteWidth}`;
  if (like.isDate(dataType)) return parameters.unit === 0 ? "date32:day" : "date64:ms";
  if (like.isTimestamp(dataType)) return `timestamp:${parameters.unit}:${parameters.timezone ?? "-"}`;
  if (like.isDuration(dataType)) return `duration:${parameters.unit}`;
  if (like.isDecimal(dataType)) {
    return `decimal:${parameters.bitWidth}:${parameters.precision}:${parameters.scale}`;
  }
  if (parameters.typeId !== DICTIONARY) return null;
  const { dictionary, indices, isOrdered } = parameters;
  return `dict:${dataTypeToJson(dictionary).type}:${dataTypeToJson(indices).type}:${isOrdered}`;
}

const fieldsOf = ({ children }: DataType): JsonField[] =>
  children.map(({ name, type, nullable, metadata }) => ({
    name,
    type: dataTypeToJson(type),
    nullable,
    metadata,
  }));
