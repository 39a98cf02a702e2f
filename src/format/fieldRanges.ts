/** Finds the occurrences of a sub-message field in a message, for code that compares many and decodes few. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { enlarged } from "../bytes/growing.js";
import { CorruptFileError } from "../errors.js";
import type { Origin } from "./message.js";

const FIRST_CAPACITY = 64;
/** Low bits of a tag: the wire type. */
const WIRE_TYPE_BITS = 3;
const WIRE_TYPE_MASK = 7;
/** The continuation bit of a variable-length integer. */
const MORE = 0x80;

/** Occurrences in the message located last. One object serves many messages, so its memory is reused. */
export class FieldRanges {
  #count = 0;
  #tags = new Uint32Array(FIRST_CAPACITY);
  #starts = new Uint32Array(FIRST_CAPACITY);
  #ends = new Uint32Array(FIRST_CAPACITY);

  constructor(private readonly fieldNumber: number) {}

  get count(): number {
    return this.#count;
  }

  /** Position of an occurrence's tag, which is its first byte. */
  tagAt(index: number): number {
    return this.#tags[index];
  }

  /** Position of the first byte of an occurrence's sub-message. */
  startAt(index: number): number {
    return this.#starts[index];
  }

  /** Position after an occurrence. */
  endAt(index: number): number {
    return this.#ends[index];
  }

  /**
   * Finds the occurrences in a message.
   * @throws CorruptFileError if the bytes are not a message
   */
  locate(bytes: Uint8Array, origin: Origin): void {
    this.#count = 0;
    const wanted = (this.fieldNumber << WIRE_TYPE_BITS) | WireType.LengthDelimited;
    let reader: BinaryReader | null = null;
    for (let position = 0; position < bytes.length; ) {
      const tagAt = position;
      // Nearly all fields have a tag of one byte and a length of one or two; objects for those would cost
      // most.
      const tag = bytes[position];
      const first = bytes[position + 1];
      const second = bytes[position + 2];
      let start = 0;
      let end = 0;
      if ((tag & (MORE | WIRE_TYPE_MASK)) === WireType.LengthDelimited && first < MORE) {
        start = position + 2;
        end = start + first;
      } else if ((tag & (MORE | WIRE_TYPE_MASK)) === WireType.LengthDelimited && second < MORE) {
        start = position + 3;
        end = start + (first & (MORE - 1)) + second * MORE;
      }
      if (start === 0 || tag < 1 << WIRE_TYPE_BITS) {
        reader ??= new BinaryReader(bytes);
        reader.pos = position;
        position = this.#locateSlowly(reader, origin);
        continue;
      }
      if (end > bytes.length) throw damaged(origin, tagAt);
      if (tag === wanted) this.#note(tagAt, start, end);
      position = end;
    }
  }

  /** Reads one field of any kind; returns the position of the next one. */
  #locateSlowly(reader: BinaryReader, origin: Origin): number {
    const tagAt = reader.pos;
    try {
      const [fieldNumber, wireType] = reader.tag();
      if (fieldNumber !== this.fieldNumber || wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, fieldNumber);
        return reader.pos;
      }
      const length = reader.uint32();
      const start = reader.pos;
      if (start + length > reader.len) throw new RangeError("premature end");
      this.#note(tagAt, start, start + length);
      return start + length;
    } catch (cause) {
      throw damaged(origin, tagAt, cause);
    }
  }

  #note(tagAt: number, start: number, end: number): void {
    if (this.#count === this.#tags.length) {
      this.#tags = enlarged(this.#tags);
      this.#starts = enlarged(this.#starts);
      this.#ends = enlarged(this.#ends);
    }
    this.#tags[this.#count] = tagAt;
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = end;
    this.#count++;
  }
}

const damaged = (origin: Origin, position: number, cause?: unknown): CorruptFileError =>
  new CorruptFileError(
    origin.path,
    origin.byteOffset + position,
    "a byte that does not begin a field of the message",
    {
      cause,
    },
  );
