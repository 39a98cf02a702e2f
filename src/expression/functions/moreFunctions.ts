/** SQL functions that are loaded at the first call of one of them. */

import { COMPARED_TEXT_FUNCTIONS } from "./comparedTexts.js";
import { DIGEST_FUNCTIONS } from "./digests.js";
import type { FunctionDefinition } from "./form.js";
import { FORMATTED_TIME_FUNCTIONS } from "./formattedTimes.js";
import { LIST_SHAPE_FUNCTIONS } from "./listShapes.js";
import { MATCH_FUNCTIONS } from "./matches.js";
import { NESTED_LIST_FUNCTIONS } from "./nestedLists.js";
import { NEW_LIST_FUNCTIONS } from "./newLists.js";
import { NUMBER_FUNCTIONS } from "./numbers.js";
import { TEXT_PART_FUNCTIONS } from "./partsOfTexts.js";
import { REARRANGING_FUNCTIONS } from "./rearrangedLists.js";
import { TEXT_FUNCTIONS } from "./text.js";
import { TIME_FUNCTIONS } from "./times.js";
import { VECTOR_FUNCTIONS } from "./vectors.js";

export const MORE_FUNCTIONS: ReadonlyMap<string, FunctionDefinition> = new Map(
  [
    TEXT_FUNCTIONS,
    TEXT_PART_FUNCTIONS,
    COMPARED_TEXT_FUNCTIONS,
    DIGEST_FUNCTIONS,
    MATCH_FUNCTIONS,
    NUMBER_FUNCTIONS,
    TIME_FUNCTIONS,
    REARRANGING_FUNCTIONS,
    NEW_LIST_FUNCTIONS,
    NESTED_LIST_FUNCTIONS,
    LIST_SHAPE_FUNCTIONS,
    VECTOR_FUNCTIONS,
    FORMATTED_TIME_FUNCTIONS,
  ].flatMap(Object.entries),
);
