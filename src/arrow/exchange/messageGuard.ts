/**
 * Checks the metadata of an Arrow IPC message before apache-arrow decodes it. apache-arrow's flatbuffer
 * readers check nothing. A table outside the bytes reads as zeros, and a vector that claims two billion
 * fields is read field by field.
 *
 * The guard follows every table, vector and string with bounds checks. It limits the work of decoding to a
 * small multiple of the metadata's size, and limits the total numbers of fields and of metadata pairs. Many
 * fields may point to the same field, whose children are shared in turn. apache-arrow decodes a shared field
 * again each time, so it counts each time.
 *
 *     table    i32 distance back to its vtable; then its fields
 *     vtable   u16 bytes of the vtable, u16 bytes of the table, u16 position of each field in the
 *              table, 0 if it is absent
 *     offset   u32, from its own position to a table, vector or string
 *     vector   u32 count, then the elements; a string is a vector of bytes
 *
 * Field numbers are those of Message.fbs and Schema.fbs of Arrow's columnar format.
 *
 * apache-arrow does not know list views. The guard turns list view types of a schema into list types. It
 * removes the sizes of list views from a batch's buffers and returns them separately.
 */

import { UnsupportedError } from "../../errors.js";
import {
  LARGE_LIST_VIEW_TYPE,
  LIST_VIEW_TYPE,
  RUN_END_ENCODED_TYPE,
  typeOfNumber,
} from "../types/typeParameters.js";
import { malformedIpc as malformed } from "./malformedIpc.js";

const MAX_NESTING = 64;
/** Factor of the metadata's size: bytes and elements that decoding may visit, shared strings each time. */
const WORK_FACTOR = 16;
const MIN_WORK = 65536;
const MAX_WORK = 2 ** 26;
/** Maximum number of fields of a schema, including nested fields and fields of dictionaries. */
const MAX_FIELDS = 2 ** 16;
/** Maximum number of key-value pairs of a schema and its fields, or of a message. */
const MAX_PAIRS = 2 ** 17;
/** Maximum buffers of a type, without the data buffers of its views. */
const BUFFERS_PER_FIELD = 3;

const HEADER_SCHEMA = 1;
const HEADER_DICTIONARY_BATCH = 2;
const HEADER_RECORD_BATCH = 3;
/** Header types of messages that hold a tensor, sparse or not, instead of rows. */
const HEADERS_OF_TENSORS: readonly number[] = [4, 5];
const TYPE_INT = 2;
const TYPE_TIMESTAMP = 10;
const TYPE_LIST = 12;
const TYPE_STRUCT = 13;
const TYPE_UNION = 14;
const TYPE_LARGE_LIST = 21;
const TYPE_BINARY_VIEW = 23;
const TYPE_UTF8_VIEW = 24;
/** Largest number of a readable type. */
const LAST_TYPE = LARGE_LIST_VIEW_TYPE;
/** List types that replace list view types. */
const LISTS_OF_VIEWS = new Map([
  [LIST_VIEW_TYPE, TYPE_LIST],
  [LARGE_LIST_VIEW_TYPE, TYPE_LARGE_LIST],
]);
/** Buffers of a column by its type, for types that do not have two. Data buffers of views are extra. */
const BUFFERS_OF_TYPES = new Map([
  [1, 0],
  [4, 3],
  [5, 3],
  [TYPE_STRUCT, 1],
  [16, 1],
  [19, 3],
  [20, 3],
  [LIST_VIEW_TYPE, 3],
  [LARGE_LIST_VIEW_TYPE, 3],
]);
const BUFFERS_OF_MOST_TYPES = 2;
/** Index of the buffer of sizes, which only list views have. */
const SIZES_BUFFER = 2;
const NODE_BYTES = 16;
const BUFFER_BYTES = 16;
const VARIADIC_COUNT_BYTES = 8;
/** Bytes of a block: i64 offset, i32 bytes of metadata, 4 bytes of padding, i64 bytes of body. */
const BLOCK_BYTES = 24;
const LITTLE_ENDIAN = 0;
const BIG_ENDIAN = 1;

/** The fields of a schema, as its batches list them. */
export interface IpcFields {
  /** Number of fields, including nested fields and fields of dictionaries. */
  readonly count: number;
  /** Types of the columns of a batch, each before those of its children. Null if no type is a list view. */
  readonly types: readonly number[] | null;
}

export const NO_FIELDS: IpcFields = { count: 0, types: null };

export const isListViewType = (type: number): boolean => LISTS_OF_VIEWS.has(type);

/** Range of a buffer in the body of a message. */
export interface BufferRange {
  readonly offset: number;
  readonly length: number;
}

