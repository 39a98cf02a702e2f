/** The kind of index that suits a column, as the engine chooses it. */

import { type DataType, type Field, Type } from "apache-arrow";

/** Returns the default kind: IVF_PQ for vectors, IVF_FLAT for uint8 vectors, otherwise BTREE. */
export function suitableKind({ type }: Field): string {
  const isList = (type.typeId as Type) === Type.List;
  const vector: DataType = isList ? type.children[0]?.type : type;
  if (vector === undefined || (vector.typeId as Type) !== Type.FixedSizeList) return "BTREE";
  const item = vector.children[0]?.type as (DataType & { bitWidth?: number; isSigned?: boolean }) | undefined;
  if ((item?.typeId as Type) === Type.Float) return "IVF_PQ";
  const isByte = (item?.typeId as Type) === Type.Int && item?.bitWidth === 8 && item.isSigned === false;
  return isByte ? "IVF_FLAT" : "BTREE";
}
