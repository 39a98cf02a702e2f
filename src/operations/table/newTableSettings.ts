/** Settings of a new table: those of the request's storage options, or else those of the namespace. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { FileVersion } from "../../file/container/page.js";
import { shortly } from "../../optionMembers.js";
import type { NamingScheme } from "../../table/versions/paths.js";
import type { OperationContext } from "../context.js";

/** Storage options that LanceDB's programs give for new tables. Others do not concern the engine. */
const VERSION = "new_table_data_storage_version";
const NAMING = "new_table_enable_v2_manifest_paths";
const STABLE_ROW_IDS = "new_table_enable_stable_row_ids";

/** File version of each name. `0.1` and its name `legacy` are not among them. */
const VERSIONS: Readonly<Record<string, FileVersion | undefined>> = {
  "0.3": "2.0",
  "2.0": "2.0",
  "2.1": "2.1",
  "2.2": "2.2",
  stable: "2.2",
};

/** Settings of a new table. */
export interface NewTableSettings {
  readonly version: FileVersion;
  readonly naming: NamingScheme;
  readonly stableRowIds: boolean;
}

/**
 * Returns the settings of a new table.
 * @param options storage options of the request
 * @param stableRowIds the request's own member; absent: the storage options decide
 * @throws InvalidInputError for a value that has no meaning; UnsupportedError for a file version that this
 *   release does not write
 */
export function newTableSettings(
  context: Pick<OperationContext, "newTableVersion" | "newTableNaming">,
  options: Readonly<Record<string, string>> = {},
  stableRowIds?: boolean,
): NewTableSettings {
  const isV2 = flagOf(options, NAMING);
  return {
    version: versionOf(options[VERSION]) ?? context.newTableVersion,
    naming: isV2 === undefined ? context.newTableNaming : isV2 ? "V2" : "V1",
    stableRowIds: stableRowIds ?? flagOf(options, STABLE_ROW_IDS) ?? false,
  };
}

function versionOf(name: string | undefined): FileVersion | undefined {
  if (name === undefined) return undefined;
  const version = Object.hasOwn(VERSIONS, name) ? VERSIONS[name] : undefined;
  if (version !== undefined) return version;
  if (/^(legacy|next|0\.1|2\.[3-9]\d?)$/.test(name)) {
    throw new UnsupportedError(
      `storageOptions.${VERSION}: this release writes no data files of version ${name}, only of 2.0, 2.1 and 2.2`,
    );
  }
  throw new InvalidInputError(`storageOptions.${VERSION}: Unknown Lance storage version: ${shortly(name)}`);
}

function flagOf(options: Readonly<Record<string, string>>, name: string): boolean | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  if (value !== "true" && value !== "false") {
    throw new InvalidInputError(`storageOptions.${name}: must be "true" or "false", not ${shortly(value)}`);
  }
  return value === "true";
}
