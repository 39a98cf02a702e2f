/** Converts apache-arrow `Data` to columns without interruption. */

import { runSync } from "../../async/eventLoop.js";
import type { Column, Layout } from "../columns/column.js";
import { columnFromDataInSteps, type DictionaryCache, type ForeignData } from "./data.js";
import * as irregular from "./irregularData.js";

/** Makes the column of a `Data` at once, as {@link columnFromDataInSteps} does. */
export const columnFromData = (data: ForeignData, layout: Layout, dictionaries?: DictionaryCache): Column =>
  runSync(columnFromDataInSteps(data, layout, { dictionaries, irregular }));
