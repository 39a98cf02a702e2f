/** Reads the staged version of a request. */

import type { CreateTableVersionRequest } from "../../namespace/versions.js";
import type { StagedVersion } from "../../table/staging/stagedVersion.js";
import type { Access } from "../access.js";
import { optionalCount, optionalString, requireTableId, requireVersion } from "../request.js";
import { optionalStringMap, parseChoice, requireString } from "../requestValues.js";

/**
 * Returns the staged version.
 * @param request request with a checked id
 * @throws InvalidInputError naming the member
 */
export function stagedOf(request: CreateTableVersionRequest, access: Access): StagedVersion {
  return {
    version: requireVersion(request.version),
    stagedPath: requireString(request.manifestPath, "manifestPath"),
    scheme: parseChoice(request.namingScheme, "namingScheme", ["V1", "V2"], undefined),
    manifestSize: optionalCount(request.manifestSize, "manifestSize"),
    eTag: optionalString(request.eTag, "eTag"),
    metadata: optionalStringMap(request.metadata, "metadata"),
    allow: {
      // `createTableBranch` asks the same question about the source of a branch.
      source: (source) =>
        access.require("createTableBranch", requireTableId(request.id), { branch: source ?? undefined }),
      // Files outside the root belong to no table, so the caller needs this right for the whole namespace.
      base: (location) => access.require("createTableVersion", [], { location }),
    },
    signal: request.signal,
  };
}
