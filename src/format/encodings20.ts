/**
 * Page encodings of file version 2.0, proto package `lance.encodings`. Field numbers are wire contract and
 * never change. A oneof is a set of optional members of which one is set. Numbers 14 to 21 of `ArrayEncoding`
 * belong to prototypes of 2.1 that no 2.0 file holds.
 */

import {
  type AnyMessage,
  bool,
  bytes,
  Empty,
  int32,
  type MessageOf,
  message,
  recursiveMessage,
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

/** `scheme` is `zstd`, `lz4` or `none`. */
export const Compression = message("Compression", { scheme: string(1), level: int32(2) });
export type Compression = MessageOf<typeof Compression>;

export const Flat = message("Flat", {
  bitsPerValue: uint64(1),
  buffer: submessage(2, BufferReference),
  compression: submessage(3, Compression),
});
export type Flat = MessageOf<typeof Flat>;

export const Bitpacked = message("Bitpacked", {
  compressedBitsPerValue: uint64(1),
  uncompressedBitsPerValue: uint64(2),
  buffer: submessage(3, BufferReference),
  signed: bool(4),
});
export type Bitpacked = MessageOf<typeof Bitpacked>;

export const BitpackedForNonNeg = message("BitpackedForNonNeg", {
  compressedBitsPerValue: uint64(1),
  uncompressedBitsPerValue: uint64(2),
  buffer: submessage(3, BufferReference),
});
export type BitpackedForNonNeg = MessageOf<typeof BitpackedForNonNeg>;

export const Constant = message("Constant", { value: bytes(1) });
export type Constant = MessageOf<typeof Constant>;

/** Storage of an array of a page; nests. Exactly one member is set. */
export interface ArrayEncoding {
  flat?: Flat;
  nullable?: Nullable;
  fixedSizeList?: FixedSizeList;
  list?: List;
  struct?: Empty;
  binary?: Binary;
  dictionary?: Dictionary;
  fsst?: Fsst;
  packedStruct?: PackedStruct;
  bitpacked?: Bitpacked;
  fixedSizeBinary?: FixedSizeBinary;
  bitpackedForNonNeg?: BitpackedForNonNeg;
  constant?: Constant;
  unknown?: Uint8Array;
}
/** Exactly one member is set. */
export interface Nullable {
  noNulls?: NoNulls;
  someNulls?: SomeNulls;
  allNulls?: Empty;
  unknown?: Uint8Array;
}
export interface NoNulls {
  values?: ArrayEncoding;
  unknown?: Uint8Array;
}
export interface SomeNulls {
  validity?: ArrayEncoding;
  values?: ArrayEncoding;
  unknown?: Uint8Array;
}
export interface FixedSizeList {
  dimension: number;
  items?: ArrayEncoding;
  hasValidity: boolean;
  unknown?: Uint8Array;
}
export interface List {
  offsets?: ArrayEncoding;
  /** Added to the end offset of a null list. */
  nullOffsetAdjustment: number;
  /** Number of items of all lists of the page. */
  itemCount: number;
  unknown?: Uint8Array;
}
export interface Binary {
  indices?: ArrayEncoding;
  bytes?: ArrayEncoding;
  /** Added to the end offset of a null value. */
  nullAdjustment: number;
  unknown?: Uint8Array;
}
export interface Dictionary {
  indices?: ArrayEncoding;
  items?: ArrayEncoding;
  itemCount: number;
  unknown?: Uint8Array;
}
export interface Fsst {
  binary?: ArrayEncoding;
  symbolTable: Uint8Array;
  unknown?: Uint8Array;
}
export interface PackedStruct {
  inner: ArrayEncoding[];
  buffer?: BufferReference;
  unknown?: Uint8Array;
}
export interface FixedSizeBinary {
  bytes?: ArrayEncoding;
  byteWidth: number;
  unknown?: Uint8Array;
}

const nested = (number: number) => submessage(number, (): AnyMessage => ArrayEncoding);

const NoNulls = recursiveMessage<NoNulls>("NoNull", { values: nested(1) });
const SomeNulls = recursiveMessage<SomeNulls>("SomeNull", { validity: nested(1), values: nested(2) });
const Nullable = recursiveMessage<Nullable>("Nullable", {
  noNulls: submessage(1, NoNulls),
  someNulls: submessage(2, SomeNulls),
  allNulls: submessage(3, Empty),
});
const FixedSizeList = recursiveMessage<FixedSizeList>("FixedSizeList", {
  dimension: uint32(1),
  items: nested(2),
  hasValidity: bool(3),
});
const List = recursiveMessage<List>("List", {
  offsets: nested(1),
  nullOffsetAdjustment: uint64(2),
  itemCount: uint64(3),
});
const Binary = recursiveMessage<Binary>("Binary", {
  indices: nested(1),
  bytes: nested(2),
  nullAdjustment: uint64(3),
});
const Dictionary = recursiveMessage<Dictionary>("Dictionary", {
  indices: nested(1),
  items: nested(2),
  itemCount: uint32(3),
});
const Fsst = recursiveMessage<Fsst>("Fsst", { binary: nested(1), symbolTable: bytes(2) });
const PackedStruct = recursiveMessage<PackedStruct>("PackedStruct", {
  inner: repeatedMessage(1, (): AnyMessage => ArrayEncoding),
  buffer: submessage(2, BufferReference),
});
const FixedSizeBinary = recursiveMessage<FixedSizeBinary>("FixedSizeBinary", {
  bytes: nested(1),
  byteWidth: uint32(2),
});

export const ArrayEncoding = recursiveMessage<ArrayEncoding>("ArrayEncoding", {
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
