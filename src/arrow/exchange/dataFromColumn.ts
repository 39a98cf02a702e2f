/** Makes apache-arrow's `Data` of columns, without a copy if the memory is aligned. */

import {
  type Data,
  type DataType,
  type Dictionary,
  type FixedSizeList,
  makeData,
  Type,
  Vector,
} from "apache-arrow";
import { alignedBytes } from "../../bytes/aligned.js";
import type { Column, FixedColumn, VariableColumn } from "../columns/column.js";
import { shiftBits } from "../columns/validity.js";

/** Arguments of `makeData` for any type. Its own signature needs the type at compile time. */
interface DataProps {
  readonly type: DataType;
  readonly length: number;
  readonly offset?: number;
  readonly nullCount?: number;
  readonly nullBitmap?: Uint8Array;
  readonly data?: Uint8Array;
  readonly valueOffsets?: Int32Array | BigInt64Array;
  readonly child?: Data;
  readonly children?: readonly Data[];
  readonly dictionary?: Vector;
}

/** Members of a copy of apache-arrow that make `Data`. */
export interface ArrowCopy {
  readonly makeData: typeof makeData;
  readonly Vector: typeof Vector;
}

/**
 * Makes the `Data` over a column's memory.
 * @param type a type of the copy
 * @param dictionaries caches the vectors of shared dictionaries
 * @param copy the copy of apache-arrow whose `Data` is made. Default: that of the engine
 */
export function dataFromColumn(
  type: DataType,
  column: Column,
  dictionaries?: WeakMap<VariableColumn | FixedColumn, Vector>,
  copy: ArrowCopy = { makeData, Vector },
): Data {
  const { length } = column;
  const make = copy.makeData as unknown as (props: DataProps) => Data;
  switch (column.kind) {
    case "null":
      return make({ type, length, nullCount: length });
    case "fixed": {
      const values = alignedBytes(column.values, elementBytes(type, column.byteWidth));
      return make({ type, length, ...validityProps(column), data: values });
    }
    case "bits": {
      const bits = column.bits.subarray(column.bitOffset >>> 3);
      const offset = column.bitOffset & 7;
      return make({ type, length, offset, ...shiftedValidity(column, offset), data: bits });
    }
    case "variable": {
      const { offsets, bytes } = column;
      return make({ type, length, ...validityProps(column), valueOffsets: offsets, data: bytes });
    }
    case "fixedSizeList":
    case "sizedList": {
      const child = dataFromColumn((type as FixedSizeList).valueType, column.items, dictionaries, copy);
      return make({ type, length, ...validityProps(column), child });
    }
    case "dictionary": {
      let dictionary = dictionaries?.get(column.dictionary);
      if (dictionary === undefined) {
        const values = dataFromColumn((type as Dictionary).dictionary, column.dictionary, undefined, copy);
        dictionary = new copy.Vector([values]).memoize();
        dictionaries?.set(column.dictionary, dictionary);
      }
      const values = alignedBytes(column.indices.values, column.indices.byteWidth);
      return make({ type, length, ...validityProps(column), data: values, dictionary });
    }
    case "list": {
      const child = dataFromColumn(type.children[0].type, column.items, dictionaries, copy);
      return make({ type, length, ...validityProps(column), valueOffsets: column.offsets, child });
    }
    case "struct":
    case "packedStruct": {
      const children = column.children.map((child: Column, index: number) =>
        dataFromColumn(type.children[index].type, child, dictionaries, copy),
      );
      // An offset would also shift the children, so the bitmap starts at bit 0.
      return make({ type, length, ...shiftedValidity(column, 0), children });
    }
  }
}

/** `offset` only shifts bitmaps, so a validity that starts inside a byte needs no copy. */
function validityProps({ validity }: Column) {
  if (validity === null) return { offset: 0, nullCount: 0 };
  const nullBitmap = validity.bytes.subarray(validity.bitOffset >>> 3);
  return { offset: validity.bitOffset & 7, nullCount: validity.nullCount, nullBitmap };
}

function shiftedValidity({ validity, length }: Column, offset: number) {
  if (validity === null) return { nullCount: 0 };
  const nullBitmap = shiftBits(validity.bytes, validity.bitOffset, offset, length);
  return { nullCount: validity.nullCount, nullBitmap };
}

/** Alignment of the typed array that apache-arrow makes over the values. */
function elementBytes(type: DataType, byteWidth: number): number {
  switch (type.typeId as Type) {
    case Type.FixedSizeBinary:
      return 1;
    case Type.Decimal:
      return 4;
    default:
      return byteWidth;
  }
}
