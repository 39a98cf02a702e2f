/** What a page is encoded for. */

import type { CompressionOptions } from "../compression/compressionOptions.js";
import type { StructuralVersion } from "../container/page.js";

export interface PageTarget {
  readonly path: string;
  readonly version: StructuralVersion;
  readonly compression: CompressionOptions;
  /** True if no chunks could hold the events that lie between the values. */
  readonly exceeds?: boolean;
}
