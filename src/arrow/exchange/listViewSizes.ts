/** Adds sizes to decoded list views: apache-arrow decodes list views as lists, without their sizes. */

import type { RecordBatch } from "apache-arrow";
import type { ForeignData } from "./data.js";
import { bufferContent } from "./inflation.js";
import type { Frame } from "./ipcMessages.js";
import { malformedIpc } from "./malformedIpc.js";
import { isListViewType } from "./messageGuard.js";

/** Adds the sizes of its list views to a batch, from the message that it was decoded from. */
export function withListViews(batch: RecordBatch, frame: Frame): RecordBatch {
  const { types } = frame.fields;
  if (types === null || frame.sizes.length === 0) return batch;
  let column = 0;
  let listView = 0;
  const visit = (data: ForeignData): void => {
    if (isListViewType(types[column++])) {
      const range = frame.sizes[listView++];
      if (range === undefined) throw malformedIpc("list views without sizes");
      Object.assign(data, { sizes: bufferContent(frame, range) });
    }
    for (const child of data.children ?? []) visit(child);
  };
  for (const child of batch.data.children) visit(child as unknown as ForeignData);
  return batch;
}
