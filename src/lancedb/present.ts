/** Members of options and results that have a value. */

/** Returns the members that are neither undefined nor null. */
export const present = <Members extends object>(
  members: { readonly [Name in keyof Members]: Members[Name] | null | undefined },
): Members =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  ) as Members;
