/** Conversions of Arrow objects of any copy of apache-arrow to the copy that this package imports. */

export { sanitizeTable } from "./sanitizeData.js";
export * from "./sanitizeTypes.js";
