/** The part of cli-progress that a progress bar uses; the package has no types. */
declare module "cli-progress" {
  interface Options {
    readonly format: string;
    readonly stream: NodeJS.WritableStream;
    readonly hideCursor: boolean;
    readonly fps: number;
  }
  class SingleBar {
    constructor(options: Options, preset: object);
    start(total: number, value: number, texts: object): void;
    setTotal(total: number): void;
    update(value: number, texts: object): void;
    stop(): void;
  }
  const cli: { readonly SingleBar: typeof SingleBar; readonly Presets: { readonly shades_classic: object } };
  export default cli;
}
