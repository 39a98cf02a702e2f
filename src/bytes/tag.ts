/** Tells kinds of memory from any realm apart: `instanceof` knows only the classes of its own realm. */

/**
 * The platform's name for the kind of a value, e.g. "ArrayBuffer" or "Uint32Array". An object can give itself such a
 * name, so use this only for values that are checked again where they are read.
 */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice("[object ".length, -1);
