/** GetTableStats: returns sizes and row counts of a version from its manifest alone. */

import { Manifest } from "../../format/table.js";
import { tableStatistics } from "../../table/fragments/tableStatistics.js";
import type { OperationBody } from "../operation.js";
import { progressIn } from "../progress.js";
import { openSnapshot } from "../snapshot.js";

export const getTableStats: OperationBody<"getTableStats"> = async (context, request, access) => {
  const tell = progressIn("fragments", request);
  const snapshot = await openSnapshot(context, request, access);
  const manifest = snapshot?.file.manifest ?? Manifest.create();
  const statistics = tableStatistics(manifest, snapshot?.file.indexSection?.indices ?? []);
  const { numFragments } = statistics.fragmentStats;
  tell?.(numFragments, numFragments);
  return statistics;
};
