/** GetTableStats: returns sizes and row counts of a version from its manifest alone. */

import { Manifest } from "../../format/table.js";
import type { GetTableStatsRequest, GetTableStatsResponse } from "../../namespace/tables.js";
import { tableStatistics } from "../../table/fragments/statistics.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { progressIn } from "../longWork.js";
import { openSnapshot } from "../snapshot.js";

export async function getTableStats(
  context: OperationContext,
  request: GetTableStatsRequest,
  access: Access,
): Promise<GetTableStatsResponse> {
  const tell = progressIn("fragments", request);
  const snapshot = await openSnapshot(context, request, access);
  const manifest = snapshot?.file.manifest ?? Manifest.create();
  const statistics = tableStatistics(manifest, snapshot?.file.indexSection?.indices ?? []);
  const { numFragments } = statistics.fragmentStats;
  tell?.(numFragments, numFragments);
  return statistics;
}
