/** Which fields have values in files of a fragment. */

import type { DataFile } from "../../format/table.js";

/** Whether some files have any of some fields. Of a column, they may name the parts only. */
export const areStored = (files: readonly Pick<DataFile, "fields">[], ids: ReadonlySet<number>): boolean =>
  files.some(({ fields }) => fields.some((id) => ids.has(id)));
