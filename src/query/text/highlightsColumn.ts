/** The column that tells where the texts of rows have what was searched for: see textHighlights.ts. */

import { Field, Int32, List, Struct, Utf8 } from "apache-arrow";

export const HIGHLIGHTS = new Field(
  "_highlights",
  new List(
    new Field(
      "item",
      new Struct([
        new Field("column", new Utf8(), false),
        new Field("item", new Int32(), true),
        new Field("start", new Int32(), false),
        new Field("end", new Int32(), false),
      ]),
      false,
    ),
  ),
  false,
);
