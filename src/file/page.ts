/**
 * What passes between the container (which knows where bytes lie) and the page codecs (which know what they
 * mean).
 */

import type { Layout } from "../arrow/column.js";
import type { PageLayout } from "../format/encodings.js";

/** Data file versions that this build writes. */
export type FileVersion = "2.1" | "2.2";

/** A page ready to be written. */
export interface EncodedPage {
  readonly encoding: PageLayout;
  /** The page's buffers, each as pieces to be written one behind the other (views where possible). */
  readonly buffers: readonly (readonly Uint8Array[])[];
  readonly rowCount: number;
}

/** A column as the file layer sees it. */
export interface FileColumn {
  /** Field id in the table's schema. */
  readonly fieldId: number;
  /** Canonical path, for messages. */
  readonly path: string;
  readonly layout: Layout;
  readonly nullable: boolean;
  /** Arrow field metadata; `lance-encoding:*` keys steer compression. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** Where a page came from, for errors. */
export interface PageOrigin {
  readonly path: string;
  /** Position of the page's first buffer in the file. */
  readonly byteOffset: number;
}