export interface CheckedMetadata {
  /** The metadata for apache-arrow, with lists instead of list views. */
  readonly metadata: Uint8Array;
  /** Fields of a schema. Any other message keeps those of the schema before it. */
  readonly fields: IpcFields;
  /** Ranges of the sizes of list views, in the order of a batch's columns; maybe outside the body. */
  readonly sizes: readonly BufferRange[];
}

/**
 * @param fields those of the schema before a batch
 * @throws InvalidInputError if apache-arrow would read outside the metadata or forever; UnsupportedError for
 *   a well-formed message that cannot be read
 */
export function checkMessageMetadata(metadata: Uint8Array, fields: IpcFields): CheckedMetadata {
  const guard = new Guard(metadata);
  guard.message(fields);
  const checked = guard.fields ?? fields;
  if (!guard.hasListViews) return { metadata, fields: checked, sizes: guard.sizes };
  const changed = guard.withoutListViews();
  // If parts of the metadata share bytes, the change may have altered other parts.
  const again = new Guard(changed);
  again.message({ count: fields.count, types: null });
  if (again.hasListViews) throw malformed("metadata that refers to itself over and over");
  return { metadata: changed, fields: checked, sizes: guard.sizes };
}

/** Location of a message in a file. `byteLength` counts its metadata and body. */
export interface IpcBlock {
  readonly offset: number;
  readonly byteLength: number;
}

export interface IpcFooter {
  /** The footer for apache-arrow, with lists instead of list views. */
  readonly footer: Uint8Array;
  readonly fields: IpcFields;
  readonly dictionaries: readonly IpcBlock[];
  readonly batches: readonly IpcBlock[];
}

/**
 * Reads the locations of a file's messages. Does not check that they lie inside the file.
 * @throws InvalidInputError for the same reasons as {@link checkMessageMetadata}
 */
export function checkFooter(footer: Uint8Array): IpcFooter {
  const guard = new Guard(footer);
  const blocks = guard.footer();
  const fields = guard.fields ?? NO_FIELDS;
  if (!guard.hasListViews) return { footer, fields, ...blocks };
  const changed = guard.withoutListViews();
  const again = new Guard(changed);
  const blocksAgain = again.footer();
  if (again.hasListViews) throw malformed("metadata that refers to itself over and over");
  return { footer: changed, fields, ...blocksAgain };
}

const utf8Decoder = new TextDecoder();

