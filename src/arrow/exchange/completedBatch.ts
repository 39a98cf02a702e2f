/**
 * Completes what apache-arrow decodes. It decodes list views as lists, without their sizes. It takes a null
 * count of -1 for no nulls, but its writer sets -1 for a sliced column of type Null, such as items of a list.
 */

import { type RecordBatch, Type } from "apache-arrow";
import type { ForeignData } from "./data.js";
import { bufferContent } from "./inflation.js";
import { type Frame, UNCOUNTED } from "./ipcMessages.js";
import { malformedIpc } from "./malformedIpc.js";
import { isListViewType } from "./messageGuard.js";

/**
 * Adds the sizes of list views to the batch of a message, as members of their `Data`.
 * @throws InvalidInputError if a column of another type than Null lacks its number of nulls
 */
export function completedBatch(batch: RecordBatch, frame: Frame): RecordBatch {
  const { fields, sizes, uncounted } = frame;
  const types = sizes.length === 0 ? null : fields.types;
  if (types === null && uncounted.size === 0) return batch;
  let column = 0;
  let listView = 0;
  const visit = (data: ForeignData): void => {
    if (uncounted.has(column) && data.type?.typeId !== Type.Null) {
      throw malformedIpc(`a column of ${data.length} values, ${UNCOUNTED} of them null`);
    }
    if (types !== null && isListViewType(types[column])) {
      const range = sizes[listView++];
      if (range === undefined) throw malformedIpc("list views without sizes");
      Object.assign(data, { sizes: bufferContent(frame, range) });
    }
    column++;
    for (const child of data.children ?? []) visit(child);
  };
  for (const child of batch.data.children) visit(child as unknown as ForeignData);
  return batch;
}
