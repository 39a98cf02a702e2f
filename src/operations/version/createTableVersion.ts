/** CreateTableVersion: puts a staged manifest in place as a version, if that number is free. */

import { InternalError, InvalidInputError } from "../../errors.js";
import type { CreateTableVersionRequest, CreateTableVersionResponse } from "../../namespace.js";
import { publishStagedVersion } from "../../table/stagedVersion.js";
import type { OperationContext } from "../context.js";
import { optionalCount, optionalString, optionalStringMap, parseChoice, requireVersion } from "../request.js";
import { openTable } from "../snapshot.js";
import { versionOf } from "./versionOf.js";

export async function createTableVersion(
  context: OperationContext,
  request: CreateTableVersionRequest,
): Promise<CreateTableVersionResponse> {
  const version = requireVersion(request.version);
  const stagedPath = optionalString(request.manifestPath, "manifestPath");
  if (stagedPath === undefined || stagedPath === "") throw new InvalidInputError("manifestPath: is required");
  const scheme =
    request.namingScheme === undefined || request.namingScheme === null
      ? undefined
      : parseChoice(request.namingScheme, "namingScheme", ["V1", "V2"], "V2");
  const staged = {
    version,
    stagedPath,
    scheme,
    manifestSize: optionalCount(request.manifestSize, "manifestSize"),
    eTag: optionalString(request.eTag, "eTag"),
    metadata: optionalStringMap(request.metadata, "metadata"),
    signal: request.signal,
  };
  const { tableRoot } = await openTable(context, request);
  const published = await publishStagedVersion(context, tableRoot, staged);
  const record = await versionOf(context, tableRoot, published);
  if (record === null) throw new InternalError(`version ${version} was removed right after it was created`);
  return { transactionId: published.file.transaction?.uuid, version: record };
}
