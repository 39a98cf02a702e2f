/**
 * Page encodings of file versions 2.1 and 2.2, proto package `lance.encodings21`. Field numbers are wire
 * contract and never change. A oneof is a set of optional members of which one is set.
 */

import {
  type AnyMessage,
  bool,
  bytes,
  explicitBytes,
  explicitInt32,
  explicitUint64,
  type MessageOf,
  message,
  recursiveMessage,
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

export const Flat = message("Flat", {
  bitsPerValue: uint64(1),
  data: submessage(2, BufferCompression),
});
export type Flat = MessageOf<typeof Flat>;

export const Constant = message("Constant", { value: explicitBytes(1) });
export type Constant = MessageOf<typeof Constant>;

export const InlineBitpacking = message("InlineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  values: submessage(2, BufferCompression),
});
export type InlineBitpacking = MessageOf<typeof InlineBitpacking>;

/** Compression of a buffer of values; nests. Exactly one member is set. */
export interface CompressiveEncoding {
  flat?: Flat;
  variable?: Variable;
  constant?: Constant;
  outOfLineBitpacking?: OutOfLineBitpacking;
  inlineBitpacking?: InlineBitpacking;
  fsst?: Fsst;
  dictionary?: Dictionary;
  rle?: Rle;
  byteStreamSplit?: ByteStreamSplit;
  general?: General;
  fixedSizeList?: FixedSizeList;
  packedStruct?: PackedStruct;
  variablePackedStruct?: VariablePackedStruct;
  unknown?: Uint8Array;
}
export interface Variable {
  /** Flat, 32 or 64 bits. */
  offsets?: CompressiveEncoding;
  values?: BufferCompression;
  unknown?: Uint8Array;
}
export interface OutOfLineBitpacking {
  uncompressedBitsPerValue: number;
  /** Flat; its width is the packed width and may be 0. */
  values?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface Fsst {
  symbolTable: Uint8Array;
  values?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface Dictionary {
  indices?: CompressiveEncoding;
  items?: CompressiveEncoding;
  dictionaryItemCount: number;
  unknown?: Uint8Array;
}
export interface Rle {
  values?: CompressiveEncoding;
  runLengths?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface ByteStreamSplit {
  values?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface General {
  compression?: BufferCompression;
  values?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface FixedSizeList {
  itemsPerValue: number;
  values?: CompressiveEncoding;
  hasValidity: boolean;
  unknown?: Uint8Array;
}
export interface PackedStruct {
  bitsPerValue: number[];
  values?: CompressiveEncoding;
  unknown?: Uint8Array;
}
export interface VariablePackedStruct {
  fields: VariablePackedField[];
  unknown?: Uint8Array;
}
export interface VariablePackedField {
  value?: CompressiveEncoding;
  bitsPerValue?: number;
  bitsPerLength?: number;
  unknown?: Uint8Array;
}

const nested = (number: number) => submessage(number, (): AnyMessage => CompressiveEncoding);

export const Variable = recursiveMessage<Variable>("Variable", {
  offsets: nested(1),
  values: submessage(2, BufferCompression),
});
export const OutOfLineBitpacking = recursiveMessage<OutOfLineBitpacking>("OutOfLineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  values: nested(3),
});
export const Fsst = recursiveMessage<Fsst>("Fsst", {
  symbolTable: bytes(1),
  values: nested(2),
});
export const Dictionary = recursiveMessage<Dictionary>("Dictionary", {
  indices: nested(1),
  items: nested(2),
  dictionaryItemCount: uint32(3),
});
export const Rle = recursiveMessage<Rle>("Rle", { values: nested(1), runLengths: nested(2) });
export const ByteStreamSplit = recursiveMessage<ByteStreamSplit>("ByteStreamSplit", {
  values: nested(1),
});
export const General = recursiveMessage<General>("General", {
  compression: submessage(1, BufferCompression),
  values: nested(3),
});
export const FixedSizeList = recursiveMessage<FixedSizeList>("FixedSizeList", {
  itemsPerValue: uint64(1),
  values: nested(2),
  hasValidity: bool(3),
});
export const PackedStruct = recursiveMessage<PackedStruct>("PackedStruct", {
  bitsPerValue: repeatedUint64(1),
  values: nested(2),
});
export const VariablePackedField = recursiveMessage<VariablePackedField>("VariablePackedField", {
  value: nested(1),
  bitsPerValue: explicitUint64(2),
  bitsPerLength: explicitUint64(3),
});
export const VariablePackedStruct = recursiveMessage<VariablePackedStruct>("VariablePackedStruct", {
  fields: repeatedMessage(1, VariablePackedField),
});

export const CompressiveEncoding = recursiveMessage<CompressiveEncoding>("CompressiveEncoding", {
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

export interface MiniBlockLayout {
  repCompression?: CompressiveEncoding;
  defCompression?: CompressiveEncoding;
  valueCompression?: CompressiveEncoding;
  dictionary?: CompressiveEncoding;
  dictionaryItemCount: number;
  layers: number[];
  /** Value buffers per chunk, levels not counted. */
  bufferCount: number;
  repetitionIndexDepth: number;
  /** Visible items of the page. */
  itemCount: number;
  /** Chunk words and value-buffer sizes are 32 bits wide (2.2). */
  hasLargeChunk: boolean;
  unknown?: Uint8Array;
}
export const MiniBlockLayout = recursiveMessage<MiniBlockLayout>("MiniBlockLayout", {
  repCompression: nested(1),
  defCompression: nested(2),
  valueCompression: nested(3),
  dictionary: nested(4),
  dictionaryItemCount: uint64(5),
  layers: repeatedUint32(6),
  bufferCount: uint64(7),
  repetitionIndexDepth: uint32(8),
  itemCount: uint64(9),
  hasLargeChunk: bool(10),
});

export interface FullZipLayout {
  repBits: number;
  defBits: number;
  /** Set for fixed-width values; bits of a value, item validity included. */
  bitsPerValue?: number;
  /** Set for variable-width values; bits of the length prefix. */
  bitsPerOffset?: number;
  /** Events of the page, invisible ones included. */
  itemCount: number;
  visibleItemCount: number;
  valueCompression?: CompressiveEncoding;
  layers: number[];
  unknown?: Uint8Array;
}
export const FullZipLayout = recursiveMessage<FullZipLayout>("FullZipLayout", {
  repBits: uint32(1),
  defBits: uint32(2),
  bitsPerValue: explicitUint64(3),
  bitsPerOffset: explicitUint64(4),
  itemCount: uint64(5),
  visibleItemCount: uint64(6),
  valueCompression: nested(7),
  layers: repeatedUint32(8),
});

export interface ConstantLayout {
  layers: number[];
  inlineValue?: Uint8Array;
  repCompression?: CompressiveEncoding;
  defCompression?: CompressiveEncoding;
  repValueCount: number;
  defValueCount: number;
  unknown?: Uint8Array;
}
export const ConstantLayout = recursiveMessage<ConstantLayout>("ConstantLayout", {
  layers: repeatedUint32(5),
  inlineValue: explicitBytes(6),
  repCompression: nested(7),
  defCompression: nested(8),
  repValueCount: uint64(9),
  defValueCount: uint64(10),
});

export interface BlobLayout {
  innerLayout?: PageLayout;
  layers: number[];
  unknown?: Uint8Array;
}
export const BlobLayout = recursiveMessage<BlobLayout>("BlobLayout", {
  innerLayout: submessage(1, (): AnyMessage => PageLayout),
  layers: repeatedUint32(2),
});

/** Layout of a page in its buffers. Exactly one member is set; 5 is the sparse layout of 2.3. */
export interface PageLayout {
  miniBlock?: MiniBlockLayout;
  constant?: ConstantLayout;
  fullZip?: FullZipLayout;
  blob?: BlobLayout;
  unknown?: Uint8Array;
}
export const PageLayout = recursiveMessage<PageLayout>("PageLayout", {
  miniBlock: submessage(1, MiniBlockLayout),
  constant: submessage(2, ConstantLayout),
  fullZip: submessage(3, FullZipLayout),
  blob: submessage(4, BlobLayout),
});
