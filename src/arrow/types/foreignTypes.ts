/** Converts types, fields and schemas of any version of apache-arrow to the version used here. */

import {
  Binary,
  Bool,
  type DataType,
  DateDay,
  DateMillisecond,
  Decimal,
  DenseUnion,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Interval,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  Null,
  Schema,
  SparseUnion,
  Struct,
  Time,
  Timestamp,
  Type,
  Utf8,
} from "apache-arrow";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { arrowInteger, integerTypeOf } from "./logicalTypes.js";
import {
  type ForeignField,
  type ForeignType,
  floatPrecision,
  LARGE_LIST_VIEW_TYPE,
  LIST_VIEW_TYPE,
  typeOfNumber,
} from "./typeParameters.js";

/** A schema of any version of apache-arrow. */
export interface ForeignSchema {
  readonly fields: readonly ForeignField[];
  readonly metadata?: ReadonlyMap<string, string> | null;
}

/**
 * Converts a type of any version of apache-arrow to the version used here. Dictionaries get new ids, so that
 * types of different origin fit into one schema. View types, which Lance does not have, become the types of
 * the same values without views.
 * @param path the column, for messages
 * @throws InvalidInputError for a value that is not a type, UnsupportedError for an unknown type
 */
export function adoptType(foreign: ForeignType, path?: string): DataType {
  switch (foreign.typeId as number) {
    case Type.Null:
      return new Null();
    case Type.Bool:
      return new Bool();
    case Type.Int:
      return arrowInteger(integerTypeOf(foreign, ""));
    case Type.Float:
      return [() => new Float16(), () => new Float32(), () => new Float64()][floatPrecision(foreign, "")]();
    case Type.Decimal:
      return new Decimal(foreign.scale ?? 0, foreign.precision ?? 0, foreign.bitWidth ?? 128);
    case Type.Date:
      return foreign.unit === 0 ? new DateDay() : new DateMillisecond();
    case Type.Time:
      return new Time(foreign.unit ?? 0, foreign.bitWidth === 32 ? 32 : 64);
    case Type.Timestamp:
      return new Timestamp(foreign.unit ?? 0, foreign.timezone ?? null);
    case Type.Duration:
      return new Duration(foreign.unit ?? 0);
    case Type.Interval:
      return new Interval(foreign.unit ?? 0);
    case Type.FixedSizeBinary:
      return new FixedSizeBinary(foreign.byteWidth ?? 0);
    case Type.Utf8:
    case Type.Utf8View:
      return new Utf8();
    case Type.LargeUtf8:
      return new LargeUtf8();
    case Type.Binary:
    case Type.BinaryView:
      return new Binary();
    case Type.LargeBinary:
      return new LargeBinary();
    case Type.List:
    case LIST_VIEW_TYPE:
      return new List(adoptChild(foreign, path));
    case Type.LargeList:
    case LARGE_LIST_VIEW_TYPE:
      return new LargeList(adoptChild(foreign, path));
    case Type.FixedSizeList:
      return new FixedSizeList(foreign.listSize ?? 0, adoptChild(foreign, path));
    case Type.Struct:
      return new Struct((foreign.children ?? []).map((child) => adoptField(child, path)));
    case Type.Map:
      return new Map_(
        adoptChild(foreign, path) as ConstructorParameters<typeof Map_>[0],
        foreign.keysSorted === true,
      );
    case Type.Union: {
      const ids = Array.from(foreign.typeIds ?? []);
      const children = (foreign.children ?? []).map((child) => adoptField(child, path));
      return foreign.mode === 0 ? new SparseUnion(ids, children) : new DenseUnion(ids, children);
    }
    case Type.Dictionary:
      if (foreign.dictionary === undefined || foreign.indices === undefined) break;
      return new Dictionary(
        adoptType(foreign.dictionary, path),
        adoptType(foreign.indices, path) as Dictionary["indices"],
        null,
        foreign.isOrdered === true,
      );
  }
  if (typeof foreign.typeId === "number") {
    const column = path === undefined ? "" : `column ${path}: `;
    throw new UnsupportedError(
      `${column}type ${typeOfNumber(foreign.typeId)} is not supported by this release`,
    );
  }
  throw new InvalidInputError("not an Arrow type");
}

function adoptChild(foreign: ForeignType, path?: string): Field {
  const child = foreign.children?.[0];
  if (child === undefined || child === null) throw new InvalidInputError("the list type has no item type");
  return adoptField(child, path);
}

/** @throws as {@link adoptType} */
function adoptField(foreign: ForeignField, parent?: string): Field {
  // Members of structs may have an empty name. IPC bytes return it as null.
  const name: unknown = foreign?.name ?? "";
  if (typeof name !== "string" || typeof foreign?.type !== "object" || foreign.type === null) {
    throw new InvalidInputError("not an Arrow field");
  }
  const path = parent === undefined ? name : `${parent}.${name}`;
  return new Field(
    name,
    adoptType(foreign.type, path),
    foreign.nullable === true,
    adoptMetadata(foreign.metadata),
  );
}

/** @throws as {@link adoptType} */
export function adoptSchema(foreign: ForeignSchema): Schema {
  return new Schema(
    foreign.fields.map((field) => adoptField(field)),
    adoptMetadata(foreign.metadata),
  );
}

function adoptMetadata(metadata: ReadonlyMap<string, string> | null | undefined): Map<string, string> {
  const adopted = new Map<string, string>();
  for (const [key, value] of metadata ?? []) adopted.set(String(key), value === null ? "" : String(value));
  return adopted;
}
