/** Finds fields by their names. */

interface Named {
  readonly name: string;
}

/** Names of the lists that were searched. Lists of fields never change. */
const namesOfLists = new WeakMap<readonly Named[], ReadonlyMap<string, Named>>();

/** Finds a field among its siblings by name. If several have the name, the first one counts. */
export function fieldNamed<Field extends Named>(siblings: readonly Field[], name: string): Field | undefined {
  let byName = namesOfLists.get(siblings);
  if (byName === undefined) {
    byName = new Map(siblings.toReversed().map((field) => [field.name, field]));
    namesOfLists.set(siblings, byName);
  }
  // The index of a list holds fields of that list.
  return byName.get(name) as Field | undefined;
}
