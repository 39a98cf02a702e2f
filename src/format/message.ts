/**
 * Protobuf messages as tables of fields. A message is declared once, by name, kind and number; the
 * declaration gives the TypeScript type, the decoder and the encoder. Unknown fields are kept as raw bytes in
 * `unknown` and written back after the known ones, so a rewrite loses nothing.
 *
 * Conventions: the wire omits a scalar that equals its proto3 default, and readers restore it. Fields
 * declared `optional` track presence and are `undefined` when absent, as absent sub-messages are. Integers of
 * 64 bits are numbers, checked to be safe, except for the kinds whose name ends in `Big`.
 */

import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { compareBytes } from "../bytes/compare.js";
import { concatBytes } from "../bytes/concat.js";
import { CorruptFileError, messageOf } from "../errors.js";
import { MessageReader } from "./messageReader.js";
import { NO_BYTES, SCALARS, type ScalarKind } from "./scalarKinds.js";

/** Origin of a message's bytes, for error messages. */
export interface Origin {
  readonly path: string;
  readonly byteOffset: number;
}

/** Reads and writes one field of a message. */
export interface FieldCodec<T> {
  readonly number: number;
  readonly initial: () => T;
  /**
   * Reads one occurrence; returns the new value of the field.
   * @param similar the same field of a message that may share parts with this one
   */
  readonly read: (
    reader: MessageReader,
    wireType: WireType,
    current: T,
    origin: Origin,
    similar: T | undefined,
  ) => T;
  readonly write: (writer: BinaryWriter, value: T) => void;
}

type Fields = Record<string, FieldCodec<unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: the value type of a declaration is only known to inference
type AnyFields = Record<string, FieldCodec<any>>;

type ValueOf<C> = C extends FieldCodec<infer T> ? T : never;
type MessageValue<F> = { -readonly [K in keyof F]: ValueOf<F[K]> } & {
  /** Raw bytes (tags included) of the fields this build does not know. */
  unknown?: Uint8Array;
};

/** The TypeScript type of a message declared with {@link message}. */
export type MessageOf<M> = M extends Message<infer F> ? MessageValue<F> : never;

export interface Message<F> {
  readonly typeName: string;
  /** Makes a value with every field at its default, overridden by `init`. */
  create(init?: Partial<MessageValue<F>>): MessageValue<F>;
  /**
   * @param similar a message decoded earlier; its remembered parts (see {@link repeatedMessage}) are reused
   *   if their bytes and places are the same
   * @throws CorruptFileError if the bytes are not such a message
   */
  decode(bytes: Uint8Array, origin: Origin, similar?: MessageValue<F>): MessageValue<F>;
  /** Decodes a message nested in another, up to `end`; `origin` is the outermost message's. */
  read(reader: MessageReader, end: number, origin: Origin): MessageValue<F>;
  encode(value: MessageValue<F>): Uint8Array;
  /** Encodes a message in place, after earlier output. */
  write(writer: BinaryWriter, value: MessageValue<F>): void;
}

/** A writer with more memory than this is not used again. */
const MAX_SPARE_BYTES = 1024 * 1024;
/** Used again: most messages are shorter than a new writer's memory. Null while a message is encoded. */
let spareWriter: BinaryWriter | null = null;

/** Fields of a message in the form that reading and writing need. */
interface ArrangedFields {
  /** In the order of the field numbers. */
  readonly names: readonly string[];
  readonly codecs: readonly FieldCodec<unknown>[];
  readonly byNumber: ReadonlyMap<number, { readonly name: string; readonly codec: FieldCodec<unknown> }>;
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Lists and maps, which are filled in place: each message needs its own. */
  readonly filled: readonly (readonly [name: string, codec: FieldCodec<unknown>])[];
  /** By tag of one byte: 1 for fields that hold bytes. */
  readonly isKnown: Uint8Array;
}

