/**
 * apache-arrow's writer counts -1 nulls in a column of type Null that it has cut, such as the items of a
 * list. Its reader, and that of other columns here, would take such a column for one without nulls.
 */

import { type RecordBatch, Type } from "apache-arrow";
import type { ForeignData } from "./data.js";
import { type Frame, UNCOUNTED } from "./ipcMessages.js";
import { malformedIpc } from "./malformedIpc.js";

/**
 * Checks that only columns of type Null lack their number of nulls.
 * @param frame the message that the batch was decoded from
 * @throws InvalidInputError
 */
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
