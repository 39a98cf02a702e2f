/** Target of an encoded page: the version of its file, and its limits. */

import type { CompressionOptions } from "../compression/compressionOptions.js";
import type { StructuralVersion } from "../container/page.js";

export interface PageTarget {
  readonly path: string;
  readonly version: StructuralVersion;
  readonly compression: CompressionOptions;
  /** True if no chunk can hold the events between two values. */
  readonly exceeds?: boolean;
}
