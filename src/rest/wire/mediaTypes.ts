/** Media types of bodies. */

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";
export const ARROW_FILE = "application/vnd.apache.arrow.file";
export const JSON_TYPE = "application/json";
export const JSON_LINES = "application/x-ndjson";
export const EVENT_STREAM = "text/event-stream";

/** Returns the declared media type in lower case; empty without one. */
export const mediaTypeOf = ({ headers }: { readonly headers: Headers }): string =>
  (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