class Guard {
  readonly #view: DataView;
  #work: number;
  #fieldCount = 0;
  #pairCount = 0;
  /** Types of a batch's columns. */
  readonly #types: number[] = [];
  #hasSchema = false;
  /** Positions of list view types in the metadata. */
  readonly #listViews: number[] = [];
  /** The buffers of a batch, and the indices of those that are sizes of list views. */
  #buffers: { start: number; count: number; sizes: readonly number[] } | null = null;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#work = Math.min(Math.max(bytes.byteLength * WORK_FACTOR, MIN_WORK), MAX_WORK);
  }

  /** The fields of the schema; null if the message is not a schema. */
  get fields(): IpcFields | null {
    if (!this.#hasSchema) return null;
    return { count: this.#fieldCount, types: this.#listViews.length > 0 ? this.#types : null };
  }

  get hasListViews(): boolean {
    return this.#listViews.length > 0 || this.#buffers !== null;
  }

  /** Ranges of the sizes of a batch's list views in its body. */
  get sizes(): BufferRange[] {
    const { start, sizes } = this.#buffers ?? { start: 0, sizes: [] };
    return sizes.map((index) => {
      const position = start + index * BUFFER_BYTES;
      return { offset: this.#int64(position), length: this.#int64(position + 8) };
    });
  }

  /** Returns a copy of the bytes with lists instead of list views. */
  withoutListViews(): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#view;
    const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
    for (const position of this.#listViews) {
      // Several fields may share a position.
      bytes[position] = LISTS_OF_VIEWS.get(bytes[position]) ?? bytes[position];
    }
    if (this.#buffers !== null) {
      const { start, count, sizes } = this.#buffers;
      for (const [index, removed] of sizes.entries()) {
        const from = start + (removed + 1) * BUFFER_BYTES;
        const end = start + (sizes[index + 1] ?? count) * BUFFER_BYTES;
        bytes.copyWithin(from - (index + 1) * BUFFER_BYTES, from, end);
      }
      new DataView(bytes.buffer).setUint32(start - 4, count - sizes.length, true);
    }
    return bytes;
  }

  message(fields: IpcFields): void {
    const message = this.#checkTable(this.#follow(0));
    const kind = this.#byte(message, 1);
    this.#keyValues(message, 4);
    const header = this.#table(message, 2);
    if (header === 0) throw malformed("a message without header");
    switch (kind) {
      case HEADER_SCHEMA:
        this.#schema(header);
        return;
      case HEADER_RECORD_BATCH:
        this.#recordBatch(header, fields);
        return;
      case HEADER_DICTIONARY_BATCH: {
        const batch = this.#table(header, 1);
        if (batch === 0) throw malformed("a dictionary batch without data");
        // The schema check has already refused dictionaries of list views.
        this.#recordBatch(batch, { count: fields.count, types: null });
        return;
      }
      default:
        if (HEADERS_OF_TENSORS.includes(kind)) {
          throw new UnsupportedError(
            "Arrow IPC data with tensors in place of rows is not supported by this release",
          );
        }
        throw malformed(`a message of unknown kind ${kind}`);
    }
  }

  footer(): Pick<IpcFooter, "dictionaries" | "batches"> {
    const footer = this.#checkTable(this.#follow(0));
    const schema = this.#table(footer, 1);
    if (schema === 0) throw malformed("a file without schema");
    this.#schema(schema);
    return { dictionaries: this.#blocks(footer, 2), batches: this.#blocks(footer, 3) };
  }

  #blocks(footer: number, slot: number): IpcBlock[] {
    const vector = this.#vector(footer, slot, BLOCK_BYTES);
    if (vector === null) return [];
    return Array.from({ length: vector.count }, (_, index) => {
      const position = vector.start + index * BLOCK_BYTES;
      const metadataLength = this.#view.getInt32(position + 8, true);
      return { offset: this.#int64(position), byteLength: metadataLength + this.#int64(position + 16) };
    });
  }

  #schema(schema: number): void {
    const endianness = this.#short(schema, 0);
    if (endianness === BIG_ENDIAN) {
      throw new UnsupportedError("Arrow IPC data in big-endian order is not supported by this release");
    }
    if (endianness !== LITTLE_ENDIAN) throw malformed(`the byte order ${endianness} is unknown`);
    this.#keyValues(schema, 2);
    this.#hasSchema = true;
    this.#fields(schema, 1, [], false);
  }

  /**
   * @param parents fields that contain these
   * @param isCoded true for fields of a dictionary's values
   */
  #fields(parent: number, slot: number, parents: readonly number[], isCoded: boolean): void {
    if (parents.length > MAX_NESTING) throw malformed("types nested too deep");
    this.#tables(parent, slot, (field) => {
      if (++this.#fieldCount > MAX_FIELDS) throw malformed(`a schema of more than ${MAX_FIELDS} fields`);
      this.#string(field, 0);
      this.#keyValues(field, 6);
      const type = this.#table(field, 3);
      const typeId = this.#byte(field, 2);
      const dictionary = this.#table(field, 4);
      const isDictionary = isCoded || dictionary !== 0;
      const isListView = isListViewType(typeId);
      if (typeId > LAST_TYPE || typeId === RUN_END_ENCODED_TYPE || (isListView && isDictionary)) {
        const path = [...parents, field].map((part) => this.#text(part, 0)).join(".");
        const of = isListView ? "dictionaries of type" : "type";
        throw new UnsupportedError(
          `column ${path}: ${of} ${typeOfNumber(typeId)} is not supported by this release`,
        );
      }
      if (isListView) this.#listViews.push(this.#field(field, 2, 1));
      if (!isCoded) this.#types.push(dictionary !== 0 ? TYPE_INT : this.#typeByBuffers(typeId, type));
      if (type !== 0) {
        if (typeId === TYPE_UNION) this.#vector(type, 1, 4);
        // Slot 1 of a timestamp is the offset of a string. No reader follows an offset in slot 1 of other
        // types.
        if (typeId === TYPE_TIMESTAMP) this.#string(type, 1);
      }
      if (dictionary !== 0) this.#table(dictionary, 1);
      this.#fields(field, 5, [...parents, field], isDictionary);
    });
  }

  /** Returns a type number with the right number of buffers. A sparse union has one buffer. */
  #typeByBuffers(typeId: number, type: number): number {
    return typeId === TYPE_UNION && type !== 0 && this.#short(type, 0) === 0 ? TYPE_STRUCT : typeId;
  }

  #recordBatch(batch: number, { count: fields, types }: IpcFields): void {
    const nodes = this.#vector(batch, 1, NODE_BYTES);
    const buffers = this.#vector(batch, 2, BUFFER_BYTES);
    const variadic = this.#vector(batch, 4, VARIADIC_COUNT_BYTES) ?? { start: 0, count: 0 };
    const bufferCount = buffers?.count ?? 0;
    let inViews = 0;
    const inView = (column: number) => this.#int64(variadic.start + column * VARIADIC_COUNT_BYTES);
    for (let column = 0; column < variadic.count; column++) {
      const count = inView(column);
      if (count < 0 || count > bufferCount)
        throw malformed(`a column of ${count} buffers among ${bufferCount}`);
      inViews += count;
    }
    const most = fields * BUFFERS_PER_FIELD + inViews;
    if ((nodes?.count ?? 0) > fields || variadic.count > fields || bufferCount > most) {
      throw malformed("a batch of more columns than its schema has fields");
    }
    if (inViews > bufferCount) throw malformed(`views of ${inViews} buffers among ${bufferCount}`);
    this.#table(batch, 3);
    if (types === null || buffers === null) return;
    if ((nodes?.count ?? 0) > types.length) throw malformed("a batch of more columns than its schema has");
    // Writers omit the children of columns without rows.
    if (nodes?.count !== types.length) return;
    const sizes: number[] = [];
    let position = 0;
    let viewColumn = 0;
    for (const type of types) {
      if (isListViewType(type)) sizes.push(position + SIZES_BUFFER);
      position += BUFFERS_OF_TYPES.get(type) ?? BUFFERS_OF_MOST_TYPES;
      if (type === TYPE_BINARY_VIEW || type === TYPE_UTF8_VIEW) {
        if (viewColumn < variadic.count) position += inView(viewColumn);
        viewColumn++;
      }
    }
    if (position > bufferCount) throw malformed(`a batch of ${bufferCount} buffers in place of ${position}`);
    this.#buffers = { ...buffers, sizes };
  }

  #keyValues(parent: number, slot: number): void {
    this.#tables(parent, slot, (entry) => {
      if (++this.#pairCount > MAX_PAIRS) throw malformed(`more than ${MAX_PAIRS} pairs of metadata`);
      this.#string(entry, 0);
      this.#string(entry, 1);
    });
  }

  #tables(parent: number, slot: number, visit: (table: number) => void): void {
    const vector = this.#vector(parent, slot, 4);
    if (vector === null) return;
    for (let index = 0; index < vector.count; index++)
      visit(this.#checkTable(this.#follow(vector.start + index * 4)));
  }

  /** Position of a field's value in the bytes; 0 if the table lacks it. */
  #field(table: number, slot: number, byteLength: number): number {
    const vtable = table - this.#int32(table);
    if (vtable < 0) throw malformed("a table without layout");
    const entry = 4 + slot * 2;
    if (entry + 2 > this.#uint16(vtable)) return 0;
    const distance = this.#uint16(vtable + entry);
    if (distance === 0) return 0;
    this.#require(table + distance, byteLength);
    return table + distance;
  }

  #byte(table: number, slot: number): number {
    const position = this.#field(table, slot, 1);
    return position === 0 ? 0 : this.#view.getUint8(position);
  }

  #short(table: number, slot: number): number {
    const position = this.#field(table, slot, 2);
    return position === 0 ? 0 : this.#view.getInt16(position, true);
  }

  #table(parent: number, slot: number): number {
    const position = this.#field(parent, slot, 4);
    return position === 0 ? 0 : this.#checkTable(this.#follow(position));
  }

  #checkTable(table: number): number {
    const vtable = table - this.#int32(table);
    if (vtable < 0) throw malformed("a table without layout");
    this.#require(vtable, this.#uint16(vtable));
    this.#spend(1);
    return table;
  }

  #vector(parent: number, slot: number, elementBytes: number): { start: number; count: number } | null {
    const position = this.#field(parent, slot, 4);
    if (position === 0) return null;
    const vector = this.#follow(position);
    const count = this.#uint32(vector);
    this.#require(vector + 4, count * elementBytes);
    this.#spend(count * elementBytes);
    return { start: vector + 4, count };
  }

  #string(parent: number, slot: number): void {
    this.#vector(parent, slot, 1);
  }

  #text(parent: number, slot: number): string {
    const vector = this.#vector(parent, slot, 1);
    if (vector === null) return "";
    const { buffer, byteOffset } = this.#view;
    return utf8Decoder.decode(new Uint8Array(buffer, byteOffset + vector.start, vector.count));
  }

  #follow(position: number): number {
    const target = position + this.#uint32(position);
    this.#require(target, 4);
    return target;
  }

  /** Reads an integer of an element of a vector, whose bounds were checked. */
  #int64(position: number): number {
    return Number(this.#view.getBigInt64(position, true));
  }

  #int32(position: number): number {
    this.#require(position, 4);
    return this.#view.getInt32(position, true);
  }

  #uint32(position: number): number {
    this.#require(position, 4);
    return this.#view.getUint32(position, true);
  }

  #uint16(position: number): number {
    this.#require(position, 2);
    return this.#view.getUint16(position, true);
  }

  #require(position: number, byteLength: number): void {
    if (position < 0 || position + byteLength > this.#view.byteLength) {
      throw malformed("metadata that points outside itself");
    }
  }

  #spend(work: number): void {
    this.#work -= work;
    if (this.#work < 0) throw malformed("metadata that refers to itself over and over");
  }
}