/** Called with the first message of a kind: a program meets few of the declared kinds. */
function arrangeFields(fields: Fields): ArrangedFields {
  const entries = Object.entries(fields).sort(([, a], [, b]) => a.number - b.number);
  const byNumber = new Map(entries.map(([name, codec]) => [codec.number, { name, codec }]));
  const defaults = Object.fromEntries(entries.map(([name, codec]) => [name, codec.initial()]));
  const isKnown = new Uint8Array(128);
  for (const number of byNumber.keys())
    if (number < 16) isKnown[(number << 3) | WireType.LengthDelimited] = 1;
  return {
    names: entries.map(([name]) => name),
    codecs: entries.map(([, codec]) => codec),
    byNumber,
    defaults,
    filled: entries.filter(([name]) => typeof defaults[name] === "object" && defaults[name] !== NO_BYTES),
    isKnown,
  };
}

/**
 * Declares a message.
 * @param isPartial true for a view of some fields, which is never encoded; other fields are skipped
 */
export function message<F extends AnyFields>(typeName: string, fields: F, isPartial = false): Message<F> {
  let made: ArrangedFields | undefined;
  const arranged = (): ArrangedFields => (made ??= arrangeFields(fields as Fields));
  const blank = (): Record<string, unknown> => {
    const { defaults, filled } = arranged();
    const value: Record<string, unknown> = { ...defaults };
    for (const [name, codec] of filled) value[name] = codec.initial();
    return value;
  };
  const read = (
    reader: MessageReader,
    end: number,
    origin: Origin,
    similar?: MessageValue<F>,
  ): MessageValue<F> => {
    const others = similar as Record<string, unknown> | undefined;
    const value = blank();
    const { byNumber, isKnown } = arranged();
    let unknown: Uint8Array[] | undefined;
    try {
      while (reader.pos < end) {
        if (isPartial) {
          reader.passOver(isKnown, end);
          if (reader.pos === end) break;
        }
        const start = reader.pos;
        const [fieldNumber, wireType] = reader.tag();
        const field = byNumber.get(fieldNumber);
        if (field === undefined) {
          reader.skip(wireType, fieldNumber);
          if (reader.pos > end) throw new RangeError("field runs past the end");
          if (!isPartial) (unknown ??= []).push(reader.bytesRead.subarray(start, reader.pos));
        } else {
          const { name, codec } = field;
          value[name] = codec.read(reader, wireType, value[name], origin, others?.[name]);
        }
      }
      if (reader.pos !== end) throw new RangeError("message runs past its end");
    } catch (error) {
      if (error instanceof CorruptFileError) throw error;
      const index = origin.byteOffset + Math.min(reader.pos, end);
      throw new CorruptFileError(origin.path, index, `${typeName}: ${messageOf(error)}`, { cause: error });
    }
    if (unknown !== undefined) value["unknown"] = concatBytes(unknown);
    return value as MessageValue<F>;
  };
  const write = (writer: BinaryWriter, value: MessageValue<F>): void => {
    const record = value as Record<string, unknown>;
    const { names, codecs } = arranged();
    // Most members of most messages are absent: a oneof has one of its arms.
    for (let index = 0; index < names.length; index++) {
      const member = record[names[index]];
      if (member !== undefined) codecs[index].write(writer, member);
    }
    if (value.unknown !== undefined) writer.raw(value.unknown);
  };
  return {
    typeName,
    create: (init) => Object.assign(blank(), init) as MessageValue<F>,
    decode: (bytes, origin, similar) => read(new MessageReader(bytes), bytes.length, origin, similar),
    read,
    write,
    encode(value) {
      const writer = spareWriter ?? new BinaryWriter();
      // Null meanwhile: a nested call of `encode` makes a writer of its own, and a failure drops this one.
      spareWriter = null;
      write(writer, value);
      const bytes = writer.finish();
      if (bytes.length <= MAX_SPARE_BYTES) spareWriter = writer;
      return bytes;
    },
  };
}

/** {@link message} whose values may leave out every member, because only one of them is set. */
export const oneof = message as <F extends AnyFields>(typeName: string, fields: F) => Message<Partial<F>>;

// ---------------------------------------------------------------------------------------------- scalars

