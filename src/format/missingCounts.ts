/** Finds out from an encoded manifest if its fragments state their counts, without decoding them. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { CorruptFileError } from "../errors.js";
import { FieldRanges } from "./fieldRanges.js";
import type { Origin } from "./message.js";
import { FRAGMENTS_FIELD } from "./table.js";

/** Tags of `DataFragment.deletionFile`, `DataFragment.physicalRows` and `DeletionFile.numDeletedRows`. */
const DELETION_FILE_TAG = 0x1a;
const PHYSICAL_ROWS_TAG = 0x20;
const DELETED_ROWS_TAG = 0x20;
/** The continuation bit of a variable-length integer. */
const MORE = 0x80;
const WIRE_TYPE_MASK = 7;

/**
 * True if a fragment of an encoded manifest lacks its number of rows, or the number of its deleted rows.
 * @throws CorruptFileError if the bytes are not a manifest
 */
export function lacksCounts(manifest: Uint8Array, origin: Origin): boolean {
  const fragments = new FieldRanges(FRAGMENTS_FIELD);
  fragments.locate(manifest, origin);
  const fields = new MessageFields(manifest, origin);
  for (let index = 0; index < fragments.count; index++) {
    const start = fragments.startAt(index);
    const end = fragments.endAt(index);
    if (fields.find(PHYSICAL_ROWS_TAG, start, end) === 0) return true;
    const deletion = fields.find(DELETION_FILE_TAG, start, end);
    if (deletion !== 0 && fields.find(DELETED_ROWS_TAG, deletion, fields.valueEnd) === 0) return true;
  }
  return false;
}

class MessageFields {
  /** End of the value that was found last. */
  valueEnd = 0;
  readonly #bytes: Uint8Array;
  readonly #origin: Origin;
  #reader: BinaryReader | null = null;

  constructor(bytes: Uint8Array, origin: Origin) {
    this.#bytes = bytes;
    this.#origin = origin;
  }

  /** Position of the value with a tag in the message between two positions; 0 if there is none. */
  find(wantedTag: number, start: number, end: number): number {
    const bytes = this.#bytes;
    for (let position = start; position < end; ) {
      const tag = bytes[position];
      const first = bytes[position + 1];
      let value = position + 2;
      let next = 0;
      if ((tag & (MORE | WIRE_TYPE_MASK)) === WireType.LengthDelimited && first < MORE) next = value + first;
      else if ((tag & (MORE | WIRE_TYPE_MASK)) === WireType.LengthDelimited && bytes[value] < MORE) {
        next = value + 1 + (first & (MORE - 1)) + bytes[value] * MORE;
        value++;
      } else if ((tag & (MORE | WIRE_TYPE_MASK)) === WireType.Varint) {
        value = position + 1;
        next = value + 1;
        while (next <= end && bytes[next - 1] >= MORE) next++;
      } else {
        next = this.#skip(position);
      }
      if (next > end) {
        throw new CorruptFileError(
          this.#origin.path,
          this.#origin.byteOffset + position,
          "a field of a fragment is longer than the fragment",
        );
      }
      if (tag === wantedTag) {
        this.valueEnd = next;
        return value;
      }
      position = next;
    }
    return 0;
  }

  /** End of a field of any kind. */
  #skip(position: number): number {
    this.#reader ??= new BinaryReader(this.#bytes);
    const reader = this.#reader;
    reader.pos = position;
    try {
      const [fieldNumber, wireType] = reader.tag();
      reader.skip(wireType, fieldNumber);
      return reader.pos;
    } catch (cause) {
      const { path, byteOffset } = this.#origin;
      throw new CorruptFileError(
        path,
        byteOffset + position,
        "a byte that does not begin a field of the message",
        { cause },
      );
    }
  }
}
