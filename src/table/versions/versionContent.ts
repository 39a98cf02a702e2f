/** Defines the content of a version, from which the next one is made. */

import { type IndexMetadata, IndexSection, type Manifest } from "../../format/table.js";

/** Content of a version: its manifest, and its encoded index section. */
export interface VersionContent {
  readonly manifest: Manifest;
  /** Encoded index section; null if the table has no indexes. */
  readonly indexSectionBytes: Uint8Array | null;
}

/** @throws CorruptFileError */
export function indicesOf(content: VersionContent): readonly IndexMetadata[] {
  if (content.indexSectionBytes === null) return [];
  const origin = { path: `index section of version ${content.manifest.version}`, byteOffset: 0 };
  return IndexSection.decode(content.indexSectionBytes, origin).indices;
}

export const encodeIndexSection = (indices: readonly IndexMetadata[]): Uint8Array | null =>
  indices.length === 0 ? null : IndexSection.encode(IndexSection.create({ indices: [...indices] }));
