/** Recognises kinds of values from any realm: `instanceof` accepts only the classes of its own realm. */

/**
 * The platform's name for the kind of a value, e.g. "ArrayBuffer" or "Uint32Array". An object can give itself
 * such a name, so callers check the value again when they read it.
 */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice("[object ".length, -1);

export const isUint8Array = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && tagOf(value) === "Uint8Array";

export const isMapObject = (value: unknown): value is Map<unknown, unknown> => tagOf(value) === "Map";

/** True for an error of the language, or one of the platform, e.g. that of an aborted signal. */
export const isError = (value: unknown): value is Error => ["Error", "DOMException"].includes(tagOf(value));

/** True for a Blob, and for a File, which is one. */
export const isWebBlob = (value: unknown): value is Blob => ["Blob", "File"].includes(tagOf(value));

export function isDate(value: unknown): value is Date {
  if (tagOf(value) !== "Date") return false;
  try {
    // Throws for an object that only has the name.
    Date.prototype.getTime.call(value);
    return true;
  } catch {
    return false;
  }
}
