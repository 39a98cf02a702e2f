/**
 * Handles null counts of -1. apache-arrow's writer sets -1 for a sliced column of type Null, such as the
 * items of a list. For any other type, readers would take -1 for a column without nulls.
 */

import { type RecordBatch, Type } from "apache-arrow";
import type { ForeignData } from "./data.js";
import { type Frame, UNCOUNTED } from "./ipcMessages.js";
import { malformedIpc } from "./malformedIpc.js";

/** Checks that only columns of type Null lack their number of nulls. @throws InvalidInputError */
export function requireCounted(batch: RecordBatch, { uncounted }: Frame): void {
  if (uncounted.size === 0) return;
  let column = 0;
  const visit = ({ type, length, children }: ForeignData): void => {
    if (uncounted.has(column++) && type?.typeId !== Type.Null)
      throw malformedIpc(`a column of ${length} values, ${UNCOUNTED} of them null`);
    for (const child of children ?? []) visit(child);
  };
  for (const child of batch.data.children) visit(child as unknown as ForeignData);
}
