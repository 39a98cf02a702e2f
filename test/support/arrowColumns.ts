import * as arrow from "apache-arrow";

export const fieldOf = <T extends arrow.DataType>(
  name: string,
  type: T,
  nullable = true,
  metadata: Readonly<Record<string, string>> = {},
): arrow.Field<T> => new arrow.Field(name, type, nullable, new Map(Object.entries(metadata)));

export const listOf = <T extends arrow.DataType>(item: T): arrow.List<T> =>
  new arrow.List(fieldOf("item", item));

export const mapOf = (key: arrow.DataType, value: arrow.DataType): arrow.Map_ => {
  const entry = new arrow.Struct([fieldOf("key", key, false), fieldOf("value", value)]);
  return new arrow.Map_(fieldOf("entries", entry, false) as ConstructorParameters<typeof arrow.Map_>[0]);
};

export const columnsOf =
  <T extends arrow.DataType>(type: T) =>
  (values: ArrayLike<unknown> | number, cellOf = (row: number): unknown => row): arrow.Vector<T> => {
    const cells =
      typeof values === "number" ? Array.from({ length: values }, (_, row) => cellOf(row)) : values;
    return arrow.vectorFromArray(cells as unknown[], type as arrow.DataType) as arrow.Vector<T>;
  };

export const bools = columnsOf(new arrow.Bool());
export const int8s = columnsOf(new arrow.Int8());
export const int32s = columnsOf(new arrow.Int32());
export const int64s = columnsOf(new arrow.Int64());
export const uint64s = columnsOf(new arrow.Uint64());
export const float32s = columnsOf(new arrow.Float32());
export const float64s = columnsOf(new arrow.Float64());
export const utf8s = columnsOf(new arrow.Utf8());
export const binaries = columnsOf(new arrow.Binary());
export const largeBinaries = columnsOf(new arrow.LargeBinary());
