/** Media types of bodies. */

export const ARROW_STREAM = "application/vnd.apache.arrow.stream";
export const ARROW_FILE = "application/vnd.apache.arrow.file";
export const JSON_TYPE = "application/json";
export const JSON_LINES = "application/x-ndjson";
export const EVENT_STREAM = "text/event-stream";
