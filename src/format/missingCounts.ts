/** Finds out from an encoded manifest if its fragments state their counts, without decoding them. */

import { WireType } from "@bufbuild/protobuf/wire";
import { CorruptFileError } from "../errors.js";
import { FieldRanges } from "./fieldRanges.js";
import type { Origin } from "./message.js";
import { MessageReader } from "./messageReader.js";
import { FRAGMENTS_FIELD } from "./table.js";

/** Tags of `DataFragment.deletionFile`, `DataFragment.physicalRows` and `DeletionFile.numDeletedRows`. */
const DELETION_FILE_TAG = 0x1a;
const PHYSICAL_ROWS_TAG = 0x20;
const DELETED_ROWS_TAG = 0x20;
/** The continuation bit of a variable-length integer. */
const MORE = 0x80;
const WIRE_TYPE_MASK = 7;
/** For {@link MessageReader.passOver}. */
const IS_KNOWN = new Uint8Array(128).fill(1, DELETION_FILE_TAG, DELETION_FILE_TAG + 1);

/**
 * True if a fragment of an encoded manifest lacks its number of rows, or the number of its deleted rows.
 * @throws CorruptFileError if the bytes are not a manifest
 */
export function lacksCounts(manifest: Uint8Array, origin: Origin): boolean {
  const fragments = new FieldRanges(FRAGMENTS_FIELD);
  fragments.locate(manifest, origin);
  const reader = new MessageReader(manifest);
  try {
    for (let index = 0; index < fragments.count; index++) {
      const start = fragments.startAt(index);
      const end = fragments.endAt(index);
      if (!goTo(reader, PHYSICAL_ROWS_TAG, start, end)) return true;
      if (!goTo(reader, DELETION_FILE_TAG, start, end)) continue;
      reader.pos++;
      const deletionEnd = reader.end();
      if (deletionEnd > end) throw new RangeError("a deletion file is longer than its fragment");
      if (!goTo(reader, DELETED_ROWS_TAG, reader.pos, deletionEnd)) return true;
    }
    return false;
  } catch (cause) {
    const reason = "a byte that does not begin a field of the message";
    throw new CorruptFileError(origin.path, origin.byteOffset + reader.pos, reason, { cause });
  }
}

/** Moves to the field with a tag in the message between two positions; false if there is none. */
function goTo(reader: MessageReader, wantedTag: number, start: number, end: number): boolean {
  const bytes = reader.bytesRead;
  for (reader.pos = start; ; ) {
    reader.passOver(IS_KNOWN, end);
    if (reader.pos === end) return false;
    const tag = bytes[reader.pos];
    if (tag === wantedTag) return true;
    if (tag >= 8 && (tag & MORE) === 0 && (tag & WIRE_TYPE_MASK) === WireType.Varint) {
      while (bytes[++reader.pos] >= MORE);
      reader.pos++;
    } else {
      const [fieldNumber, wireType] = reader.tag();
      reader.skip(wireType, fieldNumber);
    }
    if (reader.pos > end) throw new RangeError("a field is longer than its message");
  }
}
