import type { Plugin } from "rolldown";

export declare function browserModules(directory: string, extension: string): Plugin;
