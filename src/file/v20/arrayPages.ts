/** Functions that read pages of 2.0 files. The first such file loads them. */

import { decodeArrayPage } from "./decodeArray.js";
import { plainRowBytes } from "./fixedWidth.js";
import { decodeNestedArrays } from "./nestedArrays.js";
import { columnsByRows } from "./rowColumns.js";

export const ARRAY_PAGES = { columnsByRows, decodeArrayPage, decodeNestedArrays, plainRowBytes };
