/** Converts JavaScript values to columns of a variable width: texts and bytes. */

import { isDate } from "../../bytes/anyRealm.js";
import { decodeBase64 } from "../../bytes/base64.js";
import { enlarged } from "../../bytes/growing.js";
import type { Validity, VariableColumn, VariableLayout } from "../columns/column.js";
import { formatTime } from "../types/times.js";
import { refuse, refuseValue, type TypedValues } from "./faults.js";
import { binaryOf, isNullish } from "./valueKinds.js";

const encoder = new TextEncoder();
/** Maximum UTF-8 bytes of one UTF-16 unit. */
const UNIT_BYTES = 3;
/** Halves of surrogate pairs that stand alone. The encoder would replace them by another character. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** @throws TableSchemaValidationError naming row and column, for a value that the type does not accept */
export function variableColumn(
  typed: TypedValues,
  { text, offsetBits }: VariableLayout,
  validity: Validity | null,
): VariableColumn {
  const { values, origin } = typed;
  const { length } = values;
  const ends = new Float64Array(length + 1);
  const bytes = text ? texts(typed, ends) : binaries(typed, ends);
  if (offsetBits === 32 && bytes.length > 0x7fffffff) {
    refuse(origin, length - 1, values[length - 1], "a batch of at most 2 GiB");
  }
  const offsets = offsetBits === 32 ? Int32Array.from(ends) : BigInt64Array.from(ends, BigInt);
  return { kind: "variable", length, validity, offsets, bytes };
}

/** Maximum values, and maximum UTF-16 units of them, that one call encodes. */
const GROUP = 128;
const GROUP_UNITS = 1 << 14;

function texts(typed: TypedValues, ends: Float64Array): Uint8Array {
  const { values, origin } = typed;
  let bytes = new Uint8Array(Math.max(64, values.length * 16));
  let end = 0;
  for (let from = 0; from < values.length; from += GROUP) {
    const group = values.slice(from, from + GROUP);
    const units = unitsOf(group, from, typed);
    if (units <= GROUP_UNITS) {
      bytes = withRoom(bytes, end, units);
      // For short texts the call itself costs most, so one call encodes a group. If the group has as many
      // bytes as units, all characters are ASCII, and byte and unit offsets agree.
      const { written } = encoder.encodeInto(group.join(""), bytes.subarray(end));
      if (written === units) {
        for (const [index, value] of group.entries()) {
          if (!isNullish(value)) end += (value as string).length;
          ends[from + index + 1] = end;
        }
        continue;
      }
    }
    for (const [index, value] of group.entries()) {
      if (!isNullish(value)) {
        if (LONE_SURROGATE.test(value as string)) refuse(origin, from + index, value, "well-formed Unicode");
        bytes = withRoom(bytes, end, (value as string).length);
        end += encoder.encodeInto(value as string, bytes.subarray(end)).written;
      }
      ends[from + index + 1] = end;
    }
  }
  return bytes.subarray(0, end);
}

/** Replaces Dates by their texts and refuses other values. Returns the UTF-16 units of all texts. */
function unitsOf(group: unknown[], from: number, typed: TypedValues): number {
  let units = 0;
  for (let index = 0; index < group.length; index++) {
    let value = group[index];
    if (typeof value === "object" && value !== null && isDate(value)) {
      value = textOfDate(value) ?? value;
      group[index] = value;
    }
    if (typeof value === "string") units += value.length;
    else if (!isNullish(value)) refuseValue(typed, from + index);
  }
  return units;
}

/** Returns the text that CAST makes of an instant; null for an invalid Date. */
function textOfDate(date: Date): string | null {
  const ms = date.getTime();
  return Number.isNaN(ms) ? null : formatTime(BigInt(ms) * 1_000_000n, "UTC");
}

/** Returns bytes with room for `units` UTF-16 units after the first `used` bytes. */
function withRoom(bytes: Uint8Array<ArrayBuffer>, used: number, units: number): Uint8Array<ArrayBuffer> {
  const needed = used + units * UNIT_BYTES;
  return needed <= bytes.length ? bytes : enlarged(bytes, needed);
}

function binaries(typed: TypedValues, ends: Float64Array): Uint8Array {
  const { values } = typed;
  const pieces: (Uint8Array | null)[] = new Array(values.length).fill(null);
  let end = 0;
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (!isNullish(value)) {
      const piece = binaryOf(value) ?? decodeBase64(value);
      if (piece === null) refuseValue(typed, index);
      pieces[index] = piece;
      end += piece.length;
    }
    ends[index + 1] = end;
  }
  const bytes = new Uint8Array(end);
  for (const [index, piece] of pieces.entries()) if (piece !== null) bytes.set(piece, ends[index]);
  return bytes;
}
