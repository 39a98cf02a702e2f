/** The scalar types of protobuf, with their readers and writers. */

import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type MessageReader, toSafeNumber } from "./messageReader.js";

export const NO_BYTES = new Uint8Array(0);
/** Shared, because making a decoder costs more than decoding most strings. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

export interface ScalarKind<T> {
  readonly wireType: WireType;
  readonly zero: T;
  readonly read: (reader: MessageReader) => T;
  readonly write: (writer: BinaryWriter, value: T) => void;
  readonly isZero: (value: T) => boolean;
}

const varint = <T>(
  zero: T,
  read: (reader: MessageReader) => T,
  write: (writer: BinaryWriter, value: T) => void,
): ScalarKind<T> => ({ wireType: WireType.Varint, zero, read, write, isZero: (value) => value === zero });

const UINT32 = varint(
  0,
  (reader) => reader.uint32(),
  (writer, value) => void writer.uint32(value),
);
const INT32 = varint(
  0,
  (reader) => reader.int32(),
  (writer, value) => void writer.int32(value),
);
const MAX_UINT32 = 2 ** 32 - 1;
/** Short numbers look the same in 32 and 64 bits; the 64-bit writer goes through bigints. */
const isShort = (value: number): boolean => value >= 0 && value <= MAX_UINT32;

const UINT64 = varint(
  0,
  (reader) => reader.safeUint64(),
  (writer, value) => void (isShort(value) ? writer.uint32(value) : writer.uint64(value)),
);
const INT64 = varint(
  0,
  (reader) => toSafeNumber(reader.int64()),
  (writer, value) => void (isShort(value) ? writer.uint32(value) : writer.int64(value)),
);
const UINT64_BIG = varint<bigint>(
  0n,
  (reader) => BigInt(reader.uint64()),
  (writer, value) => void writer.uint64(value),
);
const BOOL = varint(
  false,
  (reader) => reader.bool(),
  (writer, value) => void writer.bool(value),
);
const STRING: ScalarKind<string> = {
  wireType: WireType.LengthDelimited,
  zero: "",
  read: (reader) => UTF8.decode(reader.bytes()),
  write: (writer, value) => void writer.string(value),
  isZero: (value) => value === "",
};
const BYTES: ScalarKind<Uint8Array> = {
  wireType: WireType.LengthDelimited,
  zero: NO_BYTES,
  read: (reader) => reader.bytes(),
  write: (writer, value) => void writer.bytes(value),
  isZero: (value) => value.length === 0,
};

/** All kinds by their protobuf names. */
export const SCALARS = { UINT32, INT32, UINT64, INT64, UINT64_BIG, BOOL, STRING, BYTES } as const;
