/** Encodes the manifest file, whose bytes manifest.ts describes. */

import { CHECK_BLOCK_BYTES, makeCheckBlock } from "../../bytes/checkBlock.js";
import { Manifest } from "../../format/table.js";
import {
  MANIFEST_FOOTER_BYTES,
  MANIFEST_FOOTER_MAGIC,
  MANIFEST_FOOTER_MAJOR,
  MANIFEST_FOOTER_MINOR,
  MANIFEST_PREFIX_BYTES,
  ManifestFile,
} from "./manifest.js";

/** Content of a manifest file. The encoder sets the offsets inside `manifest`. */
export interface ManifestFileContent {
  readonly manifest: Manifest;
  /** Encoded message; null without indexes. */
  readonly indexSectionBytes: Uint8Array | null;
  readonly transactionBytes: Uint8Array | null;
}

/** Chunks of the file to write one after the other, and the result of decoding them. */
export interface EncodedManifestFile {
  readonly chunks: readonly Uint8Array[];
  readonly manifest: Manifest;
  /** Returns the manifest that a reader decodes from the file at a path. */
  readonly fileAt: (path: string) => ManifestFile;
}

export function encodeManifestFile(content: ManifestFileContent): EncodedManifestFile {
  const front: Uint8Array[] = [];
  let position = 0;
  const reserve = (bytes: Uint8Array | null): number | undefined => {
    if (bytes === null) return undefined;
    const start = position;
    front.push(lengthPrefix(bytes.length), bytes);
    position += MANIFEST_PREFIX_BYTES + bytes.length;
    return start;
  };
  const indexSection = reserve(content.indexSectionBytes);
  const transactionSection = reserve(content.transactionBytes);
  const manifest: Manifest = {
    ...content.manifest,
    ...{ indexSection, transactionSection, transactionSection14: undefined },
    // An unknown field may be an offset in the file that was read, and would be wrong here. Lance also
    // drops such fields, and protects essential ones by a feature flag.
    unknown: undefined,
  };
  const encoded = Manifest.encode(manifest);

  const footer = new Uint8Array(MANIFEST_FOOTER_BYTES);
  const footerView = new DataView(footer.buffer);
  const manifestStart = position + CHECK_BLOCK_BYTES;
  footerView.setBigUint64(0, BigInt(manifestStart), true);
  footerView.setUint16(8, MANIFEST_FOOTER_MAJOR, true);
  footerView.setUint16(10, MANIFEST_FOOTER_MINOR, true);
  footer.set(MANIFEST_FOOTER_MAGIC, 12);

  const back = [lengthPrefix(encoded.length), encoded, footer];
  const chunks = [...front, makeCheckBlock(...front, ...back), ...back];
  const { indexSectionBytes, transactionBytes } = content;
  const parts = { head: manifest, manifest, indexSectionBytes, transactionBytes, content: chunks };
  return {
    chunks,
    manifest,
    fileAt: (path) => new ManifestFile(path, parts),
  };
}

function lengthPrefix(length: number): Uint8Array {
  const prefix = new Uint8Array(MANIFEST_PREFIX_BYTES);
  new DataView(prefix.buffer).setUint32(0, length, true);
  return prefix;
}
