/**
 * Page encodings of file versions 2.1 and 2.2, proto package `lance.encodings21`. Field numbers are wire
 * contract and never change. A oneof is a set of optional members of which one is set.
 */

import {
  bool,
  bytes,
  type Message,
  type MessageOf,
  message,
  optionalBytes,
  optionalInt32,
  optionalUint64,
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

/** What a layer of nesting may hold; `layers` lists them innermost first. */
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
  level: optionalInt32(2),
});
export type BufferCompression = MessageOf<typeof BufferCompression>;

export const Flat = message("Flat", {
  bitsPerValue: uint64(1),
  data: submessage(2, BufferCompression),
});
export type Flat = MessageOf<typeof Flat>;

export const Constant = message("Constant", { value: optionalBytes(1) });
export type Constant = MessageOf<typeof Constant>;

export const InlineBitpacking = message("InlineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  values: submessage(2, BufferCompression),
});
export type InlineBitpacking = MessageOf<typeof InlineBitpacking>;

/** How a buffer of values is compressed; nests. Exactly one member is set. */
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

/** A message whose value type had to be written out because it refers to itself. */
interface Declared<T> {
  readonly typeName: string;
  create(init?: Partial<T>): T;
  decode(bytes: Uint8Array, origin: { readonly path: string; readonly byteOffset: number }): T;
  encode(value: T): Uint8Array;
}

// biome-ignore lint/suspicious/noExplicitAny: the declaration of a message that refers to itself
type Recursive = Message<any>;
function declare<T>(typeName: string, fields: Parameters<typeof message>[1]): Declared<T> {
  return message(typeName, fields) as unknown as Declared<T>;
}
const nested = (number: number) =>
  submessage(number, (): Recursive => CompressiveEncoding as unknown as Recursive);

export const Variable = declare<Variable>("Variable", {
  offsets: nested(1),
  values: submessage(2, BufferCompression),
});
export const OutOfLineBitpacking = declare<OutOfLineBitpacking>("OutOfLineBitpacking", {
  uncompressedBitsPerValue: uint64(1),
  values: nested(3),
});
export const Fsst = declare<Fsst>("Fsst", {
  symbolTable: bytes(1),
  values: nested(2),
});
export const Dictionary = declare<Dictionary>("Dictionary", {
  indices: nested(1),
  items: nested(2),
  dictionaryItemCount: uint32(3),
});
export const Rle = declare<Rle>("Rle", { values: nested(1), runLengths: nested(2) });
export const ByteStreamSplit = declare<ByteStreamSplit>("ByteStreamSplit", {
  values: nested(1),
});
export const General = declare<General>("General", {
  compression: submessage(1, BufferCompression),
  values: nested(3),
});
export const FixedSizeList = declare<FixedSizeList>("FixedSizeList", {
  itemsPerValue: uint64(1),
  values: nested(2),
  hasValidity: bool(3),
});
export const PackedStruct = declare<PackedStruct>("PackedStruct", {
  bitsPerValue: repeatedUint64(1),
  values: nested(2),
});
export const VariablePackedField = declare<VariablePackedField>("VariablePackedField", {
  value: nested(1),
  bitsPerValue: optionalUint64(2),
  bitsPerLength: optionalUint64(3),
});
export const VariablePackedStruct = declare<VariablePackedStruct>("VariablePackedStruct", {
  fields: repeatedMessage(1, VariablePackedField as unknown as Recursive),
});

export const CompressiveEncoding = declare<CompressiveEncoding>("CompressiveEncoding", {
  flat: submessage(1, Flat),
  variable: submessage(2, Variable as unknown as Recursive),
  constant: submessage(3, Constant),
  outOfLineBitpacking: submessage(4, OutOfLineBitpacking as unknown as Recursive),
  inlineBitpacking: submessage(5, InlineBitpacking),
  fsst: submessage(6, Fsst as unknown as Recursive),
  dictionary: submessage(7, Dictionary as unknown as Recursive),
  rle: submessage(8, Rle as unknown as Recursive),
  byteStreamSplit: submessage(9, ByteStreamSplit as unknown as Recursive),
  general: submessage(10, General as unknown as Recursive),
  fixedSizeList: submessage(11, FixedSizeList as unknown as Recursive),
  packedStruct: submessage(12, PackedStruct as unknown as Recursive),
  variablePackedStruct: submessage(13, VariablePackedStruct as unknown as Recursive),
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
export const MiniBlockLayout = declare<MiniBlockLayout>("MiniBlockLayout", {
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
export const FullZipLayout = declare<FullZipLayout>("FullZipLayout", {
  repBits: uint32(1),
  defBits: uint32(2),
  bitsPerValue: optionalUint64(3),
  bitsPerOffset: optionalUint64(4),
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
export const ConstantLayout = declare<ConstantLayout>("ConstantLayout", {
  layers: repeatedUint32(5),
  inlineValue: optionalBytes(6),
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
export const BlobLayout = declare<BlobLayout>("BlobLayout", {
  innerLayout: submessage(1, (): Recursive => PageLayout as unknown as Recursive),
  layers: repeatedUint32(2),
});

/** How a page lies in its buffers. Exactly one member is set; 5 is the sparse layout of 2.3. */
export interface PageLayout {
  miniBlock?: MiniBlockLayout;
  constant?: ConstantLayout;
  fullZip?: FullZipLayout;
  blob?: BlobLayout;
  unknown?: Uint8Array;
}
export const PageLayout = declare<PageLayout>("PageLayout", {
  miniBlock: submessage(1, MiniBlockLayout as unknown as Recursive),
  constant: submessage(2, ConstantLayout as unknown as Recursive),
  fullZip: submessage(3, FullZipLayout as unknown as Recursive),
  blob: submessage(4, BlobLayout as unknown as Recursive),
});
