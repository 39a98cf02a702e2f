/**
 * Copies of plain data whose typed arrays lie in shared memory: sent to another thread, they cost no further copy. Those that
 * lie there already are not copied; of the others, all lie in one piece.
 */

import { alignTo8, phaseOf } from "./aligned.js";
import { isUint8Array, tagOf } from "./anyRealm.js";

type View = Exclude<ArrayBufferView, DataView> & { readonly length: number };
type ViewConstructor = new (buffer: SharedArrayBuffer, byteOffset: number, length: number) => View;

const isView = (value: unknown): value is View => ArrayBuffer.isView(value) && tagOf(value) !== "DataView";

/** Memory that threads share, and that is not moved to another. */
export const isSharedMemory = (memory: ArrayBufferLike): memory is SharedArrayBuffer =>
  tagOf(memory) === "SharedArrayBuffer";

const freshMemory = (byteLength: number): Uint8Array<SharedArrayBuffer> =>
  new Uint8Array(new SharedArrayBuffer(byteLength));

const isMap = (value: unknown): value is Map<unknown, unknown> => tagOf(value) === "Map";

/**
 * What occurs twice in the data occurs twice in the copy, as one object.
 * @param allocate makes the memory, at a multiple of 8; its content is arbitrary. Not called where nothing is to be copied
 */
export function sharedCopy<Value>(
  value: Value,
  allocate: (byteLength: number) => Uint8Array<SharedArrayBuffer> = freshMemory,
): Value {
  const views = new Map<View, number>();
  let byteLength = 0;
  const measure = (part: unknown): void => {
    if (typeof part !== "object" || part === null || views.has(part as View)) return;
    if (isView(part)) {
      if (isSharedMemory(part.buffer)) return;
      const start = byteLength + phaseOf(part);
      views.set(part, start);
      byteLength = alignTo8(start + part.byteLength);
    } else if (isMap(part)) {
      for (const entry of part.values()) measure(entry);
    } else {
      for (const member of Object.values(part)) measure(member);
    }
  };
  measure(value);
  const bytes = byteLength === 0 ? freshMemory(0) : allocate(byteLength);
  const copies = new Map<object, unknown>();
  const copy = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null) return part;
    const known = copies.get(part);
    if (known !== undefined) return known;
    const position = views.get(part as View);
    const made = isView(part)
      ? position === undefined
        ? part
        : moved(part, position)
      : isMap(part)
        ? new Map([...part].map(([key, entry]) => [key, copy(entry)]))
        : Array.isArray(part)
          ? part.map(copy)
          : Object.fromEntries(Object.entries(part).map(([name, member]) => [name, copy(member)]));
    copies.set(part, made);
    return made;
  };
  const moved = (view: View, byteOffset: number): View => {
    bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), byteOffset);
    // A subclass, such as Node's Buffer, is not meant.
    const kind = (isUint8Array(view) ? Uint8Array : view.constructor) as unknown as ViewConstructor;
    return new kind(bytes.buffer, bytes.byteOffset + byteOffset, view.length);
  };
  return copy(value) as Value;
}

/** Whether some of the typed arrays in plain data lie in shared memory. */
export const hasSharedMemory = (value: unknown): boolean => hasMemory(value, isSharedMemory);

/** Whether some of the typed arrays in plain data lie in memory that is meant. */
export function hasMemory(value: unknown, isResolved: (memory: ArrayBufferLike) => boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (ArrayBuffer.isView(value)) return isResolved(value.buffer);
  const members: Iterable<unknown> = isMap(value) ? value.values() : Object.values(value);
  for (const member of members) if (hasMemory(member, isResolved)) return true;
  return false;
}
