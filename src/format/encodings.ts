/**
 * Page encodings of file versions 2.1 and 2.2, proto package `lance.encodings21`. Field numbers are wire
 * contract and never change. A oneof is a set of optional members, one of which is set.
 */

import {
  bool,
  bytes,
  explicitBytes,
  explicitInt32,
  explicitUint64,
  type FieldCodec,
  type MessageOf,
  message,
  oneof,
  repeatedMessage,
  repeatedUint32,
  repeatedUint64,
  submessage,
  uint32,
  uint64,
} from "./message.js";

/** Type URL of a {@link PageLayout} in a page of a 2.1 or 2.2 file. */
export const PAGE_LAYOUT_TYPE_URL = "/lance.encodings21.PageLayout";
/** Type URL of the column-level encoding, the same in all versions. */
export const COLUMN_ENCODING_TYPE_URL = "/lance.encodings.ColumnEncoding";

/** Content of a layer of nesting; `layers` lists them innermost first. */
export const RepDefLayer = {
  ALL_VALID_ITEM: 1,
  ALL_VALID_LIST: 2,
  NULLABLE_ITEM: 3,
  NULLABLE_LIST: 4,
  EMPTYABLE_LIST: 5,
  NULL_AND_EMPTY_LIST: 6,
} as const;

export const CompressionScheme = { UNSPECIFIED: 0, LZ4: 1, ZSTD: 2 } as const;

export const BufferCompression = message("BufferCompression", {
  scheme: uint32(1),
  level: explicitInt32(2),
});
export type BufferCompression = MessageOf<typeof BufferCompression>;

/** A member of a message that encodings hold, and that holds an encoding itself. */
const nested = (number: number): FieldCodec<CompressiveEncoding | undefined> =>
  submessage(number, () => CompressiveEncoding);

const Flat = message("Flat", { bitsPerValue: uint64(1), data: submessage(2, BufferCompression) });
const Constant = message("Constant", { value: explicitBytes(1) });
const InlineBitpacking = message("InlineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  values: submessage(2, BufferCompression),
});
export type InlineBitpacking = MessageOf<typeof InlineBitpacking>;
const Variable = message("Variable", {
  /** Flat, 32 or 64 bits. */
  offsets: nested(1),
  values: submessage(2, BufferCompression),
});
const OutOfLineBitpacking = message("OutOfLineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  /** Flat; its width is the packed width and may be 0. */
  values: nested(3),
});
export type OutOfLineBitpacking = MessageOf<typeof OutOfLineBitpacking>;
const Fsst = message("Fsst", { symbolTable: bytes(1), values: nested(2) });
const Dictionary = message("Dictionary", {
  indices: nested(1),
  items: nested(2),
  dictionaryItemCount: uint32(3),
});
const Rle = message("Rle", { values: nested(1), runLengths: nested(2) });
export type Rle = MessageOf<typeof Rle>;
const ByteStreamSplit = message("ByteStreamSplit", { values: nested(1) });
export type ByteStreamSplit = MessageOf<typeof ByteStreamSplit>;
const General = message("General", { compression: submessage(1, BufferCompression), values: nested(3) });
const FixedSizeList = message("FixedSizeList", {
  itemsPerValue: uint64(1),
  values: nested(2),
  hasValidity: bool(3),
});
export type FixedSizeList = MessageOf<typeof FixedSizeList>;
const PackedStruct = message("PackedStruct", { bitsPerValue: repeatedUint64(1), values: nested(2) });
const VariablePackedField = oneof("VariablePackedField", {
  value: nested(1),
  bitsPerValue: explicitUint64(2),
  bitsPerLength: explicitUint64(3),
});
export type VariablePackedField = MessageOf<typeof VariablePackedField>;
const VariablePackedStruct = message("VariablePackedStruct", {
  fields: repeatedMessage(1, VariablePackedField),
});

const CompressiveEncoding = oneof("CompressiveEncoding", {
  flat: submessage(1, Flat),
  variable: submessage(2, Variable),
  constant: submessage(3, Constant),
  outOfLineBitpacking: submessage(4, OutOfLineBitpacking),
  inlineBitpacking: submessage(5, InlineBitpacking),
  fsst: submessage(6, Fsst),
  dictionary: submessage(7, Dictionary),
  rle: submessage(8, Rle),
  byteStreamSplit: submessage(9, ByteStreamSplit),
  general: submessage(10, General),
  fixedSizeList: submessage(11, FixedSizeList),
  packedStruct: submessage(12, PackedStruct),
  variablePackedStruct: submessage(13, VariablePackedStruct),
});
/** Compression of a buffer of values; nests. Exactly one member is set. */
export interface CompressiveEncoding extends MessageOf<typeof CompressiveEncoding> {}

export const MiniBlockLayout = message("MiniBlockLayout", {
  repCompression: nested(1),
  defCompression: nested(2),
  valueCompression: nested(3),
  dictionary: nested(4),
  dictionaryItemCount: uint64(5),
  layers: repeatedUint32(6),
  /** Value buffers per chunk, levels not counted. */
  bufferCount: uint64(7),
  repetitionIndexDepth: uint32(8),
  /** Visible items of the page. */
  itemCount: uint64(9),
  /** Chunk words and value-buffer sizes are 32 bits wide (2.2). */
  hasLargeChunk: bool(10),
});
export type MiniBlockLayout = MessageOf<typeof MiniBlockLayout>;

export const FullZipLayout = message("FullZipLayout", {
  repBits: uint32(1),
  defBits: uint32(2),
  /** Set for fixed-width values; bits of a value, item validity included. */
  bitsPerValue: explicitUint64(3),
  /** Set for variable-width values; bits of the length prefix. */
  bitsPerOffset: explicitUint64(4),
  /** Events of the page, invisible ones included. */
  itemCount: uint64(5),
  visibleItemCount: uint64(6),
  valueCompression: nested(7),
  layers: repeatedUint32(8),
});
export type FullZipLayout = MessageOf<typeof FullZipLayout>;

export const ConstantLayout = message("ConstantLayout", {
  layers: repeatedUint32(5),
  inlineValue: explicitBytes(6),
  repCompression: nested(7),
  defCompression: nested(8),
  repValueCount: uint64(9),
  defValueCount: uint64(10),
});
export type ConstantLayout = MessageOf<typeof ConstantLayout>;

const innerLayout = (number: number): FieldCodec<PageLayout | undefined> =>
  submessage(number, () => PageLayout);
const BlobLayout = message("BlobLayout", {
  innerLayout: innerLayout(1),
  layers: repeatedUint32(2),
});
export type BlobLayout = MessageOf<typeof BlobLayout>;

export const PageLayout = oneof("PageLayout", {
  miniBlock: submessage(1, MiniBlockLayout),
  constant: submessage(2, ConstantLayout),
  fullZip: submessage(3, FullZipLayout),
  blob: submessage(4, BlobLayout),
});
/** Layout of a page in its buffers. Exactly one member is set; 5 is the sparse layout of 2.3. */
export interface PageLayout extends MessageOf<typeof PageLayout> {}
