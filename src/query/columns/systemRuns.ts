/** Decodes the system columns that manifests store: the stable ids of rows, and their versions. */

import { UnsupportedError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import {
  decodeRowVersions,
  UNKNOWN_ROW_VERSION,
  type ValueRuns,
} from "../../table/fragments/rowSequences.js";

/**
 * Returns the values of all physical rows of a fragment.
 * @param which name of the column
 * @param path path of the manifest, for errors
 * @throws CorruptFileError; UnsupportedError for values in separate files
 */
export function systemRuns(fragment: DataFragment, which: string, path: string): ValueRuns {
  const { physicalRows } = fragment;
  if (which === "_rowid") return stableIdsOf(fragment, path);
  const [external, bytes] =
    which === "_row_created_at_version"
      ? [fragment.externalCreatedAtVersions, fragment.inlineCreatedAtVersions]
      : [fragment.externalLastUpdatedAtVersions, fragment.inlineLastUpdatedAtVersions];
  if (external !== undefined) {
    throw new UnsupportedError(
      `fragment ${fragment.id}: row versions in separate files are not supported by this release`,
    );
  }
  if (bytes !== undefined) return decodeRowVersions(bytes, physicalRows, path);
  return { step: 0, values: [UNKNOWN_ROW_VERSION], counts: [physicalRows] };
}
