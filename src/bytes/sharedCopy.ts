/**
 * Copies plain data so that its typed arrays lie in shared memory: sending the copy to another thread costs
 * no further copy. Arrays in shared memory are not copied; all others go into one piece.
 */

import { alignTo8, phaseOf } from "./aligned.js";
import { isMapObject, isUint8Array, tagOf } from "./anyRealm.js";

type View = Exclude<ArrayBufferView, DataView> & { readonly length: number };
type ViewConstructor = new (buffer: SharedArrayBuffer, byteOffset: number, length: number) => View;

const isView = (value: unknown): value is View => ArrayBuffer.isView(value) && tagOf(value) !== "DataView";

/** True for memory that threads share, which is never moved. */
export const isSharedMemory = (memory: ArrayBufferLike): memory is SharedArrayBuffer =>
  tagOf(memory) === "SharedArrayBuffer";

const freshMemory = (byteLength: number): Uint8Array<SharedArrayBuffer> =>
  new Uint8Array(new SharedArrayBuffer(byteLength));

/**
 * An object that occurs twice in the data occurs twice in the copy.
 * @param allocate makes memory at a multiple of 8, with arbitrary content. Not called if nothing is copied
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
    } else if (isMapObject(part)) {
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
    const earlier = copies.get(part);
    if (earlier !== undefined) return earlier;
    const position = views.get(part as View);
    const made = isView(part)
      ? position === undefined
        ? part
        : moved(part, position)
      : isMapObject(part)
        ? new Map([...part].map(([key, entry]) => [key, copy(entry)]))
        : Array.isArray(part)
          ? part.map(copy)
          : Object.fromEntries(Object.entries(part).map(([name, member]) => [name, copy(member)]));
    copies.set(part, made);
    return made;
  };
  const moved = (view: View, byteOffset: number): View => {
    bytes.set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), byteOffset);
    // A subclass, such as Node's Buffer, becomes its base class.
    const kind = (isUint8Array(view) ? Uint8Array : view.constructor) as unknown as ViewConstructor;
    return new kind(bytes.buffer, bytes.byteOffset + byteOffset, view.length);
  };
  return copy(value) as Value;
}

/** True if a typed array in plain data lies in shared memory. */
export const hasSharedMemory = (value: unknown): boolean => hasMemory(value, isSharedMemory);

/** True if a typed array in plain data lies in memory for which `accepts` returns true. */
export function hasMemory(value: unknown, accepts: (memory: ArrayBufferLike) => boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (ArrayBuffer.isView(value)) return accepts(value.buffer);
  const members: Iterable<unknown> = isMapObject(value) ? value.values() : Object.values(value);
  for (const member of members) if (hasMemory(member, accepts)) return true;
  return false;
}

/** Returns the memory blocks under the typed arrays in plain data, each once, without shared memory. */
export function ownMemoryOf(value: unknown): ArrayBuffer[] {
  const memory = new Set<ArrayBuffer>();
  hasMemory(value, (buffer) => {
    if (!isSharedMemory(buffer)) memory.add(buffer);
    return false;
  });
  return [...memory];
}
