/** Reads the wire of protobuf messages, without objects for the parts of a message. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** This many bytes of seven bits each always form a safe integer. */
const SAFE_VARINT_BYTES = 7;

/** Reads a message and, in place, the messages in it: readers and views for each would cost more. */
export class MessageReader extends BinaryReader {
  constructor(readonly bytesRead: Uint8Array) {
    super(bytesRead);
  }

  /** Reads a length and returns the position after that many bytes. */
  end(): number {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError("premature EOF");
    return end;
  }

  /** Reads a 64-bit integer without making a bigint; throws if it is not safe. */
  safeUint64(): number {
    let value = 0;
    let scale = 1;
    const last = Math.min(this.pos + SAFE_VARINT_BYTES, this.len);
    for (let offset = this.pos; offset < last; offset++, scale *= 128) {
      const byte = this.bytesRead[offset];
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      this.pos = offset + 1;
      return value;
    }
    return toSafeNumber(this.uint64());
  }

  /**
   * Skips fields of bytes, strings or sub-messages up to the first field of another kind. They are most of a
   * large message, and making objects for each tag would cost more than all the rest.
   * @param isKnown by tag of one byte: 1 for fields that are not skipped
   */
  passOver(isKnown: Uint8Array, end: number): void {
    const bytes = this.bytesRead;
    let position = this.pos;
    while (position < end) {
      const tag = bytes[position];
      if ((tag & 0x87) !== WireType.LengthDelimited || tag < 8 || isKnown[tag] === 1) break;
      const first = bytes[position + 1];
      const second = bytes[position + 2];
      let next = end + 1;
      if (first < 0x80) next = position + 2 + first;
      else if (second < 0x80) next = position + 3 + (first & 0x7f) + second * 128;
      // The field is longer, or damaged.
      if (next > end) break;
      position = next;
    }
    this.pos = position;
  }
}

export function toSafeNumber(value: bigint | string | number): number {
  const result = Number(value);
  if (!Number.isSafeInteger(result)) throw new RangeError(`integer ${value} is beyond 2^53`);
  return result;
}
