/**
 * Physical layouts of Arrow types in memory and in files, as one exhaustive switch. Throws an
 * `UnsupportedError` for a type that this build cannot store, and an `InvalidInputError` for parameters that
 * no Arrow type has. Both name the column.
 */

import { type DataType, type Dictionary, type Field, type FixedSizeList, Type } from "apache-arrow";
import { InvalidInputError } from "../../errors.js";
import type { FixedLayout, Layout } from "../columns/column.js";
import { timeBits } from "./type.js";
import {
  decimalBits,
  FLOAT_BITS,
  type ForeignType,
  fixedSize,
  floatPrecision,
  integerBits,
  timeOfDayUnit,
  timeUnit,
  timeZone,
  unsupported,
} from "./typeParameters.js";

/**
 * Returns the layout of a type's values in memory and in a file.
 * @throws UnsupportedError, InvalidInputError
 */
export function layoutOf(type: DataType, path: string): Layout {
  const foreign: ForeignType = type;
  switch (foreign.typeId) {
    case Type.Null:
      return { kind: "null" };
    case Type.Bool:
      return { kind: "bits" };
    case Type.Int:
      return fixed(integerBits(foreign, path) / 8);
    case Type.Float:
      return fixed(FLOAT_BITS[floatPrecision(foreign, path)] / 8);
    case Type.Decimal:
      return fixed(decimalBits(foreign, path) / 8);
    case Type.Date:
      return fixed(foreign.unit === 0 ? 4 : 8);
    case Type.Time:
      return fixed(timeBits(timeOfDayUnit(foreign, path)) / 8);
    case Type.Timestamp:
      timeUnit(foreign, path);
      timeZone(foreign, path);
      return fixed(8);
    case Type.Duration:
      timeUnit(foreign, path);
      return fixed(8);
    case Type.FixedSizeBinary:
      return fixed(fixedSize(foreign.byteWidth, "bytes", path));
    case Type.Utf8:
      return { kind: "variable", offsetBits: 32, text: true };
    case Type.LargeUtf8:
      return { kind: "variable", offsetBits: 64, text: true };
    case Type.Binary:
      return { kind: "variable", offsetBits: 32, text: false };
    case Type.LargeBinary:
      return { kind: "variable", offsetBits: 64, text: false };
    case Type.FixedSizeList:
      return fixedSizeListLayout(type as FixedSizeList, foreign, path);
    case Type.List:
    case Type.LargeList: {
      const [item] = type.children;
      const itemLayout = layoutOf(item.type, `${path}.${item.name}`);
      if (holds(itemLayout, "sizedList")) throw unsupported(type, path);
      const offsetBits = foreign.typeId === Type.List ? 32 : 64;
      return { kind: "list", offsetBits, item: itemLayout, itemNullable: item.nullable, isMap: false };
    }
    case Type.Map:
      return mapLayout(type, path);
    case Type.Struct:
      if (type.children.length === 0) return { kind: "packedStruct", children: [] };
      return {
        kind: "struct",
        children: (type.children as Field[]).map((child) => ({
          name: child.name,
          layout: layoutOf(child.type, `${path}.${child.name}`),
          nullable: child.nullable,
        })),
      };
    case Type.Dictionary:
      return dictionaryLayout(type as Dictionary, path);
  }
  throw unsupported(type, path);
}

function fixedSizeListLayout(type: FixedSizeList, { listSize }: ForeignType, path: string): Layout {
  const item = layoutOf(type.valueType, path);
  const dimension = fixedSize(listSize, "items", path);
  if (item.kind === "fixed" || item.kind === "bits" || item.kind === "fixedSizeList") {
    return { kind: "fixedSizeList", dimension, item };
  }
  // LanceDB writes structs with lists but cannot read them again.
  if (item.kind !== "struct" || holds(item, "list")) throw unsupported(type, path);
  return { kind: "sizedList", dimension, item, itemNullable: type.children[0].nullable };
}

function mapLayout(type: DataType, path: string): Layout {
  const [entries] = type.children;
  const item = layoutOf(entries.type, `${path}.${entries.name}`);
  if (item.kind !== "struct" || item.children.length !== 2) {
    throw new InvalidInputError(`column ${path}: the entries of a map are not pairs of key and value`);
  }
  if (holds(item, "sizedList")) throw unsupported(type, path);
  return { kind: "list", offsetBits: 32, item, itemNullable: false, isMap: true };
}

function dictionaryLayout(type: Dictionary, path: string): Layout {
  const { dictionary, indices } = type;
  const indexParameters: ForeignType = indices;
  if (indexParameters.typeId !== Type.Int) {
    throw new InvalidInputError(`column ${path}: dictionary indices of type ${indices} are not integers`);
  }
  const value = layoutOf(dictionary, path);
  if (value.kind !== "variable" && value.kind !== "fixed") throw unsupported(type, path);
  const index = fixed(integerBits(indexParameters, path) / 8);
  return { kind: "dictionary", index, indexSigned: indexParameters.isSigned === true, value };
}

/** True if the layout or a layout inside it has this kind. */
function holds(layout: Layout, kind: "list" | "sizedList"): boolean {
  if (layout.kind === kind) return true;
  if (layout.kind === "list" || layout.kind === "sizedList") return holds(layout.item, kind);
  return layout.kind === "struct" && layout.children.some((child) => holds(child.layout, kind));
}

const fixed = (byteWidth: number): FixedLayout => ({ kind: "fixed", byteWidth });
