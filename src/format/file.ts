/**
 * Messages of the data-file container: column metadata (proto package `lance.file.v2`) and the schema
 * descriptor (package `lance.file`). Field numbers are wire contract and never change.
 */

import {
  bool,
  bytes,
  bytesMapField,
  Empty,
  int32,
  int64,
  type MessageOf,
  message,
  oneof,
  repeatedInt32,
  repeatedMessage,
  repeatedUint32,
  repeatedUint64,
  string,
  submessage,
  uint32,
  uint64,
} from "./message.js";

export const Any = message("Any", { typeUrl: string(1), value: bytes(2) });
export type Any = MessageOf<typeof Any>;

/** The bytes of an {@link Any}, or their location. */
const Encoding = oneof("Encoding", {
  indirect: submessage(
    1,
    message("DeferredEncoding", { bufferLocation: uint64(1), bufferLength: uint64(2) }),
  ),
  direct: submessage(2, message("DirectEncoding", { encoding: bytes(1) })),
  none: submessage(3, Empty),
});
export type Encoding = MessageOf<typeof Encoding>;

const Page = message("Page", {
  bufferOffsets: repeatedUint64(1),
  bufferSizes: repeatedUint64(2),
  /** Top-level rows of the page (2.1 and later). */
  length: uint64(3),
  encoding: submessage(4, Encoding),
  /** Row number in the file of the page's first row. */
  priority: uint64(5),
});

export const ColumnMetadata = message("ColumnMetadata", {
  encoding: submessage(1, Encoding),
  pages: repeatedMessage(2, Page),
  bufferOffsets: repeatedUint64(3),
  bufferSizes: repeatedUint64(4),
});
export type ColumnMetadata = MessageOf<typeof ColumnMetadata>;

/** Used in legacy 0.1 only; dictionary columns of later versions have it as an empty message. */
export const LegacyDictionary = message("LegacyDictionary", { offset: int64(1), length: int64(2) });

/** One node of a schema, in the manifest and in a file's schema descriptor. */
export const Field = message("Field", {
  /** 0 parent, 1 repeated, 2 leaf; the reference leaves it 0. */
  type: uint32(1),
  /** One path segment. */
  name: string(2),
  id: int32(3),
  /** -1 at top level. */
  parentId: int32(4),
  logicalType: string(5),
  nullable: bool(6),
  /** A remnant of 0.1 that the reference still writes: 1 plain, 2 variable binary, 3 dictionary. */
  encoding: uint32(7),
  dictionary: submessage(8, LegacyDictionary),
  extensionName: string(9),
  metadata: bytesMapField(10),
  unenforcedPrimaryKey: bool(12),
  unenforcedPrimaryKeyPosition: uint32(13),
});
export type Field = MessageOf<typeof Field>;

export const Schema = message("Schema", {
  /** Flat, depth-first, parents before children. */
  fields: repeatedMessage(1, Field),
  metadata: bytesMapField(5),
});
export type Schema = MessageOf<typeof Schema>;

/** Global buffer 0 of every data file. */
export const FileDescriptor = message("FileDescriptor", {
  schema: submessage(1, Schema),
  /** Rows in the file. */
  length: uint64(2),
  /** Fields of this library, which other readers ignore: see checksums.ts. */
  blockCounts: repeatedUint32(998),
  blocksOffset: uint64(999),
  bufferCounts: repeatedUint32(1000),
  /** The last field, as it ends with the checksum of the bytes before it. */
  checksums: bytes(1001),
});
export type FileDescriptor = MessageOf<typeof FileDescriptor>;

/** Metadata of a data file of version 0.1. */
export const LegacyFileMetadata = message(
  "Metadata",
  {
    /** Position of the message that has the schema. */
    manifestPosition: uint64(1),
    /** First row of each batch, and the number of rows as the last entry. */
    batchOffsets: repeatedInt32(2),
    pageTablePosition: uint64(3),
  },
  true,
);
export type LegacyFileMetadata = MessageOf<typeof LegacyFileMetadata>;

/** Message with the schema of a data file of version 0.1. */
export const LegacyManifest = message("Manifest", { fields: repeatedMessage(1, Field) }, true);
