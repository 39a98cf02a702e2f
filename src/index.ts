/**
 * Tiltyard: an embeddable namespace engine for versioned Lance tables, in pure TypeScript.
 *
 * @module tiltyard
 */

export { DirectoryNamespace } from "./DirectoryNamespace.js";
export * from "./errors.js";
export { col, Expression, lit, sql } from "./expression/build.js";
export { formatFieldPath, formatIdentifier, parseFieldPath, parseIdentifier } from "./ident.js";
export type { DirectoryEntry, Disk, FileStat, ReadHandle, WriteHandle } from "./io/disk/disk.js";
export type { MemoryShare } from "./memory.js";
export type * from "./namespace.js";
export {
  type Scan,
  type ScanOptions,
  type SearchOptions,
  TableHandle,
  type TableHandleOptions,
  type UpdateOptions,
} from "./TableHandle.js";