function expectWireType(actual: WireType, expected: WireType, fieldNumber: number): void {
  if (actual !== expected) throw new RangeError(`field ${fieldNumber} has wire type ${actual}`);
}

/** @param initial value of a field that the wire omits */
const scalar =
  <T, Initial extends T | undefined>({ wireType, read, write, isZero }: ScalarKind<T>, initial: Initial) =>
  (number: number): FieldCodec<T | Initial> => ({
    number,
    initial: () => initial,
    read: (reader, fieldType) => {
      expectWireType(fieldType, wireType, number);
      return read(reader);
    },
    write: (writer, value) => {
      if (value === undefined || (initial !== undefined && isZero(value))) return;
      writer.tag(number, wireType);
      write(writer, value);
    },
  });
const singular = <T>(kind: ScalarKind<T>) => scalar<T, T>(kind, kind.zero);
const present = <T>(kind: ScalarKind<T>) => scalar<T, undefined>(kind, undefined);

/** Repeated scalars; written packed, read packed or not. */
const packed =
  <T>(kind: ScalarKind<T>) =>
  (number: number): FieldCodec<T[]> => ({
    number,
    initial: () => [],
    read: (reader, wireType, current) => {
      if (wireType !== WireType.LengthDelimited || kind.wireType === WireType.LengthDelimited) {
        expectWireType(wireType, kind.wireType, number);
        current.push(kind.read(reader));
        return current;
      }
      const end = reader.end();
      while (reader.pos < end) current.push(kind.read(reader));
      if (reader.pos !== end) throw new RangeError(`field ${number} runs past its end`);
      return current;
    },
    write: (writer, values) => {
      if (values === undefined || values.length === 0) return;
      if (kind.wireType === WireType.LengthDelimited) {
        for (const value of values) {
          writer.tag(number, kind.wireType);
          kind.write(writer, value);
        }
        return;
      }
      writer.tag(number, WireType.LengthDelimited).fork();
      for (const value of values) kind.write(writer, value);
      writer.join();
    },
  });

export const uint32 = singular(SCALARS.UINT32);
export const int32 = singular(SCALARS.INT32);
export const uint64 = singular(SCALARS.UINT64);
export const int64 = singular(SCALARS.INT64);
export const uint64Big = singular(SCALARS.UINT64_BIG);
export const bool = singular(SCALARS.BOOL);
export const string = singular(SCALARS.STRING);
export const bytes = singular(SCALARS.BYTES);

/** Explicit presence, as `optional` gives a field in a .proto file: undefined if the message lacks it. */
export const explicitUint32 = present(SCALARS.UINT32);
export const explicitInt32 = present(SCALARS.INT32);
export const explicitUint64 = present(SCALARS.UINT64);
export const explicitString = present(SCALARS.STRING);
export const explicitBytes = present(SCALARS.BYTES);

export const repeatedUint32 = packed(SCALARS.UINT32);
export const repeatedInt32 = packed(SCALARS.INT32);
export const repeatedUint64 = packed(SCALARS.UINT64);
export const repeatedString = packed(SCALARS.STRING);

// ---------------------------------------------------------------------------------------------- messages

/** A sub-message; also one arm of a oneof. Messages that refer to themselves pass a function. */
// biome-ignore lint/suspicious/noExplicitAny: any message
export function submessage<M extends Message<any>>(
  number: number,
  declaration: M | (() => M),
): FieldCodec<MessageOf<M> | undefined> {
  return {
    number,
    initial: () => undefined,
    read: (reader, wireType, _current, origin) => {
      expectWireType(wireType, WireType.LengthDelimited, number);
      return resolve(declaration).read(reader, reader.end(), origin) as MessageOf<M>;
    },
    write: (writer, value) => {
      if (value === undefined) return;
      writer.tag(number, WireType.LengthDelimited).fork();
      resolve(declaration).write(writer, value as MessageValue<AnyFields>);
      writer.join();
    },
  };
}

/**
 * Repeated sub-messages.
 * @param remembered encoded bytes by value: a value that was decoded, or encoded before, is written as those
 *   bytes. Serves messages that are copied from one file to the next by the thousand; their values must never
 *   be changed
 */
