/**
 * Page encodings of file version 2.0, proto package `lance.encodings`. Field numbers are wire contract and
 * never change. A oneof is a set of optional members, one of which is set. Numbers 14 to 21 of
 * `ArrayEncoding` belong to prototypes of 2.1 that no 2.0 file holds.
 */

import {
  bool,
  bytes,
  Empty,
  type FieldCodec,
  int32,
  type MessageOf,
  message,
  oneof,
  repeatedMessage,
  string,
  submessage,
  uint32,
  uint64,
} from "./message.js";

/** Type URL of an {@link ArrayEncoding} in a page of a 2.0 file. */
export const ARRAY_ENCODING_TYPE_URL = "/lance.encodings.ArrayEncoding";

/** Owner of the buffers that a {@link BufferReference} counts. */
export const BufferKind = { PAGE: 0, COLUMN: 1, FILE: 2 } as const;

/** An absent or empty reference means buffer 0 of the page. */
export const BufferReference = message("Buffer", { bufferIndex: uint32(1), bufferType: uint32(2) });
export type BufferReference = MessageOf<typeof BufferReference>;

/** A member of a message that arrays hold, and that holds an array itself. */
const nested = (number: number): FieldCodec<ArrayEncoding | undefined> =>
  submessage(number, () => ArrayEncoding);
const nestedList = (number: number): FieldCodec<ArrayEncoding[]> =>
  repeatedMessage(number, () => ArrayEncoding);

/** `scheme` is `zstd`, `lz4` or `none`. */
const Compression = message("Compression", { scheme: string(1), level: int32(2) });
const Flat = message("Flat", {
  bitsPerValue: uint64(1),
  buffer: submessage(2, BufferReference),
  compression: submessage(3, Compression),
});
export type Flat = MessageOf<typeof Flat>;
const BitpackedForNonNeg = message("BitpackedForNonNeg", {
  compressedBitsPerValue: uint64(1),
  uncompressedBitsPerValue: uint64(2),
  buffer: submessage(3, BufferReference),
});
export type BitpackedForNonNeg = MessageOf<typeof BitpackedForNonNeg>;
const Bitpacked = message("Bitpacked", {
  compressedBitsPerValue: uint64(1),
  uncompressedBitsPerValue: uint64(2),
  buffer: submessage(3, BufferReference),
  signed: bool(4),
});
export type Bitpacked = MessageOf<typeof Bitpacked>;
const Constant = message("Constant", { value: bytes(1) });
/** Exactly one member is set. */
const Nullable = oneof("Nullable", {
  noNulls: submessage(1, message("NoNull", { values: nested(1) })),
  someNulls: submessage(2, message("SomeNull", { validity: nested(1), values: nested(2) })),
  allNulls: submessage(3, Empty),
});
const FixedSizeList = message("FixedSizeList", {
  dimension: uint32(1),
  items: nested(2),
  hasValidity: bool(3),
});
const List = message("List", {
  offsets: nested(1),
  /** Added to the end offset of a null list. */
  nullOffsetAdjustment: uint64(2),
  /** Number of items of all lists of the page. */
  itemCount: uint64(3),
});
const Binary = message("Binary", {
  indices: nested(1),
  bytes: nested(2),
  /** Added to the end offset of a null value. */
  nullAdjustment: uint64(3),
});
export type Binary = MessageOf<typeof Binary>;
const Dictionary = message("Dictionary", { indices: nested(1), items: nested(2), itemCount: uint32(3) });
export type Dictionary = MessageOf<typeof Dictionary>;
const Fsst = message("Fsst", { binary: nested(1), symbolTable: bytes(2) });
const PackedStruct = message("PackedStruct", {
  inner: nestedList(1),
  buffer: submessage(2, BufferReference),
});
export type PackedStruct = MessageOf<typeof PackedStruct>;
const FixedSizeBinary = message("FixedSizeBinary", { bytes: nested(1), byteWidth: uint32(2) });
export type FixedSizeBinary = MessageOf<typeof FixedSizeBinary>;

export const ArrayEncoding = oneof("ArrayEncoding", {
  flat: submessage(1, Flat),
  nullable: submessage(2, Nullable),
  fixedSizeList: submessage(3, FixedSizeList),
  list: submessage(4, List),
  struct: submessage(5, Empty),
  binary: submessage(6, Binary),
  dictionary: submessage(7, Dictionary),
  fsst: submessage(8, Fsst),
  packedStruct: submessage(9, PackedStruct),
  bitpacked: submessage(10, Bitpacked),
  fixedSizeBinary: submessage(11, FixedSizeBinary),
  bitpackedForNonNeg: submessage(12, BitpackedForNonNeg),
  constant: submessage(13, Constant),
});
/** Storage of an array of a page; nests. Exactly one member is set. */
export interface ArrayEncoding extends MessageOf<typeof ArrayEncoding> {}
