/** Joins the texts of each row to one text. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { unfilledBytes } from "../../platform/native.js";
import type { AllocateResult } from "../values/operands.js";
import type { TextLane } from "./textRows.js";

/** Maximum bytes of a batch of texts that are joined row by row without steps inside a row. */
const JOINED_BYTES = 2 ** 22;
/** Rows that are joined in one step. */
const JOINED_ROWS = 2 ** 13;
/** Bytes copied at a time. A copy may run past the end of its text; the next text overwrites that. */
const WIDE_BYTES = 16;
/** Maximum bytes of a text that is copied piece by piece. A view of it would take longer. */
const SHORT_BYTES = 192;

/**
 * Joins the texts of each row, nulls as empty texts. Returns null for a batch of many bytes.
 * @param allocate makes the memory of the texts
 */
export function* joinedTexts(
  lanes: readonly TextLane[],
  length: number,
  allocate: AllocateResult = unfilledBytes,
): Steps<Column | null> {
  if (length === 0) return null;
  let byteCount = 0;
  for (const lane of lanes)
    byteCount += lane.isConstant ? length * lane.size(0) : lane.end(length - 1) - lane.start(0);
  if (byteCount > JOINED_BYTES) return null;
  const parts = lanes.map((lane) => new JoinedPart(lane));
  const bytes = allocate(byteCount + WIDE_BYTES);
  const offsets = new Int32Array(length + 1);
  for (let start = 0; start < length; start += JOINED_ROWS) {
    if (start > 0) yield;
    joinRows(parts, bytes, offsets, start, Math.min(start + JOINED_ROWS, length));
  }
  return { kind: "variable", length, validity: null, offsets, bytes: bytes.subarray(0, offsets[length]) };
}

function joinRows(
  parts: readonly JoinedPart[],
  bytes: Uint8Array,
  offsets: Int32Array,
  start: number,
  end: number,
): void {
  const view = viewOf(bytes);
  let position = offsets[start];
  for (let row = start; row < end; row++) {
    for (const part of parts) position = part.copy(row, bytes, view, position);
    offsets[row + 1] = position;
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

/** The texts that one operand adds. */
class JoinedPart {
  readonly #lane: TextLane;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** Last position of a short text that has enough bytes behind it to be copied piece by piece. */
  readonly #lastWide: number;

  constructor(lane: TextLane) {
    this.#lane = lane;
    // The bytes of a short constant get room behind them.
    this.#bytes = lane.bytes.length < SHORT_BYTES ? padded(lane.bytes) : lane.bytes;
    this.#view = viewOf(this.#bytes);
    this.#lastWide = this.#bytes.length - SHORT_BYTES - WIDE_BYTES;
  }

  /** Copies the text of a row. @returns its end in the target */
  copy(row: number, target: Uint8Array, targetView: DataView, position: number): number {
    const lane = this.#lane;
    if (lane.isNull(row)) return position;
    const [start, end] = [lane.start(row), lane.end(row)];
    const size = end - start;
    if (size > SHORT_BYTES || start > this.#lastWide) {
      target.set(this.#bytes.subarray(start, end), position);
      return position + size;
    }
    const view = this.#view;
    for (let done = 0; done < size; done += WIDE_BYTES) {
      const [from, to] = [start + done, position + done];
      targetView.setInt32(to, view.getInt32(from));
      targetView.setInt32(to + 4, view.getInt32(from + 4));
      targetView.setInt32(to + 8, view.getInt32(from + 8));
      targetView.setInt32(to + 12, view.getInt32(from + 12));
    }
    return position + size;
  }
}

function padded(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(2 * SHORT_BYTES + WIDE_BYTES);
  copy.set(bytes);
  return copy;
}
