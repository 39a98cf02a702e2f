/** The file that a page is encoded for, and the limits of its layouts. */

import type { CompressionOptions } from "../compression/compressionOptions.js";
import type { StructuralVersion } from "../container/page.js";

/** Target of a page: the version of its file, and its limits. */
export interface PageTarget {
  readonly path: string;
  readonly version: StructuralVersion;
  readonly compression: CompressionOptions;
  /** True if no chunk can hold the events between two values. */
  readonly exceeds?: boolean;
}

/** The reference accepts wider values in full-zip only. */
export const MAXIMUM_MINI_BLOCK_VALUE_BYTES = 256;
/** Maximum bytes of a value that goes into chunks if the column's metadata asks for chunks. */
export const MAXIMUM_FORCED_VALUE_BYTES = 8 * 1024;
