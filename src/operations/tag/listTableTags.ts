/** ListTableTags: lists the tags of a table and its branches, page by page. */

import type { TagContents } from "../../namespace/tags.js";
import { listTags, readTag } from "../../table/refs/tags.js";
import type { OperationBody } from "../operation.js";
import { readRefPage } from "../refPage.js";
import { optionalPage } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const listTableTags: OperationBody<"listTableTags"> = async (context, request) => {
  const page = optionalPage(request);
  const { table } = await openAtAnyVersion(context, { id: request.id });
  const names = await listTags(table);
  const { refs, ...rest } = await readRefPage(names, page, async (name): Promise<TagContents | null> => {
    const tag = await readTag(table, name);
    if (tag === null) return null;
    const { branch, version, manifestSize } = tag;
    return branch === null ? { version, manifestSize } : { branch, version, manifestSize };
  });
  return { tags: refs, ...rest };
};
