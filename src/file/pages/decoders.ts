/**
 * Decoders that few pages need. Each is loaded before the first such page is decoded: those of old versions
 * when columns of a file are opened, the others when a page is read.
 */

import { type Lazy, lazyModule } from "../../async/lazy.js";
import { zstd } from "../compression/general.js";
import type { PageEncoding } from "../container/page.js";
import type { DataFileMetadata } from "../container/reader.js";

export const arrayDecoder = lazyModule(() => import("../v20/arrayPages.js"));
export const legacyDecoder = lazyModule(() => import("../v01/legacyPages.js"));
export const fullZipDecoder = lazyModule(() => import("../structural/fullZip.js"));
export const constantDecoder = lazyModule(() => import("../structural/constant.js"));
export const blobDecoder = lazyModule(() => import("../structural/blob.js"));

/**
 * Loads the decoders for files of a version.
 * @returns null if they are loaded
 */
export function loadVersion({
  version,
  legacy,
}: Pick<DataFileMetadata, "version" | "legacy">): Promise<unknown> | null {
  if (legacy !== undefined) return load([legacyDecoder]);
  return version === "2.0" ? load([arrayDecoder, zstd]) : null;
}

/**
 * Loads the decoders of a page.
 * @returns null if they are loaded
 */
export function loadDecoders({ fullZip, constant, blob, usesZstd }: PageEncoding): Promise<unknown> | null {
  // Most pages are mini-block pages, whose decoder is always there.
  if (fullZip === undefined && constant === undefined && blob === undefined && usesZstd === undefined)
    return null;
  const inner = blob?.innerLayout;
  return load([
    ...((fullZip ?? inner?.fullZip) === undefined ? [] : [fullZipDecoder]),
    ...((constant ?? inner?.constant) === undefined ? [] : [constantDecoder]),
    ...(blob === undefined ? [] : [blobDecoder]),
    ...(usesZstd === undefined ? [] : [zstd]),
  ]);
}

function load(decoders: readonly Lazy<object>[]): Promise<unknown> | null {
  const missing = decoders.filter(({ current }) => current === undefined);
  return missing.length === 0 ? null : Promise.all(missing.map((decoder) => decoder.get()));
}

/** Loads all decoders, for code that decodes pages without reading them first. */
export const loadAllDecoders = async (): Promise<unknown> =>
  load([arrayDecoder, legacyDecoder, fullZipDecoder, constantDecoder, blobDecoder, zstd]);
