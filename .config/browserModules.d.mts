import type { Plugin } from "rolldown";

export declare function browserModules(directory: string, extension: string): Plugin;

export declare function browserPaths(directory: string, extension: string): ReadonlyMap<string, string>;
