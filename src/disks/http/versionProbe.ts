/**
 * Finds the latest version of a table whose host cannot list, and that no index tells about. The hint names a
 * version. The versions after it are asked for one by one, since commits count up by one.
 */

import { ServiceUnavailableError } from "../../errors.js";
import { HINT_NAME, manifestName, type NamingScheme } from "../../table/versions/paths.js";

/** Maximum size of a hint. */
const MAX_HINT_BYTES = 1024;
/** Versions before the hinted one that are tried: a cache on the way may still deny the hinted one. */
const TRIED_BEFORE = 8;
/** Versions after the hinted one that are tried. */
const TRIED_AFTER = 10_000;
/** Maximum version that is found without a hint. */
const MAX_UNHINTED = 2 ** 20;

/** Questions to the host. */
export interface ProbeSource {
  /** Returns a small file; null if it does not exist. */
  whole(path: string, maxBytes: number): Promise<Uint8Array | null>;
  /** True if a manifest exists. A caller reads it next, so its bytes are kept. */
  hasManifest(path: string): Promise<boolean>;
}

/** The latest version of a table. */
export interface ProbedVersion {
  readonly version: number;
  /** Name of the manifest in `_versions`. */
  readonly name: string;
  /** Content of the hint; null without one. */
  readonly hint: Uint8Array | null;
}

/** Finds the latest version; null if the table has none, or cannot be found without a hint. */
export async function probeLatest(source: ProbeSource, table: string): Promise<ProbedVersion | null> {
  const directory = `${table}/_versions`;
  const has = (version: number, scheme: NamingScheme): Promise<boolean> =>
    source.hasManifest(`${directory}/${manifestName(version, scheme)}`);
  const hint = await source.whole(`${directory}/${HINT_NAME}`, MAX_HINT_BYTES);
  const hinted = hint === null ? null : versionIn(hint);
  const answer = (version: number, scheme: NamingScheme): ProbedVersion => {
    return { version, name: manifestName(version, scheme), hint: hinted === null ? null : hint };
  };
  if (hinted === null) return probeUnhinted(has, answer);
  const [isV2, hasNext] = await Promise.all([has(hinted, "V2"), has(hinted + 1, "V2")]);
  const scheme = isV2 || hasNext ? "V2" : "V1";
  let version = hasNext ? hinted + 1 : hinted;
  if (scheme === "V1" && !(await has(hinted, "V1"))) {
    // A reader that looked for the version too early may have left a denial in a cache.
    for (version = hinted - 1; version > 0 && version > hinted - TRIED_BEFORE; version--) {
      if (await has(version, "V2")) return answer(version, "V2");
      if (await has(version, "V1")) return answer(version, "V1");
    }
    throw new ServiceUnavailableError(
      `${table}: its hint names version ${hinted}, but the host has no such manifest; a cache on the way may keep an old answer`,
    );
  }
  if (scheme === "V2" && !hasNext) return answer(version, scheme);
  while (version - hinted < TRIED_AFTER && (await has(version + 1, scheme))) version++;
  return answer(version, scheme);
}

/** Finds the latest of versions that count up from 1. */
async function probeUnhinted(
  has: (version: number, scheme: NamingScheme) => Promise<boolean>,
  answer: (version: number, scheme: NamingScheme) => ProbedVersion,
): Promise<ProbedVersion | null> {
  const scheme = (await has(1, "V2")) ? "V2" : (await has(1, "V1")) ? "V1" : null;
  if (scheme === null) return null;
  let present = 1;
  let missing = 2;
  while (missing <= MAX_UNHINTED && (await has(missing, scheme))) {
    present = missing;
    missing *= 2;
  }
  while (missing - present > 1) {
    const middle = Math.floor((present + missing) / 2);
    if (await has(middle, scheme)) present = middle;
    else missing = middle;
  }
  return answer(present, scheme);
}

function versionIn(hint: Uint8Array): number | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(hint));
    const version = (value as { version?: unknown } | null)?.version;
    return typeof version === "number" && Number.isSafeInteger(version) && version > 0 ? version : null;
  } catch {
    // Another file in its place counts as none.
    return null;
  }
}
