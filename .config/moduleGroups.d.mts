/** A group of modules that a bundle has in one file. */
export interface ModuleGroup {
  readonly name: string;
  readonly priority: number;
  readonly test: (id: string) => boolean;
}

export declare function moduleGroups(
  directory: string,
  extension: string,
  replaced?: ReadonlyMap<string, string>,
): Promise<ModuleGroup[]>;
