/** The reference as a program would use it, with the apache-arrow release it accepts. */

export { type Connection, connect, connectNamespace, Index, type Table } from "@lancedb/lancedb";
export * as arrow from "apache-arrow";
