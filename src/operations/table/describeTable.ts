/** DescribeTable: returns the location of a table and the content of a version. */

import { schemaToJson } from "../../arrow/types/schemaJson.js";
import { readTableProperties } from "../../catalog/locations/tables.js";
import { uriOn } from "../../io/disk/addresses.js";
import { fileUrlOf } from "../../io/names/fileUrls.js";
import { resolveProjection } from "../../query/columns/projection.js";
import { decodeSchema } from "../../schema/schema.js";
import { storedCleanupRule } from "../../table/cleanup/cleanupRule.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { schemaMetadataOf } from "../../table/versions/manifest.js";
import { storedWriteSpec } from "../../write/indexes/lsmWriteSpec.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { openDescribed } from "../snapshot.js";
import { storedThresholds } from "../upkeep/thresholds.js";

export const describeTable: OperationBody<"describeTable"> = async (context, request, access) => {
  const id = requireTableId(request.id);
  const { entry, snapshot } = await openDescribed(context, request, access);
  const directory = snapshot?.table.root ?? entry.directory;
  const common = {
    table: id[id.length - 1],
    namespace: id.slice(0, -1),
    location: uriOn(context.disk, directory),
    tableUri: context.disk.uriOf?.(directory) ?? fileUrlOf(directory),
    properties: await readTableProperties(context, entry),
    managedVersioning: false,
  };
  if (snapshot === null) return { ...common, isOnlyDeclared: true };
  const manifest = snapshot.file.summary;
  const fields = decodeSchema(manifest.fields, snapshot.path);
  const metadata = schemaMetadataOf(manifest);
  const numDeletedRows = manifest.fragments.reduce(
    (sum, fragment) => sum + fragment.physicalRows - liveRowCount(fragment),
    0,
  );
  const cleanup = storedCleanupRule(manifest.config);
  const upkeep = storedThresholds(manifest.config);
  const lsmWriteSpec = storedWriteSpec(snapshot.file, fields);
  return {
    ...common,
    version: snapshot.version,
    schema: schemaToJson(resolveProjection(fields, metadata, undefined).schema),
    stats: { numDeletedRows, numFragments: manifest.fragments.length },
    metadata: Object.fromEntries(metadata),
    ...(cleanup !== undefined && { cleanup }),
    ...(Object.keys(upkeep).length > 0 && { upkeep }),
    ...(lsmWriteSpec !== undefined && { lsmWriteSpec }),
    isOnlyDeclared: false,
  };
};