// biome-ignore lint/suspicious/noExplicitAny: any message
export function repeatedMessage<M extends Message<any>>(
  number: number,
  declaration: M | (() => M),
  remembered?: WeakMap<object, Uint8Array>,
): FieldCodec<MessageOf<M>[]> {
  return {
    number,
    initial: () => [],
    read: (reader, wireType, current, origin, similar) => {
      expectWireType(wireType, WireType.LengthDelimited, number);
      if (remembered === undefined) {
        current.push(resolve(declaration).read(reader, reader.end(), origin) as MessageOf<M>);
        return current;
      }
      let encoded = reader.bytes();
      const start = reader.pos - encoded.length;
      if (similar !== undefined) {
        const twin = similar[current.length];
        const before = twin && remembered.get(twin);
        if (before !== undefined && compareBytes(before, encoded) === 0) {
          current.push(twin);
          return current;
        }
        // A message that reuses the value later must not keep all bytes of this message alive.
        encoded = encoded.slice();
      }
      const value = resolve(declaration).decode(encoded, originAt(origin, start)) as MessageOf<M>;
      remembered.set(value, encoded);
      current.push(value);
      return current;
    },
    write: (writer, values) => {
      if (values === undefined) return;
      for (const value of values) {
        writer.tag(number, WireType.LengthDelimited);
        if (remembered === undefined) {
          writer.fork();
          resolve(declaration).write(writer, value as MessageValue<AnyFields>);
          writer.join();
          continue;
        }
        let encoded = remembered.get(value);
        if (encoded === undefined) {
          encoded = resolve(declaration).encode(value as MessageValue<AnyFields>);
          remembered.set(value, encoded);
        }
        writer.bytes(encoded);
      }
    },
  };
}

/** `map<string, string>`; keys keep the order of the wire. */
export const stringMapField = (number: number): FieldCodec<Map<string, string>> =>
  mapField(number, SCALARS.STRING, SCALARS.STRING);
/** `map<string, bytes>`. */
export const bytesMapField = (number: number): FieldCodec<Map<string, Uint8Array>> =>
  mapField(number, SCALARS.STRING, SCALARS.BYTES);

export function mapField<K, V>(
  number: number,
  keyKind: ScalarKind<K>,
  valueKind: ScalarKind<V>,
): FieldCodec<Map<K, V>> {
  return {
    number,
    initial: () => new Map(),
    read: (reader, wireType, current) => {
      expectWireType(wireType, WireType.LengthDelimited, number);
      const end = reader.end();
      let key = keyKind.zero;
      let value = valueKind.zero;
      while (reader.pos < end) {
        const [fieldNumber, entryWireType] = reader.tag();
        if (fieldNumber === 1 && entryWireType === keyKind.wireType) key = keyKind.read(reader);
        else if (fieldNumber === 2 && entryWireType === valueKind.wireType) value = valueKind.read(reader);
        else reader.skip(entryWireType, fieldNumber);
      }
      if (reader.pos !== end)
        throw new RangeError(`the value of an entry of map field ${number} runs past the end of the entry`);
      current.set(key, value);
      return current;
    },
    write: (writer, map) => {
      if (map === undefined) return;
      for (const [key, value] of map) {
        writer.tag(number, WireType.LengthDelimited).fork();
        writer.tag(1, keyKind.wireType);
        keyKind.write(writer, key);
        if (!valueKind.isZero(value)) {
          writer.tag(2, valueKind.wireType);
          valueKind.write(writer, value);
        }
        writer.join();
      }
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: any message
function resolve<M extends Message<any>>(declaration: M | (() => M)): M {
  return typeof declaration === "function" ? (declaration as () => M)() : declaration;
}

const originAt = (origin: Origin, offset: number): Origin => ({
  path: origin.path,
  byteOffset: origin.byteOffset + offset,
});

/** A message without members, used for arms of a oneof. */
export const Empty = message("Empty", {});
export type Empty = MessageOf<typeof Empty>;
