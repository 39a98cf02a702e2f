/** ListTableBranches: lists the branches of a table except main, page by page. */

import type { BranchContents } from "../../namespace/branches.js";
import { listBranches, readBranch } from "../../table/refs/branches.js";
import type { OperationBody } from "../operation.js";
import { readRefPage } from "../refPage.js";
import { optionalPage } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const listTableBranches: OperationBody<"listTableBranches"> = async (context, request) => {
  const page = optionalPage(request);
  const { table } = await openAtAnyVersion(context, { id: request.id });
  const names = await listBranches(table);
  const read = async (name: string): Promise<BranchContents | null> => {
    const branch = await readBranch(table, name);
    if (branch === null) return null;
    const { parentBranch, parentVersion, createAt, manifestSize, metadata } = branch;
    return {
      ...(parentBranch !== null && { parentBranch }),
      parentVersion,
      createAt,
      manifestSize,
      ...(Object.keys(metadata).length > 0 && { metadata }),
    };
  };
  const { refs, ...rest } = await readRefPage(names, page, read);
  return { branches: refs, ...rest };
};
